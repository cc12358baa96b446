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
    const char *name, *type, *help;
    double (*value)(const struct sl_monitor_figures *figures);
};

#define VALUE(name, expression)                                                                              \
    static double name(const struct sl_monitor_figures *f)                                                   \
    {                                                                                                        \
        return (double)(expression);                                                                         \
    }
VALUE(budget, f->budget_bytes)
VALUE(resident, f->resident_bytes)
VALUE(allocated, f->live_bytes)
VALUE(need, f->need_bytes)
VALUE(host, f->host_bytes)
VALUE(host_limit, f->host_limit_bytes)
VALUE(steps, f->steps)
VALUE(step_seconds, (double)f->step_time * 1e-9)
VALUE(device_step, (double)f->device_step_ns * 1e-9)
VALUE(device_stall, (double)f->device_stall_ns * 1e-9)
VALUE(taken, f->taken_bytes)
VALUE(unused, f->unused_bytes)
VALUE(launches, f->total.launches)
VALUE(stall_seconds, (double)f->total.stall_ns * 1e-9)
VALUE(misses, f->total.demand_misses)
VALUE(late, f->total.late_prefetches)
VALUE(mispredictions, f->total.mispredictions)
VALUE(plans, f->plans)
VALUE(followed, f->plan == SL_MONITOR_FOLLOWED)
VALUE(link_in, f->link_in_bytes_per_s)
VALUE(link_out, f->link_out_bytes_per_s)

static const struct metric metrics[] = {
    {"sluice_budget_bytes", "gauge", "Device memory that chunks may occupy.", budget},
    {"sluice_resident_bytes", "gauge", "Device memory that chunks occupy.", resident},
    {"sluice_allocated_bytes", "gauge", "Device memory that the program has allocated.", allocated},
    {"sluice_need_bytes", "gauge", "Peak of the allocated memory.", need},
    {"sluice_taken_bytes", "gauge", "Device memory that the program took past sluice.", taken},
    {"sluice_unused_resident_bytes", "gauge", "Device memory that chunks occupy and no allocation lies in.",
     unused},
    {"sluice_host_bytes", "gauge", "Host memory that chunks occupy.", host},
    {"sluice_host_limit_bytes", "gauge", "Host memory that chunks may occupy.", host_limit},
    {"sluice_steps_total", "counter", "Ended training steps.", steps},
    {"sluice_step_seconds", "gauge", "Duration of the last step by the host's clock; 0 before the first.",
     step_seconds},
    {"sluice_device_step_seconds", "gauge",
     "Duration of the last step by the device's clock, as stalls; 0 if unknown.", device_step},
    {"sluice_device_step_stall_seconds", "gauge", "Time of it that launches waited for copies.",
     device_stall},
    {"sluice_launches_total", "counter", "Launches.", launches},
    {"sluice_stall_seconds_total", "counter", "Time that launches waited for copies to the device.",
     stall_seconds},
    {"sluice_demand_misses_total", "counter", "Chunks that a launch needed and no plan had fetched.", misses},
    {"sluice_late_prefetches_total", "counter", "Planned fetches that only the launch itself issued.", late},
    {"sluice_mispredictions_total", "counter", "Events that differed from the prediction.", mispredictions},
    {"sluice_plans_total", "counter", "Plans.", plans},
    {"sluice_plan_followed", "gauge", "1 while the program follows a plan.", followed},
    {"sluice_link_in_bytes_per_second", "gauge", "Measured speed of copies to the device.", link_in},
    {"sluice_link_out_bytes_per_second", "gauge", "Measured speed of copies to the host.", link_out},
};

static void write_copies(FILE *to, const struct runs *runs)
{
    static const char *const causes[] = {"plan", "demand", "late"};
    fputs("# HELP sluice_copied_bytes_total Bytes copied over the link, by direction and cause.\n"
          "# TYPE sluice_copied_bytes_total counter\n",
          to);
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t d = 0; d < runs->all[r].devices; d++)
            for (int i = 0; i < 6; i++) {
                const struct sl_monitor_sums *total = &runs->all[r].figures[d].total;
                fputs("sluice_copied_bytes_total", to);
                write_labels(to, &runs->all[r], d);
                fprintf(to, ",direction=\"%s\",cause=\"%s\"} %" PRIu64 "\n", i < 3 ? "in" : "out",
                        causes[i % 3], i < 3 ? total->in_bytes[i] : total->out_bytes[i - 3]);
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
                const struct sl_monitor_kind *kind = &runs->all[r].figures[d].kinds[i / 3];
                uint64_t bytes[] = {kind->resident_bytes, kind->host_bytes, kind->empty_bytes};
                fputs("sluice_kind_bytes", to);
                write_labels(to, &runs->all[r], d);
                fprintf(to, ",kind=\"%s\",place=\"%s\"} %" PRIu64 "\n", sl_kind_names[i / 3], places[i % 3],
                        bytes[i % 3]);
            }
}

void top_write_prometheus(FILE *to, const struct runs *runs)
{
    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        const struct metric *metric = &metrics[m];
        fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->type);
        for (uint32_t r = 0; r < runs->count; r++)
            for (uint32_t d = 0; d < runs->all[r].devices; d++) {
                fputs(metric->name, to);
                write_labels(to, &runs->all[r], d);
                fprintf(to, "} %.17g\n", metric->value(&runs->all[r].figures[d]));
            }
    }
    write_copies(to, runs);
    write_kinds(to, runs);
}
