#include "move/stats.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/output.h"
#include "base/text.h"

const struct sl_file_kind sl_file_stats = SL_FILE_KIND("no statistics of sluice's", SL_STATS_MARKER);

enum sl_status sl_stats_init(struct sl_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->iterations = calloc(SL_MAX_ITERATIONS, sizeof *stats->iterations);
    return stats->iterations ? SL_OK : SL_ERR_NO_MEMORY;
}

void sl_stats_close(struct sl_stats *stats)
{
    free(stats->iterations);
    stats->iterations = NULL;
}

struct sl_counts *sl_stats_now(struct sl_stats *stats)
{
    return &stats->iterations[atomic_load_explicit(&stats->iteration, memory_order_relaxed)];
}

void sl_stats_launched(struct sl_stats *stats)
{
    struct sl_counts *counts[] = {&stats->total, sl_stats_now(stats)};
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&counts[i]->launches,
                              atomic_load_explicit(&counts[i]->launches, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

struct sl_event sl_stats_moved(struct sl_stats *stats, enum sl_action_kind kind, enum sl_move_cause cause,
                               sl_chunk chunk, uint64_t bytes)
{
    bool copied = kind == SL_ACTION_FETCH || kind == SL_ACTION_EVICT;
    if (cause == SL_CAUSE_LATE && !copied) cause = SL_CAUSE_PLAN; /* no launch waits for it */
    switch (kind) {
    case SL_ACTION_FETCH:
        SL_COUNT(stats, bytes_in, bytes);
        if (cause == SL_CAUSE_LATE) SL_COUNT(stats, late_prefetches, 1);
        atomic_fetch_add(&stats->in_by_cause[cause], bytes);
        break;
    case SL_ACTION_EVICT:
        SL_COUNT(stats, bytes_out, bytes);
        atomic_fetch_add(&stats->out_by_cause[cause], bytes);
        break;
    case SL_ACTION_DISCARD:
        atomic_fetch_add(&stats->dropped_bytes, bytes);
        break;
    case SL_ACTION_POPULATE:
        atomic_fetch_add(&stats->populated_bytes, bytes);
        break;
    }
    struct sl_event event = {.type = SL_EVENT_MOVE,
                             .flags = (uint8_t)(kind | cause << 4),
                             .id = chunk,
                             .tick = atomic_load(&stats->tick),
                             .a = bytes};
    if (!stats->trace) return event;
    event.time_ns = sl_clock_ns(CLOCK_MONOTONIC);
    sl_trace_push(stats->trace, &event);
    return event;
}

void sl_stats_occupied(struct sl_stats *stats, uint64_t occupied_bytes)
{
    uint64_t seen = atomic_load(&stats->peak_occupied_bytes);
    while (seen < occupied_bytes &&
           !atomic_compare_exchange_weak(&stats->peak_occupied_bytes, &seen, occupied_bytes)) {
    }
}

void sl_stats_next_iteration(struct sl_stats *stats)
{
    uint32_t next = atomic_load(&stats->iteration) + 1;
    if (next < SL_MAX_ITERATIONS) atomic_store(&stats->iteration, next);
}

/* Prints integers only: in the program's locale a fraction may contain a comma. */
static void print_counts(FILE *to, const struct sl_counts *c)
{
    fprintf(to,
            "\"launches\": %llu, \"demand_misses\": %llu, \"late_prefetches\": %llu, \"remote_bytes\": %llu, "
            "\"pinned_bytes\": %llu, \"bytes_in\": %llu, \"bytes_out\": %llu, \"stalls\": %llu, "
            "\"stall_seconds\": %llu.%09llu",
            (unsigned long long)c->launches, (unsigned long long)c->demand_misses,
            (unsigned long long)c->late_prefetches, (unsigned long long)c->remote_bytes,
            (unsigned long long)c->pinned_bytes, (unsigned long long)c->bytes_in,
            (unsigned long long)c->bytes_out, (unsigned long long)c->stalls,
            (unsigned long long)c->stall_ns / 1000000000, (unsigned long long)c->stall_ns % 1000000000);
}

/* Without the last brace. */
static void print(FILE *to, const struct sl_stats *stats, const struct sl_run_summary *summary)
{
    static const char *const causes[] = {"plan", "demand", "late"};
    fprintf(to,
            SL_STATS_MARKER ", \"version\": 1, \"complete\": %s,\n \"policy\": \"%s\", \"daemon\": \"%s\",\n",
            summary->complete ? "true" : "false", summary->policy, summary->daemon);
    fprintf(to,
            " \"budget_bytes\": %llu, \"chunk_bytes\": %llu, \"need_bytes\": %llu, \"live_bytes\": %llu, "
            "\"chunks\": %llu,\n",
            (unsigned long long)summary->budget_bytes, (unsigned long long)summary->chunk_bytes,
            (unsigned long long)summary->need_bytes, (unsigned long long)summary->live_bytes,
            (unsigned long long)summary->chunks);
    fprintf(to,
            " \"peak_bytes\": %llu, \"populated_bytes\": %llu, \"discarded_bytes\": %llu, \"unused_bytes\": "
            "%llu,\n",
            (unsigned long long)stats->peak_occupied_bytes, (unsigned long long)stats->populated_bytes,
            (unsigned long long)stats->dropped_bytes, (unsigned long long)stats->unused_bytes);
    fprintf(
        to,
        " \"plans\": %llu, \"plans_late\": %llu, \"plan_seconds\": %llu.%09llu, "
        "\"plan_launch_seconds_most\": %llu.%09llu, \"mispredictions\": %llu, \"oversize_launches\": %llu, ",
        (unsigned long long)stats->plans, (unsigned long long)stats->plans_late,
        (unsigned long long)stats->plan_ns / 1000000000, (unsigned long long)stats->plan_ns % 1000000000,
        (unsigned long long)stats->plan_longest_ns / 1000000000,
        (unsigned long long)stats->plan_longest_ns % 1000000000, (unsigned long long)stats->mispredictions,
        (unsigned long long)stats->oversize_launches);
    fprintf(to, "\"predicted\": %llu, \"fed\": %llu, \"primed\": %llu,\n",
            (unsigned long long)summary->predicted, (unsigned long long)summary->fed,
            (unsigned long long)summary->primed);
    fprintf(to, " \"placed_bytes\": %llu, \"placed_live_bytes\": %llu,\n",
            (unsigned long long)summary->placed_bytes, (unsigned long long)summary->placed_live_bytes);
    fprintf(to, " \"pinned_peak_bytes\": %llu, \"host_limit_bytes\": %llu,\n",
            (unsigned long long)summary->pinned_peak_bytes, (unsigned long long)summary->host_limit_bytes);
    fprintf(to, " \"checks_failed\": %llu,\n", (unsigned long long)summary->checks_failed);
    fprintf(to, " \"link_sharers\": %u, \"link_in_bytes_per_s\": %llu, \"link_out_bytes_per_s\": %llu,\n",
            summary->link_sharers, (unsigned long long)summary->link_in_bytes_per_s,
            (unsigned long long)summary->link_out_bytes_per_s);
    for (int d = 0; d < 2; d++) {
        fprintf(to, " \"bytes_%s_by_cause\": {", d ? "out" : "in");
        for (int c = 0; c < 3; c++)
            fprintf(to, "%s\"%s\": %llu", c ? ", " : "", causes[c],
                    (unsigned long long)(d ? stats->out_by_cause[c] : stats->in_by_cause[c]));
        fprintf(to, "},\n");
    }
    fprintf(to, " \"total\": {");
    print_counts(to, &stats->total);
    fprintf(to, "},\n \"iterations\": [");
    uint32_t last = stats->iteration;
    if (last && !stats->iterations[last].launches)
        last--; /* the program ended where the next iteration would have begun */
    for (uint32_t i = 0; i <= last; i++) {
        fprintf(to, "%s\n  {\"number\": %u, ", i ? "," : "", i + 1);
        print_counts(to, &stats->iterations[i]);
        fprintf(to, "}");
    }
    fprintf(to, "]");
}

void sl_stats_print(FILE *to, const struct sl_stats *stats, const struct sl_run_summary *summary)
{
    print(to, stats, summary);
    fprintf(to, "}\n");
}

static void print_devices(FILE *to, const struct sl_device_run *runs, uint32_t count)
{
    print(to, runs[0].stats, &runs[0].summary);
    for (uint32_t r = 1; r < count; r++) {
        fprintf(to, r == 1 ? ",\n \"other_devices\": [\n" : ",\n");
        print(to, runs[r].stats, &runs[r].summary);
        fprintf(to, "}");
    }
    fprintf(to, count > 1 ? "]}\n" : "}\n");
}

enum sl_status sl_stats_write_devices(const struct sl_device_run *runs, uint32_t count, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) return SL_ERR_NO_MEMORY;
    print_devices(memory, runs, count);
    if (fclose(memory)) {
        free(text);
        return SL_ERR_NO_MEMORY;
    }
    enum sl_status status = sl_output_replace(path, &sl_file_stats, text, bytes);
    if (status)
        sl_log(SL_LOG_WARN, "cannot write the statistics to %s: %s", path,
               status == SL_ERR_IO ? sl_file_problem(&sl_file_stats, errno) : sl_status_text(status));
    free(text);
    return status;
}

enum sl_status sl_stats_write(const struct sl_stats *stats, const struct sl_run_summary *summary,
                              const char *path)
{
    return sl_stats_write_devices(&(struct sl_device_run){stats, *summary}, 1, path);
}

__attribute__((format(printf, 2, 3))) static void line(void (*say)(const char *line), const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(text);
}

static void say_unmoved(const struct sl_stats *stats, const struct sl_run_summary *summary, double predicted,
                        void (*say)(const char *line))
{
    char need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT];
    sl_bytes_text(summary->need_bytes, need);
    if (summary->memory == SL_MEMORY_NOTED)
        line(say,
             "recorded only: the program used %s of device memory; %llu launches, %.1f %% of %llu "
             "events predicted",
             need, (unsigned long long)stats->total.launches, predicted, (unsigned long long)summary->fed);
    else
        line(say,
             "left to the driver: the program needed %s, %s were free; %llu launches, %.1f %% of %llu "
             "events predicted",
             need, sl_bytes_text(summary->budget_bytes, budget), (unsigned long long)stats->total.launches,
             predicted, (unsigned long long)summary->fed);
}

void sl_stats_say(const struct sl_stats *stats, const struct sl_run_summary *summary,
                  void (*say)(const char *line))
{
    char need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], peak[SL_BYTES_TEXT], in[SL_BYTES_TEXT],
        out[SL_BYTES_TEXT];
    double predicted = summary->fed ? 100.0 * (double)summary->predicted / (double)summary->fed : 0.0;
    if (summary->checks_failed)
        line(say,
             "checks: %llu failed, each place is in the log once; from the first one on nothing was planned",
             (unsigned long long)summary->checks_failed);
    if (summary->memory != SL_MEMORY_MOVED) {
        say_unmoved(stats, summary, predicted, say);
        return;
    }
    line(say, "memory: the program needed %s, was given %s, used %s; chunks of %llu MiB",
         sl_bytes_text(summary->need_bytes, need), sl_bytes_text(summary->budget_bytes, budget),
         sl_bytes_text(stats->peak_occupied_bytes, peak),
         (unsigned long long)(summary->chunk_bytes / SL_MIB));
    if (summary->placed_bytes)
        line(say, "placed: chunks held %s for %s of data, %.1f %% of it unused",
             sl_bytes_text(summary->placed_bytes, need), sl_bytes_text(summary->placed_live_bytes, in),
             100.0 - 100.0 * (double)summary->placed_live_bytes / (double)summary->placed_bytes);
    if (summary->pinned_peak_bytes)
        line(say, "pinned: %s of it lay in pinned host memory; launches used %s there zero-copy",
             sl_bytes_text(summary->pinned_peak_bytes, need), sl_bytes_text(stats->total.pinned_bytes, in));
    line(
        say,
        "moved: %s in, %s out; %llu launches, %llu demand misses, %llu late prefetches, %llu stalls (%.3f s)",
        sl_bytes_text(stats->total.bytes_in, in), sl_bytes_text(stats->total.bytes_out, out),
        (unsigned long long)stats->total.launches, (unsigned long long)stats->total.demand_misses,
        (unsigned long long)stats->total.late_prefetches, (unsigned long long)stats->total.stalls,
        (double)stats->total.stall_ns * 1e-9);
    line(say, "plan: %llu plans, %llu mispredictions, %.1f %% of %llu events predicted",
         (unsigned long long)stats->plans, (unsigned long long)stats->mispredictions, predicted,
         (unsigned long long)summary->fed);
}
