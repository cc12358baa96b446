/* `sluice top --json`. */
#include "tools/text/json.h"
#include "tools/top/top.h"

enum { JSON_VERSION = 3 }; /* of the object, whatever the layout of the page is */

/* Writes figures of `of`, the structure in which they are, under their names. */
static void write_figures(struct json *json, const void *of, const struct sl_figure *figures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = sl_figure_value(of, &figures[i]);
        if (figures[i].form == SL_FIGURE_NS)
            json_real(json, figures[i].name, (double)value * 1e-9, 9);
        else
            json_number(json, figures[i].name, value);
    }
}
#define WRITE_FIGURES(json, of, figures)                                                                     \
    write_figures(json, of, figures, sizeof(figures) / sizeof(*(figures)))

static void write_causes(struct json *json, const char *key, const _Atomic uint64_t *by_cause)
{
    json_object(json, key, false);
    for (int c = 0; c < SL_STATS_CAUSES; c++) json_number(json, sl_cause_names[c], by_cause[c]);
    json_close(json);
}

static void write_sums(struct json *json, const char *key, const struct sl_counts *sums)
{
    static const struct sl_figure figures[] = {
        {"launches", offsetof(struct sl_counts, launches)},
        {"stalls", offsetof(struct sl_counts, stalls)},
        {"stall_seconds", offsetof(struct sl_counts, stall_ns), SL_FIGURE_NS},
        {"unmeasured_stalls", offsetof(struct sl_counts, unmeasured_stalls)},
        {"demand_misses", offsetof(struct sl_counts, demand_misses)},
        {"late_prefetches", offsetof(struct sl_counts, late_prefetches)},
        {"mispredictions", offsetof(struct sl_counts, mispredictions)},
    };
    json_object(json, key, false);
    WRITE_FIGURES(json, sums, figures);
    write_causes(json, "bytes_in", sums->bytes_in);
    write_causes(json, "bytes_out", sums->bytes_out);
    json_number(json, "remote_bytes", sums->remote_bytes);
    json_close(json);
}

static void write_kinds(struct json *json, const struct sl_stats *f)
{
    static const struct sl_figure figures[] = {
        {"allocated_bytes", offsetof(struct sl_kind_bytes, allocated_bytes)},
        {"resident_bytes", offsetof(struct sl_kind_bytes, resident_bytes)},
        {"arriving_bytes", offsetof(struct sl_kind_bytes, arriving_bytes)},
        {"host_bytes", offsetof(struct sl_kind_bytes, host_bytes)},
        {"empty_bytes", offsetof(struct sl_kind_bytes, empty_bytes)},
    };
    json_real(json, "seen_seconds_before", (double)(f->updated_ns - f->scanned_ns) * 1e-9, 6);
    json_real(json, "seen_for_seconds", (double)f->scan_time_ns * 1e-9, 6);
    json_object(json, "kinds", false);
    for (int k = 0; k < SL_KINDS; k++) {
        json_object(json, sl_kind_names[k], false);
        WRITE_FIGURES(json, &f->kinds[k], figures);
        json_close(json);
    }
    json_close(json);
    json_number(json, "unused_resident_bytes", f->unallocated_bytes);
}

/* The last step by the device's clock. */
static void write_device_step(struct json *json, const struct sl_stats *f)
{
    json_object(json, "device_step", false);
    json_real(json, "seconds", (double)f->device_step_ns * 1e-9, 9);
    json_real(json, "stall_seconds", (double)f->device_stall_ns * 1e-9, 9);
    json_real(json, "other_seconds", (double)run_other_ns(f) * 1e-9, 9);
    json_close(json);
}

static void write_memory(struct json *json, const struct sl_stats *f)
{
    static const struct sl_figure figures[] = {
        {"budget_bytes", offsetof(struct sl_stats, budget_now_bytes)},
        {"resident_bytes", offsetof(struct sl_stats, occupied_bytes)},
        {"peak_resident_bytes", offsetof(struct sl_stats, peak_occupied_bytes)},
        {"chunk_bytes", offsetof(struct sl_stats, chunk_bytes)},
        {"allocated_bytes", offsetof(struct sl_stats, live_bytes)},
        {"need_bytes", offsetof(struct sl_stats, need_bytes)},
        {"pinned_bytes", offsetof(struct sl_stats, pinned_live_bytes)},
        {"host_bytes", offsetof(struct sl_stats, host_bytes)},
        {"host_limit_bytes", offsetof(struct sl_stats, host_limit_bytes)},
        {"taken_bytes", offsetof(struct sl_stats, taken_bytes)},
        {"lost_bytes", offsetof(struct sl_stats, lost_bytes)},
    };
    json_object(json, "memory", false);
    WRITE_FIGURES(json, f, figures);
    if (f->scanned_ns) write_kinds(json, f);
    json_close(json);
}

static void write_plan(struct json *json, const struct sl_stats *f)
{
    json_object(json, "plan", false);
    json_text(json, "state", run_plan_text(f));
    json_number(json, "made", f->plans);
    if (f->plan_taken_ns)
        json_real(json, "age_seconds", (double)(f->updated_ns - f->plan_taken_ns) * 1e-9, 3);
    json_number(json, "events", f->fed);
    json_number(json, "events_predicted", f->predicted);
    json_number(json, "oversize_launches", f->oversize_launches);
    if (f->mispredicted_ns) {
        json_object(json, "last_misprediction", false);
        json_real(json, "seconds_before", (double)(f->updated_ns - f->mispredicted_ns) * 1e-9, 3);
        json_number(json, "event", f->mispredicted_event);
        json_text(json, "expected", f->expected);
        json_text(json, "came", f->came);
        json_close(json);
    }
    json_close(json);
}

static void write_movers(struct json *json, const struct sl_stats *f)
{
    struct sl_moving moving;
    sl_stats_moving(f, &moving);
    if (!moving.ns) return;
    json_object(json, "movers", false);
    json_number(json, "to_host", f->movers);
    json_real(json, "host_cores", moving.cores, 3);
    json_real(json, "link_part_in", moving.link[0], 3);
    json_real(json, "link_part_out", moving.link[1], 3);
    json_text(json, "limit", moving.limit);
    json_close(json);
}

static void write_device(struct json *json, uint64_t looked_ns, uint32_t number, const struct sl_stats *f)
{
    uint64_t old_ns = looked_ns > f->updated_ns ? looked_ns - f->updated_ns : 0;
    json_object(json, NULL, true);
    json_number(json, "device", number);
    json_text(json, "policy", f->policy);
    json_text(json, "daemon", f->daemon);
    json_real(json, "updated_seconds_ago", (double)old_ns * 1e-9, 3);
    json_number(json, "steps", f->steps);
    if (run_has_step(f)) json_real(json, "step_seconds", (double)f->step_time_ns * 1e-9, 9);
    if (f->device_step_ns) write_device_step(json, f);
    write_memory(json, f);
    json_object(json, "link", false);
    json_number(json, "in_bytes_per_s", f->link_in_bytes_per_s);
    json_number(json, "out_bytes_per_s", f->link_out_bytes_per_s);
    json_close(json);
    write_movers(json, f);
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
    json_number(&json, "version", JSON_VERSION);
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
