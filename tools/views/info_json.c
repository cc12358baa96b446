/* The JSON object of `sluice trace info`. */
#include "tools/analyses/info.h"
#include "tools/model/trace_open.h"
#include "tools/text/json.h"
#include "tools/views/decisions.h"
#include "tools/views/trace_json.h"

static const char *const metadata[] = {"command", "sluice", "device", "driver", "policy", "movers"};

static void json_count_bytes(struct json *json, const char *key, const struct count_bytes *figure)
{
    json_object(json, key, false);
    json_number(json, "count", figure->count);
    json_number(json, "bytes", figure->bytes);
    json_close(json);
}

void json_spread(struct json *json, const char *key, const struct spread *spread)
{
    json_object(json, key, false);
    json_number(json, "count", spread->count);
    json_number(json, "least", spread->least);
    json_number(json, "quarter", spread->quarter);
    json_number(json, "median", spread->median);
    json_number(json, "three_quarters", spread->three_quarters);
    json_number(json, "most", spread->most);
    json_number(json, "spread", spread_width(spread));
    json_close(json);
}

static void json_program(struct json *json, const struct model *model)
{
    json_text(json, "program", program_name(&model->header).text);
    json_number(json, "process", model->header.process);
    json_number(json, "start_ns", model->header.realtime_ns);
    json_number(json, "duration_ns", model->last_ns - model->first_ns);
    json_object(json, "metadata", true);
    for (size_t i = 0; i < sizeof(metadata) / sizeof(*metadata); i++)
        json_text(json, metadata[i], model_metadata(model, metadata[i]));
    json_close(json);
    json_number(json, "device_bytes", model->device_bytes);
    json_number(json, "budget_bytes", model->budget_bytes);
    json_number(json, "chunk_bytes", model->chunk_bytes);
    json_number(json, "link_in", model->link_in);
    json_number(json, "link_out", model->link_out);
}

static void json_memory(struct json *json, const struct info *info)
{
    json_count_bytes(json, "allocations", &info->allocations);
    json_spread(json, "allocation_bytes", &info->sizes);
    json_count_bytes(json, "frees", &info->frees);
    json_number(json, "peak_bytes", info->peak_bytes);
    json_object(json, "peak_by_class", false);
    for (unsigned c = 0; c < CLASS_COUNT; c++) json_number(json, class_name(c), info->peak_of[c]);
    json_close(json);
    json_number(json, "end_bytes", info->end_bytes);
    json_object(json, "in_chunks_at_most", false);
    json_number(json, "bytes", info->waste.chunk_bytes);
    json_number(json, "live_bytes", info->waste.live_bytes);
    json_close(json);
    json_object(json, "did_not_fit", false);
    json_number(json, "count", info->misfits.count);
    json_number(json, "largest_bytes", info->misfits.bytes);
    json_close(json);
    json_number(json, "other_failed_calls", info->failed_calls);
}

static void json_steps(struct json *json, const struct model *model, const struct phases *phases,
                       const struct info *info)
{
    json_bool(json, "phases_found", phases->found);
    json_number(json, "steps", phases->step_count);
    json_number(json, "step_launches", info->step_launches);
    json_number(json, "iterations", info->iterations);
    json_number(json, "repetitions", model->iterations.count);
    json_number(json, "evaluations", info->evaluations);
    json_number(json, "timed_launches", model->durations.count);
    json_spread(json, "step_ns", &info->step_times);
    json_object(json, "prediction", false);
    json_number(json, "events", info->fed);
    json_number(json, "predicted", info->predicted);
    json_number(json, "events_second_half", info->late_fed);
    json_number(json, "predicted_second_half", info->late_predicted);
    json_close(json);
}

static void json_movements(struct json *json, const struct info *info)
{
    json_object(json, "movements", true);
    for (unsigned i = 0; i < MOVE_KINDS; i++) {
        json_object(json, move_kind_name(info_moves[i]), false);
        for (unsigned cause = 0; cause < MOVE_CAUSES; cause++)
            json_count_bytes(json, move_cause_name(cause), &info->moves[info_moves[i]][cause]);
        json_close(json);
    }
    json_close(json);
    json_number(json, "stalls", info->stalls);
    json_number(json, "stall_ns", info->stall_ns);
    json_number(json, "waits", info->syncs);
    json_number(json, "wait_ns", info->sync_ns);
}

bool info_json(struct json *json, const char *key, const struct model *model, const struct phases *phases)
{
    struct info info;
    if (!info_make(model, phases, &info)) return false;
    json_object(json, key, true);
    json_bool(json, "complete", model->problem.status == SL_OK);
    json_program(json, model);
    json_object(json, "launches", true);
    for (unsigned kind = 0; kind < LAUNCH_KINDS; kind++)
        json_count_bytes(json, launch_kind_name(kind), &info.launches[kind]);
    json_close(json);
    json_number(json, "kernels", info.kernels);
    json_memory(json, &info);
    json_steps(json, model, phases, &info);
    json_decisions(json, model);
    json_movements(json, &info);
    json_number(json, "records", model->records);
    json_number(json, "records_lost", model->missing.records);
    json_number(json, "records_left_out", info_left_out(model));
    json_close(json);
    return true;
}
