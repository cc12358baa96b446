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
#define LEAST_STALL 0.01 /* part of the time; less is no limit */
#define LINK_BOTH 1.5    /* what both directions have together, of one alone: docs/driver-model.md */

const char *const sl_cause_names[SL_STATS_CAUSES] = {"plan", "demand", "late"};
const char *const sl_kind_names[SL_KINDS] = {
    [SL_KIND_LASTING] = "lasting", [SL_KIND_IDLE] = "idle",       [SL_KIND_TEMPORARY] = "temporary",
    [SL_KIND_PINNED] = "pinned",   [SL_KIND_UNKNOWN] = "unknown",
};

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

struct sl_event sl_stats_moved(struct sl_stats *stats, enum sl_action_kind kind, enum sl_move_cause cause,
                               sl_chunk chunk, uint64_t bytes)
{
    bool copied = kind == SL_ACTION_FETCH || kind == SL_ACTION_EVICT;
    if (cause == SL_CAUSE_LATE && !copied) cause = SL_CAUSE_PLAN; /* no launch waits for it */
    switch (kind) {
    case SL_ACTION_FETCH:
        SL_COUNT(stats, bytes_in[cause], bytes);
        if (cause == SL_CAUSE_LATE) SL_COUNT(stats, late_prefetches, 1);
        break;
    case SL_ACTION_EVICT:
        SL_COUNT(stats, bytes_out[cause], bytes);
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
    uint64_t next = atomic_load(&stats->iteration) + 1;
    if (next < SL_MAX_ITERATIONS) atomic_store(&stats->iteration, next);
}

_Static_assert(SL_FIGURES_BYTES % sizeof(uint64_t) == 0 && sizeof(struct sl_counts) % sizeof(uint64_t) == 0,
               "they are copied word by word");

void sl_words_copy(void *to, const void *from, size_t bytes)
{
    uint64_t *out = to;
    const uint64_t *in = from;
    for (size_t i = 0; i < bytes / sizeof(*in); i++)
        __atomic_store_n(&out[i], __atomic_load_n(&in[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void sl_counts_since(struct sl_counts *to, const struct sl_counts *now, const struct sl_counts *then)
{
    uint64_t *out = (uint64_t *)to;
    const uint64_t *minuend = (const uint64_t *)now, *subtrahend = (const uint64_t *)then;
    for (size_t i = 0; i < sizeof(*to) / sizeof(*out); i++) out[i] = minuend[i] - subtrahend[i];
}

void sl_stats_end_texts(struct sl_stats *stats)
{
    stats->policy[sizeof(stats->policy) - 1] = 0;
    stats->daemon[sizeof(stats->daemon) - 1] = 0;
    stats->expected[sizeof(stats->expected) - 1] = 0;
    stats->came[sizeof(stats->came) - 1] = 0;
}

uint64_t sl_figure_value(const void *of, const struct sl_figure *figure)
{
    const _Atomic uint64_t *at = (const void *)((const char *)of + figure->at);
    if (figure->form == SL_FIGURE_CAUSES) return sl_stats_bytes(at);
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* Both are busy at times only: what is busier limits. */
void sl_moving_judge(struct sl_moving *m)
{
    double ns = (double)m->ns, link = 0, threads = 0;
    m->limit = "unknown";
    m->cores = m->link[0] = m->link[1] = 0;
    if (!m->ns || !m->bytes_per_s[0] || !m->bytes_per_s[1]) return;
    m->cores = (double)(m->call_ns[0] + m->call_ns[1]) / ns;
    for (int d = 0; d < 2; d++) {
        double busy = m->threads[d] ? (double)m->call_ns[d] / (double)m->threads[d] / ns : 0;
        m->link[d] = (double)m->bytes[d] * 1e9 / (double)m->bytes_per_s[d] / ns;
        link = m->link[d] > link ? m->link[d] : link;
        threads = busy > threads ? busy : threads;
    }
    link = (m->link[0] + m->link[1]) / LINK_BOTH > link ? (m->link[0] + m->link[1]) / LINK_BOTH : link;
    m->limit = (double)m->stall_ns < LEAST_STALL * ns ? "neither" : link >= threads ? "link" : "threads";
}

void sl_stats_moving(const struct sl_stats *stats, struct sl_moving *out)
{
    const struct sl_counts *recent = &stats->recent;
    uint64_t movers = stats->movers, speed = stats->link_alone_bytes_per_s;
    *out = (struct sl_moving){
        .ns = movers ? stats->recent_ns : 0,
        .stall_ns = recent->stall_ns,
        .bytes = {sl_stats_bytes(recent->bytes_in), sl_stats_bytes(recent->bytes_out)},
        .call_ns = {recent->call_ns[0], recent->call_ns[1]},
        .bytes_per_s = {speed, speed},
        .threads = {(movers + 1) / 2, movers},
    };
    sl_moving_judge(out);
}

bool sl_stats_moving_text(const struct sl_stats *stats, char out[SL_MOVING_TEXT])
{
    struct sl_moving m;
    sl_stats_moving(stats, &m);
    snprintf(out, SL_MOVING_TEXT, "%.2f cores of the host; %.0f %% of the link in, %.0f %% out; limit: %s",
             m.cores, 100 * m.link[0], 100 * m.link[1], m.limit);
    return m.ns > 0;
}

/* --- JSON */

#define AT(member) offsetof(struct sl_stats, member)

/* A row for each line. */
#define LINE_FIGURES 6
static const struct sl_figure lines[][LINE_FIGURES] = {
    {{"budget_bytes", AT(budget_bytes)},
     {"chunk_bytes", AT(chunk_bytes)},
     {"need_bytes", AT(need_bytes)},
     {"live_bytes", AT(live_bytes)},
     {"chunks", AT(chunks)}},
    {{"peak_bytes", AT(peak_occupied_bytes)},
     {"populated_bytes", AT(populated_bytes)},
     {"discarded_bytes", AT(dropped_bytes)},
     {"unused_bytes", AT(unused_bytes)}},
    {{"plans", AT(plans)},
     {"plans_late", AT(plans_late)},
     {"plan_seconds", AT(plan_ns), SL_FIGURE_NS},
     {"plan_launch_seconds_most", AT(plan_longest_ns), SL_FIGURE_NS},
     {"mispredictions", AT(total.mispredictions)},
     {"oversize_launches", AT(oversize_launches)}},
    {{"predicted", AT(predicted)}, {"fed", AT(fed)}, {"primed", AT(primed)}},
    {{"placed_bytes", AT(placed_bytes)}, {"placed_live_bytes", AT(placed_live_bytes)}},
    {{"pinned_peak_bytes", AT(pinned_peak_bytes)}, {"host_limit_bytes", AT(host_limit_bytes)}},
    {{"checks_failed", AT(checks_failed)}},
    {{"link_sharers", AT(link_sharers)},
     {"link_in_bytes_per_s", AT(link_in_bytes_per_s)},
     {"link_out_bytes_per_s", AT(link_out_bytes_per_s)},
     {"link_alone_bytes_per_s", AT(link_alone_bytes_per_s)},
     {"movers", AT(movers)}},
};

static const struct sl_figure counts[] = {
    {"launches", offsetof(struct sl_counts, launches)},
    {"demand_misses", offsetof(struct sl_counts, demand_misses)},
    {"late_prefetches", offsetof(struct sl_counts, late_prefetches)},
    {"remote_bytes", offsetof(struct sl_counts, remote_bytes)},
    {"pinned_bytes", offsetof(struct sl_counts, pinned_bytes)},
    {"in_place_bytes", offsetof(struct sl_counts, in_place_bytes)},
    {"bytes_in", offsetof(struct sl_counts, bytes_in), SL_FIGURE_CAUSES},
    {"bytes_out", offsetof(struct sl_counts, bytes_out), SL_FIGURE_CAUSES},
    {"stalls", offsetof(struct sl_counts, stalls)},
    {"stall_seconds", offsetof(struct sl_counts, stall_ns), SL_FIGURE_NS},
};

/* Prints integers only: in the program's locale a fraction may contain a comma. */
static void print_figures(FILE *to, const void *of, const struct sl_figure *figures, size_t count)
{
    for (size_t i = 0; i < count && figures[i].name; i++) {
        unsigned long long value = sl_figure_value(of, &figures[i]);
        fprintf(to, "%s\"%s\": ", i ? ", " : "", figures[i].name);
        if (figures[i].form == SL_FIGURE_NS)
            fprintf(to, "%llu.%09llu", value / 1000000000, value % 1000000000);
        else
            fprintf(to, "%llu", value);
    }
}

static void print_counts(FILE *to, const struct sl_counts *of)
{
    print_figures(to, of, counts, sizeof(counts) / sizeof(*counts));
    fputs("}", to);
}

static void print_causes(FILE *to, const char *name, const _Atomic uint64_t *by_cause)
{
    fprintf(to, " \"%s\": {", name);
    for (int c = 0; c < SL_STATS_CAUSES; c++)
        fprintf(to, "%s\"%s\": %llu", c ? ", " : "", sl_cause_names[c], (unsigned long long)by_cause[c]);
    fputs("},\n", to);
}

/* Without the last brace. */
static void print(FILE *to, const struct sl_stats *stats, bool complete)
{
    fprintf(to,
            SL_STATS_MARKER ", \"version\": 1, \"complete\": %s,\n \"policy\": \"%s\", \"daemon\": \"%s\",\n",
            complete ? "true" : "false", stats->policy, stats->daemon);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        fputs(" ", to);
        print_figures(to, stats, lines[i], LINE_FIGURES);
        fputs(",\n", to);
    }
    struct sl_moving moving;
    sl_stats_moving(stats, &moving);
    unsigned millicores = (unsigned)(1000 * moving.cores + 0.5);
    fprintf(to, " \"host_cores\": %u.%03u, \"limit\": \"%s\",\n", millicores / 1000, millicores % 1000,
            moving.limit);
    print_causes(to, "bytes_in_by_cause", stats->total.bytes_in);
    print_causes(to, "bytes_out_by_cause", stats->total.bytes_out);
    fputs(" \"total\": {", to);
    print_counts(to, &stats->total);
    fputs(",\n \"iterations\": [", to);
    uint64_t last = stats->iteration;
    if (last && !stats->iterations[last].launches)
        last--; /* the program ended where the next iteration would have begun */
    for (uint64_t i = 0; i <= last; i++) {
        fprintf(to, "%s\n  {\"number\": %llu, ", i ? "," : "", (unsigned long long)i + 1);
        print_counts(to, &stats->iterations[i]);
    }
    fputs("]", to);
}

void sl_stats_print(FILE *to, const struct sl_stats *const devices[], uint32_t count, bool complete)
{
    print(to, devices[0], complete);
    for (uint32_t d = 1; d < count; d++) {
        fputs(d == 1 ? ",\n \"other_devices\": [\n" : ",\n", to);
        print(to, devices[d], complete);
        fputs("}", to);
    }
    fputs(count > 1 ? "]}\n" : "}\n", to);
}

enum sl_status sl_stats_write(const struct sl_stats *const devices[], uint32_t count, bool complete,
                              const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) return SL_ERR_NO_MEMORY;
    sl_stats_print(memory, devices, count, complete);
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

/* --- the summary */

__attribute__((format(printf, 2, 3))) static void line(void (*say)(const char *line), const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(text);
}

static void say_unmoved(const struct sl_stats *stats, double predicted, void (*say)(const char *line))
{
    char need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT];
    sl_bytes_text(stats->need_bytes, need);
    if (stats->memory == SL_MEMORY_NOTED)
        line(say,
             "recorded only: the program used %s of device memory; %llu launches, %.1f %% of %llu "
             "events predicted",
             need, (unsigned long long)stats->total.launches, predicted, (unsigned long long)stats->fed);
    else
        line(say,
             "left to the driver: the program needed %s, %s were free; %llu launches, %.1f %% of %llu "
             "events predicted",
             need, sl_bytes_text(stats->budget_bytes, budget), (unsigned long long)stats->total.launches,
             predicted, (unsigned long long)stats->fed);
}

void sl_stats_say(const struct sl_stats *stats, void (*say)(const char *line))
{
    char moving[SL_MOVING_TEXT];
    char need[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], peak[SL_BYTES_TEXT], in[SL_BYTES_TEXT],
        out[SL_BYTES_TEXT];
    double predicted = stats->fed ? 100.0 * (double)stats->predicted / (double)stats->fed : 0.0;
    if (stats->checks_failed)
        line(say,
             "checks: %llu failed, each place is in the log once; from the first one on nothing was planned",
             (unsigned long long)stats->checks_failed);
    if (stats->memory != SL_MEMORY_MOVED) {
        say_unmoved(stats, predicted, say);
        return;
    }
    line(say, "memory: the program needed %s, was given %s, used %s; chunks of %llu MiB",
         sl_bytes_text(stats->need_bytes, need), sl_bytes_text(stats->budget_bytes, budget),
         sl_bytes_text(stats->peak_occupied_bytes, peak), (unsigned long long)(stats->chunk_bytes / SL_MIB));
    if (stats->placed_bytes && stats->placed_bytes <= stats->budget_bytes &&
        !sl_stats_bytes(stats->total.bytes_out))
        line(say,
             "fits: all of it had room in the budget, so nothing was evicted; sluice has work with less than "
             "%s",
             sl_bytes_text(stats->placed_bytes, need));
    if (stats->placed_bytes)
        line(say, "placed: chunks held %s for %s of data, %.1f %% of it unused",
             sl_bytes_text(stats->placed_bytes, need), sl_bytes_text(stats->placed_live_bytes, in),
             100.0 - 100.0 * (double)stats->placed_live_bytes / (double)stats->placed_bytes);
    if (stats->pinned_peak_bytes)
        line(say, "pinned: %s of it lay in pinned host memory; launches used %s there zero-copy",
             sl_bytes_text(stats->pinned_peak_bytes, need), sl_bytes_text(stats->total.pinned_bytes, in));
    line(
        say,
        "moved: %s in, %s out; %llu launches, %llu demand misses, %llu late prefetches, %llu stalls (%.3f s)",
        sl_bytes_text(sl_stats_bytes(stats->total.bytes_in), in),
        sl_bytes_text(sl_stats_bytes(stats->total.bytes_out), out), (unsigned long long)stats->total.launches,
        (unsigned long long)stats->total.demand_misses, (unsigned long long)stats->total.late_prefetches,
        (unsigned long long)stats->total.stalls, (double)stats->total.stall_ns * 1e-9);
    if (sl_stats_moving_text(stats, moving)) line(say, "movers: %s", moving);
    line(say, "plan: %llu plans, %llu mispredictions, %.1f %% of %llu events predicted",
         (unsigned long long)stats->plans, (unsigned long long)stats->total.mispredictions, predicted,
         (unsigned long long)stats->fed);
}
