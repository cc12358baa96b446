/* `sluice top --json`. */
#include "tools/text/json.h"
#include "tools/top/top.h"

static const char *const causes[] = {"plan", "demand", "late"};

static void write_sums(struct json *json, const char *key, const struct sl_monitor_sums *sums)
{
    json_object(json, key, false);
    json_number(json, "launches", sums->launches);
    json_number(json, "stalls", sums->stalls);
    json_real(json, "stall_seconds", (double)sums->stall_ns * 1e-9, 9);
    json_number(json, "unmeasured_stalls", sums->unmeasured_stalls);
    json_number(json, "demand_misses", sums->demand_misses);
    json_number(json, "late_prefetches", sums->late_prefetches);
    json_number(json, "mispredictions", sums->mispredictions);
    for (int direction = 0; direction < 2; direction++) {
        json_object(json, direction ? "bytes_out" : "bytes_in", false);
        for (int c = 0; c < 3; c++)
            json_number(json, causes[c], direction ? sums->out_bytes[c] : sums->in_bytes[c]);
        json_close(json);
    }
    json_number(json, "remote_bytes", sums->remote_bytes);
    json_close(json);
}

static void write_kinds(struct json *json, const struct sl_monitor_figures *f)
{
    json_real(json, "seen_seconds_before", (double)(f->updated - f->scanned) * 1e-9, 6);
    json_real(json, "seen_for_seconds", (double)f->scan_time * 1e-9, 6);
    json_object(json, "kinds", false);
    for (int k = 0; k < SL_KINDS; k++) {
        const struct sl_monitor_kind *kind = &f->kinds[k];
        json_object(json, sl_kind_names[k], false);
        json_number(json, "allocated_bytes", kind->allocated_bytes);
        json_number(json, "resident_bytes", kind->resident_bytes);
        json_number(json, "arriving_bytes", kind->arriving_bytes);
        json_number(json, "host_bytes", kind->host_bytes);
        json_number(json, "empty_bytes", kind->empty_bytes);
        json_close(json);
    }
    json_close(json);
    json_number(json, "unused_resident_bytes", f->unused_bytes);
}

/* The last step by the device's clock. */
static void write_device_step(struct json *json, const struct sl_monitor_figures *f)
{
    json_object(json, "device_step", false);
    json_real(json, "seconds", (double)f->device_step_ns * 1e-9, 9);
    json_real(json, "stall_seconds", (double)f->device_stall_ns * 1e-9, 9);
    json_real(json, "other_seconds", (double)run_other_ns(f) * 1e-9, 9);
    json_close(json);
}

static void write_memory(struct json *json, const struct sl_monitor_figures *f)
{
    json_object(json, "memory", false);
    json_number(json, "budget_bytes", f->budget_bytes);
    json_number(json, "resident_bytes", f->resident_bytes);
    json_number(json, "peak_resident_bytes", f->peak_resident_bytes);
    json_number(json, "chunk_bytes", f->chunk_bytes);
    json_number(json, "allocated_bytes", f->live_bytes);
    json_number(json, "need_bytes", f->need_bytes);
    json_number(json, "pinned_bytes", f->pinned_bytes);
    json_number(json, "host_bytes", f->host_bytes);
    json_number(json, "host_limit_bytes", f->host_limit_bytes);
    json_number(json, "taken_bytes", f->taken_bytes);
    json_number(json, "lost_bytes", f->lost_bytes);
    if (f->scanned) write_kinds(json, f);
    json_close(json);
}

static void write_plan(struct json *json, const struct sl_monitor_figures *f)
{
    json_object(json, "plan", false);
    json_text(json, "state", run_plan_text(f));
    json_number(json, "made", f->plans);
    if (f->plan_taken) json_real(json, "age_seconds", (double)(f->updated - f->plan_taken) * 1e-9, 3);
    json_number(json, "events", f->fed);
    json_number(json, "events_predicted", f->predicted);
    json_number(json, "oversize_launches", f->oversize_launches);
    if (f->mispredicted) {
        json_object(json, "last_misprediction", false);
        json_real(json, "seconds_before", (double)(f->updated - f->mispredicted) * 1e-9, 3);
        json_number(json, "event", f->mispredicted_event);
        json_text(json, "expected", f->expected);
        json_text(json, "came", f->came);
        json_close(json);
    }
    json_close(json);
}

static void write_device(struct json *json, uint64_t looked_ns, uint32_t number,
                         const struct sl_monitor_figures *f)
{
    uint64_t old_ns = looked_ns > f->updated ? looked_ns - f->updated : 0;
    json_object(json, NULL, true);
    json_number(json, "device", number);
    json_text(json, "policy", f->policy);
    json_text(json, "daemon", f->daemon);
    json_real(json, "updated_seconds_ago", (double)old_ns * 1e-9, 3);
    json_number(json, "steps", f->steps);
    if (run_has_step(f)) json_real(json, "step_seconds", (double)f->step_time * 1e-9, 9);
    if (f->device_step_ns) write_device_step(json, f);
    write_memory(json, f);
    json_object(json, "link", false);
    json_number(json, "in_bytes_per_s", f->link_in_bytes_per_s);
    json_number(json, "out_bytes_per_s", f->link_out_bytes_per_s);
    json_close(json);
    write_plan(json, f);
    if (run_has_step(f)) write_sums(json, "last_step", &f->step);
    write_sums(json, "total", &f->total);
    json_close(json);
}

void top_write_json(FILE *to, const struct runs *runs)
{
    struct json json = {.to = to};
    json_object(&json, NULL, true);
    json_text(&json, "kind", "sluice top");
    json_number(&json, "version", SL_MONITOR_VERSION);
    json_number(&json, "of_other_versions", runs->others);
    json_array(&json, "runs", true);
    for (uint32_t r = 0; r < runs->count; r++) {
        const struct sl_monitor_record *record = &runs->all[r];
        json_object(&json, NULL, true);
        json_number(&json, "process", record->process);
        json_number(&json, "user", record->user);
        json_text(&json, "program", record->program);
        json_text(&json, "rank", record->rank[0] ? record->rank : NULL);
        json_array(&json, "devices", true);
        for (uint32_t d = 0; d < record->devices; d++)
            write_device(&json, runs->looked_ns, record->numbers[d], &record->figures[d]);
        json_close(&json);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}
