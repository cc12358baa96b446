/* `sluice top --prometheus`: the text format that Prometheus and its node exporter read. */
#include <inttypes.h>

#include "tools/top/top.h"

/* In a label's value, three characters need a backslash. */
static void write_label(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"') fputc('\\', to);
        fputc(*text, to);
    }
}

static void write_labels(FILE *to, const struct sl_monitor_record *record, uint32_t device)
{
    fprintf(to, "{process=\"%" PRIu64 "\",program=\"", record->process);
    write_label(to, record->program);
    fprintf(to, "\",rank=\"");
    write_label(to, record->rank);
    fprintf(to, "\",device=\"%" PRIu32 "\"", record->numbers[device]);
}

/* A metric with one value for each device. */
struct metric {
    struct sl_figure figure;
    const char *type, *help;
    bool followed; /* the value is whether the figure is SL_PLAN_STATE_FOLLOWED */
};

#define AT(member) offsetof(struct sl_stats, member)

static const struct metric metrics[] = {
    {{"sluice_budget_bytes", AT(budget_now_bytes)}, "gauge", "Device memory that chunks may occupy."},
    {{"sluice_resident_bytes", AT(occupied_bytes)}, "gauge", "Device memory that chunks occupy."},
    {{"sluice_allocated_bytes", AT(live_bytes)}, "gauge", "Device memory that the program has allocated."},
    {{"sluice_need_bytes", AT(need_bytes)}, "gauge", "Peak of the allocated memory."},
    {{"sluice_taken_bytes", AT(taken_bytes)}, "gauge", "Device memory that the program took past sluice."},
    {{"sluice_unused_resident_bytes", AT(unallocated_bytes)},
     "gauge",
     "Device memory that chunks occupy and no allocation lies in."},
    {{"sluice_host_bytes", AT(host_bytes)}, "gauge", "Host memory that chunks occupy."},
    {{"sluice_host_limit_bytes", AT(host_limit_bytes)}, "gauge", "Host memory that chunks may occupy."},
    {{"sluice_steps_total", AT(steps)}, "counter", "Ended training steps."},
    {{"sluice_step_seconds", AT(step_time_ns), SL_FIGURE_NS},
     "gauge",
     "Duration of the last step by the host's clock; 0 before the first."},
    {{"sluice_device_step_seconds", AT(device_step_ns), SL_FIGURE_NS},
     "gauge",
     "Duration of the last step by the device's clock, as stalls; 0 if unknown."},
    {{"sluice_device_step_stall_seconds", AT(device_stall_ns), SL_FIGURE_NS},
     "gauge",
     "Time of it that launches waited for copies."},
    {{"sluice_launches_total", AT(total.launches)}, "counter", "Launches."},
    {{"sluice_stall_seconds_total", AT(total.stall_ns), SL_FIGURE_NS},
     "counter",
     "Time that launches waited for copies to the device."},
    {{"sluice_demand_misses_total", AT(total.demand_misses)},
     "counter",
     "Chunks that a launch needed and no plan had fetched."},
    {{"sluice_late_prefetches_total", AT(total.late_prefetches)},
     "counter",
     "Planned fetches that only the launch itself issued."},
    {{"sluice_mispredictions_total", AT(total.mispredictions)},
     "counter",
     "Events that differed from the prediction."},
    {{"sluice_plans_total", AT(plans)}, "counter", "Plans."},
    {{"sluice_plan_followed", AT(plan_state)}, "gauge", "1 while the program follows a plan.", true},
    {{"sluice_mover_in_seconds_total", AT(total.call_ns[0]), SL_FIGURE_NS},
     "counter",
     "Time of sluice's threads in calls that move memory to the device."},
    {{"sluice_mover_out_seconds_total", AT(total.call_ns[1]), SL_FIGURE_NS},
     "counter",
     "Time of sluice's threads in calls that move memory to the host."},
    {{"sluice_link_in_bytes_per_second", AT(link_in_bytes_per_s)},
     "gauge",
     "Measured speed of copies to the device."},
    {{"sluice_link_out_bytes_per_second", AT(link_out_bytes_per_s)},
     "gauge",
     "Measured speed of copies to the host."},
};

static void write_copies(FILE *to, const struct runs *runs)
{
    fputs("# HELP sluice_copied_bytes_total Bytes copied over the link, by direction and cause.\n"
          "# TYPE sluice_copied_bytes_total counter\n",
          to);
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t d = 0; d < runs->all[r].devices; d++)
            for (int i = 0; i < 6; i++) {
                const struct sl_counts *total = &runs->all[r].figures[d].total;
                fputs("sluice_copied_bytes_total", to);
                write_labels(to, &runs->all[r], d);
                fprintf(to, ",direction=\"%s\",cause=\"%s\"} %" PRIu64 "\n", i < 3 ? "in" : "out",
                        sl_cause_names[i % 3], i < 3 ? total->bytes_in[i] : total->bytes_out[i - 3]);
            }
}

static void write_kinds(FILE *to, const struct runs *runs)
{
    static const char *const places[] = {"device", "host", "none"};
    fputs("# HELP sluice_kind_bytes Allocated bytes, by kind of allocation and where their content is.\n"
          "# TYPE sluice_kind_bytes gauge\n",
          to);
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t d = 0; d < runs->all[r].devices; d++)
            for (int i = 0; i < 3 * SL_KINDS; i++) {
                const struct sl_kind_bytes *kind = &runs->all[r].figures[d].kinds[i / 3];
                uint64_t bytes[] = {kind->resident_bytes, kind->host_bytes, kind->empty_bytes};
                fputs("sluice_kind_bytes", to);
                write_labels(to, &runs->all[r], d);
                fprintf(to, ",kind=\"%s\",place=\"%s\"} %" PRIu64 "\n", sl_kind_names[i / 3], places[i % 3],
                        bytes[i % 3]);
            }
}

static double value_of(const struct sl_stats *stats, const struct metric *metric)
{
    uint64_t value = sl_figure_value(stats, &metric->figure);
    if (metric->followed) return value == SL_PLAN_STATE_FOLLOWED;
    return metric->figure.form == SL_FIGURE_NS ? (double)value * 1e-9 : (double)value;
}

void top_write_prometheus(FILE *to, const struct runs *runs)
{
    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        const struct metric *metric = &metrics[m];
        fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", metric->figure.name, metric->help, metric->figure.name,
                metric->type);
        for (uint32_t r = 0; r < runs->count; r++)
            for (uint32_t d = 0; d < runs->all[r].devices; d++) {
                fputs(metric->figure.name, to);
                write_labels(to, &runs->all[r], d);
                fprintf(to, "} %.17g\n", value_of(&runs->all[r].figures[d], metric));
            }
    }
    write_copies(to, runs);
    write_kinds(to, runs);
}
