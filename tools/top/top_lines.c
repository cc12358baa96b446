/* The lines that `sluice top` shows. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "tools/text/table.h"
#include "tools/top/top_lines.h"

#define STALE_NS UINT64_C(2000000000) /* figures older than that are called old: the program may wait */
enum { MOST_BAR = 60, WIDE = 76 };    /* columns of the table of kinds */

static bool is_narrow(const struct top_lines *lines)
{
    return lines->width < WIDE;
}

/* Where a text breaks that is longer than `columns`: behind the last space that is not within a bar. */
static size_t break_at(const char *text, size_t columns)
{
    size_t most = text_prefix(text, columns), at = most;
    if (!text[most]) return most;
    while (at > TOP_LABEL && text[at - 1] != ' ' && text[at] != ' ') at--;
    return at > TOP_LABEL ? at : most;
}

static void append(struct top_lines *lines, enum terminal_style style, const char *indent, const char *text,
                   size_t bytes)
{
    if (!sl_grow(&lines->all, &lines->room, lines->count, sizeof(*lines->all))) return;
    struct top_line *next = &lines->all[lines->count++];
    *next = (struct top_line){.style = style};
    snprintf(next->text, sizeof(next->text), "%s%.*s", indent, (int)bytes, text);
    size_t end = text_prefix(next->text, strlen(next->text)); /* it may end within a character */
    while (end && next->text[end - 1] == ' ') end--;
    next->text[end] = 0;
}

void top_line(struct top_lines *lines, enum terminal_style style, const char *format, ...)
{
    static const char indent[TOP_LABEL + 1] = "          ";
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const char *at = text;
    size_t bytes = break_at(at, lines->width);
    append(lines, style, "", at, bytes);
    while (at[bytes]) {
        at += bytes + strspn(at + bytes, " ");
        bytes = break_at(at, lines->width - TOP_LABEL);
        append(lines, style, indent, at, bytes);
    }
}

const char *top_speed_text(double bytes_per_s, char out[TOP_SPEED])
{
    snprintf(out, TOP_SPEED, "%.*f GB/s", bytes_per_s < 9.995e9 ? 2 : 1, bytes_per_s / 1e9);
    return out;
}

static void write_title(struct top_lines *lines, const struct runs *runs,
                        const struct sl_monitor_record *record, uint32_t device)
{
    const struct sl_stats *f = &record->figures[device];
    char user[32] = "", rank[32] = "", number[32] = "", old[TIME_TEXT + 16] = "", time[TIME_TEXT];
    uint64_t old_ns = runs->looked_ns > f->updated_ns ? runs->looked_ns - f->updated_ns : 0;
    if (record->rank[0]) snprintf(rank, sizeof(rank), ", rank %.15s", record->rank);
    if (record->user != geteuid()) snprintf(user, sizeof(user), ", user %" PRIu64, record->user);
    if (record->devices > 1) snprintf(number, sizeof(number), ", device %" PRIu32, record->numbers[device]);
    if (old_ns > STALE_NS) snprintf(old, sizeof(old), ", %s without a launch", time_text(old_ns, time));
    top_line(lines, STYLE_BOLD, "%s, process %" PRIu64 "%s%s%s: policy %s, daemon %s%s", record->program,
             record->process, user, rank, number, f->policy, f->daemon, old);
}

/* Marks for `part` of `whole` in a bar of `columns` that has `used` marks; returns their number. */
static unsigned add_marks(char *bar, size_t room, unsigned columns, unsigned used, uint64_t part,
                          uint64_t whole, const char *mark)
{
    if (!whole) return 0;
    double share = (double)part / (double)whole * columns;
    unsigned count = share > columns - used ? columns - used : (unsigned)(share + 0.5);
    for (unsigned i = 0; i < count && strlen(bar) + strlen(mark) < room; i++) strcat(bar, mark);
    return count;
}

/* What a kind of memory is shown as. */
struct look {
    const char *mark, *ascii, *name;
};
static const struct look looks[] = {
    [SL_KIND_LASTING] = {"█", "#", "lasting"},     [SL_KIND_IDLE] = {"▓", "=", "idle"},
    [SL_KIND_TEMPORARY] = {"▒", "+", "temporary"}, [SL_KIND_PINNED] = {" ", " ", "pinned"},
    [SL_KIND_UNKNOWN] = {"▚", "?", "unknown"},     [SL_KINDS] = {"░", "-", "unused"},
};

static const char *mark_of(const struct top_lines *lines, int kind)
{
    return lines->unicode ? looks[kind].mark : looks[kind].ascii;
}

/* A row of the table of kinds, whose columns are closer together on a narrow screen. */
static void write_kind(struct top_lines *lines, enum terminal_style style, const char *mark, const char *name,
                       const char *const cells[4])
{
    bool wide = !is_narrow(lines);
    int column = wide ? 12 : 10;
    top_line(lines, style, "%s%s %-9s %*s %*s %*s %*s", wide ? "          " : "  ", mark, name, column,
             cells[0], column, cells[1], column, cells[2], column, cells[3]);
}

static void write_kinds(struct top_lines *lines, const struct sl_stats *f)
{
    char text[4][SL_BYTES_TEXT];
    const char *cells[4] = {text[0], text[1], text[2], text[3]};
    write_kind(lines, STYLE_DIM, " ", "",
               (const char *const[]){"on device", "host only", "no content", "allocated"});
    for (int k = 0; k < SL_KINDS; k++) {
        const struct sl_kind_bytes *kind = &f->kinds[k];
        if (!kind->allocated_bytes) continue;
        sl_bytes_text(kind->resident_bytes, text[0]);
        sl_bytes_text(kind->host_bytes, text[1]);
        sl_bytes_text(kind->empty_bytes, text[2]);
        sl_bytes_text(kind->allocated_bytes, text[3]);
        write_kind(lines, STYLE_NONE, mark_of(lines, k), looks[k].name, cells);
    }
    sl_bytes_text(f->unallocated_bytes, text[0]);
    write_kind(lines, STYLE_NONE, mark_of(lines, SL_KINDS), looks[SL_KINDS].name,
               (const char *const[]){text[0], "", "", ""});
}

/* What fills the budget, as the last visit to the allocations has found it. What came since, or is there
 * before the first visit, is not known to be anything. */
static void write_bar(struct top_lines *lines, const struct sl_stats *f)
{
    char bar[4 * MOST_BAR] = "";
    uint64_t rest = f->occupied_bytes, unused = f->scanned_ns ? f->unallocated_bytes : 0;
    unsigned columns = lines->width < TOP_LABEL + MOST_BAR + 2 ? lines->width - TOP_LABEL - 2 : MOST_BAR,
             used = 0;
    for (int k = 0; k <= SL_KINDS && f->scanned_ns; k++) {
        uint64_t bytes = k < SL_KINDS ? f->kinds[k].resident_bytes : unused,
                 part = bytes < rest ? bytes : rest;
        rest -= part;
        used += add_marks(bar, sizeof(bar), columns, used, part, f->budget_now_bytes, mark_of(lines, k));
    }
    used += add_marks(bar, sizeof(bar), columns, used, rest, f->budget_now_bytes,
                      lines->unicode ? "\u00b7" : ":");
    while (used < columns && strlen(bar) + 1 < sizeof(bar)) used++, strcat(bar, " ");
    top_line(lines, STYLE_NONE, "  memory  [%s]", bar);
}

static void write_memory(struct top_lines *lines, const struct sl_stats *f)
{
    char resident[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], need[SL_BYTES_TEXT];
    char taken[SL_BYTES_TEXT], lost[SL_BYTES_TEXT];
    write_bar(lines, f);
    top_line(lines, STYLE_NONE,
             is_narrow(lines) ? "          %s of %s resident; the need is %s"
                              : "          %s resident of a budget of %s; the program needs %s",
             sl_bytes_text(f->occupied_bytes, resident), sl_bytes_text(f->budget_now_bytes, budget),
             sl_bytes_text(f->need_bytes, need));
    if (f->taken_bytes || f->lost_bytes)
        top_line(lines, STYLE_NONE,
                 "          no more in the budget: %s taken past sluice, %s taken by others",
                 sl_bytes_text(f->taken_bytes, taken), sl_bytes_text(f->lost_bytes, lost));
    if (f->scanned_ns)
        write_kinds(lines, f);
    else
        top_line(lines, STYLE_DIM, "          %s what that is, is not yet known",
                 lines->unicode ? "\u00b7" : ":");
}

/* Stalls are on the device's clock, so only a step by that clock has parts. */
static void write_step(struct top_lines *lines, const struct sl_stats *f)
{
    char host[TIME_TEXT], device[TIME_TEXT], stall[TIME_TEXT], other[TIME_TEXT];
    if (!run_has_step(f)) {
        top_line(lines, STYLE_DIM, "  step    none ended yet; %" PRIu64 " launches so far",
                 f->total.launches);
        return;
    }
    top_line(lines, STYLE_NONE, "  step    %s, %.3g a second, number %" PRIu64 ", %" PRIu64 " launches%s",
             time_text(f->step_time_ns, host), 1e9 / (double)f->step_time_ns, f->steps, f->step.launches,
             f->step.stalls ? "" : "; no stalls");
    if (!f->step.stalls) return;
    if (!f->device_step_ns) {
        top_line(lines, STYLE_NONE, "          %" PRIu64 " stalls: %s on the device", f->step.stalls,
                 time_text(f->step.stall_ns, stall));
        return;
    }
    if (f->device_stall_ns > f->device_step_ns) { /* several streams waited at once */
        top_line(lines, STYLE_YELLOW, "          by the device's clock %s; streams stalled %s together",
                 time_text(f->device_step_ns, device), time_text(f->device_stall_ns, stall));
        return;
    }
    double stalled = 100.0 * (double)f->device_stall_ns / (double)f->device_step_ns;
    enum terminal_style style = stalled > 10 ? STYLE_YELLOW : STYLE_NONE;
    time_text(f->device_step_ns, device), time_text(f->device_stall_ns, stall);
    if (is_narrow(lines))
        top_line(lines, style, "          on the device %s: %s stalled (%.1f %%)", device, stall, stalled);
    else
        top_line(lines, style, "          by the device's clock %s: %s stalled (%.1f %%), %s not", device,
                 stall, stalled, time_text(run_other_ns(f), other));
}

/* "plan 40 MiB, late 2 MiB": the causes that copied anything. */
static void list_causes(const _Atomic uint64_t by_cause[SL_STATS_CAUSES], char *out, size_t room)
{
    char bytes[SL_BYTES_TEXT];
    out[0] = 0;
    for (int c = 0; c < SL_STATS_CAUSES; c++) {
        size_t used = strlen(out);
        if (by_cause[c])
            snprintf(out + used, room - used, "%s%s %s", used ? ", " : "", sl_cause_names[c],
                     sl_bytes_text(by_cause[c], bytes));
    }
    if (!out[0]) snprintf(out, room, "nothing");
}

static void write_link(struct top_lines *lines, const struct sl_stats *f, bool in)
{
    const struct sl_counts *sums = run_has_step(f) ? &f->step : &f->total;
    uint64_t ceiling = in ? f->link_in_bytes_per_s : f->link_out_bytes_per_s;
    char speed[TOP_SPEED], most[TOP_SPEED], causes[4 * SL_BYTES_TEXT];
    double rate = run_speed(f, in);
    list_causes(in ? sums->bytes_in : sums->bytes_out, causes, sizeof(causes));
    if (run_has_step(f))
        top_line(lines, STYLE_NONE, "  %s %s of %s (%.0f %%); a step: %s", in ? "in     " : "out    ",
                 top_speed_text(rate, speed), top_speed_text((double)ceiling, most),
                 ceiling ? 100 * rate / (double)ceiling : 0.0, causes);
    else
        top_line(lines, STYLE_NONE, "  %s at most %s; so far: %s", in ? "in     " : "out    ",
                 top_speed_text((double)ceiling, most), causes);
}

static void write_movers(struct top_lines *lines, const struct sl_stats *f)
{
    char moving[SL_MOVING_TEXT];
    if (sl_stats_moving_text(f, moving)) top_line(lines, STYLE_NONE, "  movers  %s", moving);
}

static void write_misses(struct top_lines *lines, const struct sl_stats *f)
{
    const struct sl_counts *step = &f->step, *total = &f->total;
    char sums[80] = "";
    if (!is_narrow(lines))
        snprintf(sums, sizeof(sums), "; so far: %" PRIu64 ", %" PRIu64 ", %" PRIu64, total->demand_misses,
                 total->late_prefetches, total->mispredictions);
    top_line(lines, step->demand_misses + step->late_prefetches ? STYLE_YELLOW : STYLE_NONE,
             "  misses  last step: %" PRIu64 " demand, %" PRIu64 " late, %" PRIu64 " mispredictions%s",
             step->demand_misses, step->late_prefetches, step->mispredictions, sums);
}

static void write_plan(struct top_lines *lines, uint64_t looked_ns, const struct sl_stats *f)
{
    char age[TIME_TEXT + 8] = "", time[TIME_TEXT];
    if (f->plan_taken_ns)
        snprintf(age, sizeof(age), " for %s", time_text(f->updated_ns - f->plan_taken_ns, time));
    double predicted = f->fed ? 100.0 * (double)f->predicted / (double)f->fed : 0.0;
    enum terminal_style style = f->plan_state == SL_PLAN_STATE_DEVIATED ? STYLE_YELLOW : STYLE_NONE;
    if (is_narrow(lines))
        top_line(lines, style, "  plan    %s%s; %.1f %% predicted", run_plan_text(f), age, predicted);
    else
        top_line(lines, style, "  plan    %s%s; %" PRIu64 " made; %.1f %% of %" PRIu64 " events predicted",
                 run_plan_text(f), age, f->plans, predicted, f->fed);
    write_misses(lines, f);
    if (f->oversize_launches)
        top_line(lines, STYLE_YELLOW, "          %" PRIu64 " launches needed more than the budget",
                 f->oversize_launches);
    if (!f->mispredicted_ns) return;
    if (looked_ns > f->mispredicted_ns)
        top_line(lines, STYLE_DIM, "          %s ago came %s",
                 time_text(looked_ns - f->mispredicted_ns, time), f->came);
    else
        top_line(lines, STYLE_DIM, "          just now came %s", f->came);
    top_line(lines, STYLE_DIM, "          expected was %s", f->expected);
}

static void write_host(struct top_lines *lines, const struct sl_stats *f)
{
    char host[SL_BYTES_TEXT], most[SL_BYTES_TEXT], pinned[SL_BYTES_TEXT];
    top_line(lines, STYLE_NONE, "  host    %s of %s, %s of it pinned", sl_bytes_text(f->host_bytes, host),
             sl_bytes_text(f->host_limit_bytes, most), sl_bytes_text(f->pinned_live_bytes, pinned));
}

/* How long steps took, newest last: the lowest mark is the shortest one. */
static void write_history(struct top_lines *lines, const struct past_run *run)
{
    static const char *const marks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                        "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const plain[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    enum { LEVELS = sizeof(marks) / sizeof(*marks), WORDS = 30 };
    char bar[3 * PAST_STEPS + 1] = "", least[TIME_TEXT], most[TIME_TEXT];
    uint64_t low = UINT64_MAX, high = 0;
    if (!run || run->taken < 2) return;
    uint32_t count = run->taken < PAST_STEPS ? run->taken : PAST_STEPS;
    uint32_t room = lines->width > TOP_LABEL + WORDS + 1 ? lines->width - TOP_LABEL - WORDS : 1;
    if (count > room) count = room;
    for (uint32_t i = run->taken - count; i != run->taken; i++) {
        uint64_t ns = run->step_ns[i % PAST_STEPS];
        if (ns < low) low = ns;
        if (ns > high) high = ns;
    }
    for (uint32_t i = run->taken - count; i != run->taken; i++) {
        double over = (double)(run->step_ns[i % PAST_STEPS] - low), span = (double)(high - low);
        unsigned level = span * 20 < (double)high ? 0 : (unsigned)(over / span * (LEVELS - 1) + 0.5);
        strcat(bar, (lines->unicode ? marks : plain)[level]);
    }
    top_line(lines, STYLE_NONE, "  steps   %s %s to %s", bar, time_text(low, least), time_text(high, most));
}

void top_write_device(struct top_lines *lines, const struct runs *runs,
                      const struct sl_monitor_record *record, uint32_t device)
{
    const struct sl_stats *f = &record->figures[device];
    write_title(lines, runs, record, device);
    write_memory(lines, f);
    write_step(lines, f);
    write_history(lines, past_of(&runs->past, record->process, record->numbers[device]));
    write_link(lines, f, true);
    write_link(lines, f, false);
    write_movers(lines, f);
    write_plan(lines, runs->looked_ns, f);
    write_host(lines, f);
}

void top_lines_free(struct top_lines *lines)
{
    free(lines->all);
    *lines = (struct top_lines){0};
}
