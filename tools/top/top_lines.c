/* The lines that `sluice top` shows. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "tools/text/table.h"
#include "tools/top/top.h"

#define STALE_NS UINT64_C(2000000000) /* figures older than that are called old: the program may wait */
enum { LABEL = 10, MOST_BAR = 60 };

__attribute__((format(printf, 3, 4))) static void line(struct top_lines *lines, enum terminal_style style,
                                                       const char *format, ...)
{
    va_list arguments;
    if (!sl_grow(&lines->all, &lines->room, lines->count, sizeof(*lines->all))) return;
    struct top_line *next = &lines->all[lines->count++];
    next->style = style;
    va_start(arguments, format);
    vsnprintf(next->text, sizeof(next->text), format, arguments);
    va_end(arguments);
    next->text[text_prefix(next->text, strlen(next->text))] = 0; /* it may end within a character */
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
    line(lines, STYLE_BOLD, "%s, process %" PRIu64 "%s%s%s: policy %s, daemon %s%s", record->program,
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

static void write_kinds(struct top_lines *lines, const struct sl_stats *f, bool unicode)
{
    char device[SL_BYTES_TEXT], host[SL_BYTES_TEXT], empty[SL_BYTES_TEXT], all[SL_BYTES_TEXT];
    line(lines, STYLE_DIM, "          %-11s %12s %12s %12s %12s", "", "on device", "host only", "no content",
         "allocated");
    for (int k = 0; k < SL_KINDS; k++) {
        const struct sl_kind_bytes *kind = &f->kinds[k];
        if (!kind->allocated_bytes) continue;
        line(lines, STYLE_NONE, "          %s %-9s %12s %12s %12s %12s",
             unicode ? looks[k].mark : looks[k].ascii, looks[k].name,
             sl_bytes_text(kind->resident_bytes, device), sl_bytes_text(kind->host_bytes, host),
             sl_bytes_text(kind->empty_bytes, empty), sl_bytes_text(kind->allocated_bytes, all));
    }
    line(lines, STYLE_NONE, "          %s %-9s %12s", unicode ? looks[SL_KINDS].mark : looks[SL_KINDS].ascii,
         looks[SL_KINDS].name, sl_bytes_text(f->unallocated_bytes, device));
}

static void write_memory(struct top_lines *lines, const struct sl_stats *f, unsigned width, bool unicode)
{
    char resident[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], need[SL_BYTES_TEXT], bar[4 * MOST_BAR] = "";
    char taken[SL_BYTES_TEXT], lost[SL_BYTES_TEXT];
    uint64_t rest = f->occupied_bytes;
    unsigned columns = width < LABEL + MOST_BAR + 2 ? width - LABEL - 2 : MOST_BAR, used = 0;
    for (int k = 0; k < SL_KINDS && f->scanned_ns; k++) {
        uint64_t part = f->kinds[k].resident_bytes < rest ? f->kinds[k].resident_bytes : rest;
        rest -= part;
        used += add_marks(bar, sizeof(bar), columns, used, part, f->budget_now_bytes,
                          unicode ? looks[k].mark : looks[k].ascii);
    }
    used += add_marks(bar, sizeof(bar), columns, used, rest, f->budget_now_bytes,
                      unicode ? looks[SL_KINDS].mark : looks[SL_KINDS].ascii);
    while (used < columns && strlen(bar) + 1 < sizeof(bar)) used++, strcat(bar, " ");
    line(lines, STYLE_NONE, "  memory  [%s]", bar);
    line(lines, STYLE_NONE, "          %s resident of a budget of %s; the program needs %s",
         sl_bytes_text(f->occupied_bytes, resident), sl_bytes_text(f->budget_now_bytes, budget),
         sl_bytes_text(f->need_bytes, need));
    if (f->taken_bytes || f->lost_bytes)
        line(lines, STYLE_NONE, "          no more in the budget: %s taken past sluice, %s taken by others",
             sl_bytes_text(f->taken_bytes, taken), sl_bytes_text(f->lost_bytes, lost));
    if (f->scanned_ns) write_kinds(lines, f, unicode);
}

/* Stalls are on the device's clock, so only a step by that clock has parts. */
static void write_step(struct top_lines *lines, const struct sl_stats *f)
{
    char host[TIME_TEXT], device[TIME_TEXT], stall[TIME_TEXT], other[TIME_TEXT];
    if (!run_has_step(f)) {
        line(lines, STYLE_DIM, "  step    none ended yet; %" PRIu64 " launches so far", f->total.launches);
        return;
    }
    line(lines, STYLE_NONE, "  step    %s, %.3g a second, number %" PRIu64 ", %" PRIu64 " launches%s",
         time_text(f->step_time_ns, host), 1e9 / (double)f->step_time_ns, f->steps, f->step.launches,
         f->step.stalls ? "" : "; no stalls");
    if (!f->step.stalls) return;
    if (!f->device_step_ns) {
        line(lines, STYLE_NONE, "          %" PRIu64 " stalls: %s on the device", f->step.stalls,
             time_text(f->step.stall_ns, stall));
        return;
    }
    if (f->device_stall_ns > f->device_step_ns) { /* several streams waited at once */
        line(lines, STYLE_YELLOW, "          by the device's clock %s; its streams stalled for %s together",
             time_text(f->device_step_ns, device), time_text(f->device_stall_ns, stall));
        return;
    }
    double stalled = 100.0 * (double)f->device_stall_ns / (double)f->device_step_ns;
    line(lines, stalled > 10 ? STYLE_YELLOW : STYLE_NONE,
         "          by the device's clock %s: %s stalled (%.1f %%), %s not",
         time_text(f->device_step_ns, device), time_text(f->device_stall_ns, stall), stalled,
         time_text(run_other_ns(f), other));
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
    const _Atomic uint64_t *by_cause = in ? sums->bytes_in : sums->bytes_out;
    uint64_t ceiling = in ? f->link_in_bytes_per_s : f->link_out_bytes_per_s;
    char speed[SL_BYTES_TEXT], most[SL_BYTES_TEXT], causes[4 * SL_BYTES_TEXT];
    double rate = run_speed(f, by_cause);
    list_causes(by_cause, causes, sizeof(causes));
    if (run_has_step(f))
        line(lines, STYLE_NONE, "  %s %s/s of %s/s (%.0f %%); a step: %s", in ? "in     " : "out    ",
             sl_bytes_text((uint64_t)rate, speed), sl_bytes_text(ceiling, most),
             ceiling ? 100 * rate / (double)ceiling : 0.0, causes);
    else
        line(lines, STYLE_NONE, "  %s at most %s/s; so far: %s", in ? "in     " : "out    ",
             sl_bytes_text(ceiling, most), causes);
}

static void write_movers(struct top_lines *lines, const struct sl_stats *f)
{
    char moving[SL_MOVING_TEXT];
    if (sl_stats_moving_text(f, moving)) line(lines, STYLE_NONE, "  movers  %s", moving);
}

static void write_plan(struct top_lines *lines, uint64_t looked_ns, const struct sl_stats *f)
{
    char age[TIME_TEXT + 8] = "", time[TIME_TEXT];
    if (f->plan_taken_ns)
        snprintf(age, sizeof(age), " for %s", time_text(f->updated_ns - f->plan_taken_ns, time));
    line(lines, f->plan_state == SL_PLAN_STATE_DEVIATED ? STYLE_YELLOW : STYLE_NONE,
         "  plan    %s%s; %" PRIu64 " made; %.1f %% of %" PRIu64 " events predicted", run_plan_text(f), age,
         f->plans, f->fed ? 100.0 * (double)f->predicted / (double)f->fed : 0.0, f->fed);
    line(lines, f->step.demand_misses + f->step.late_prefetches ? STYLE_YELLOW : STYLE_NONE,
         "  misses  last step: %" PRIu64 " demand, %" PRIu64 " late, %" PRIu64
         " mispredictions; so far: %" PRIu64 ", %" PRIu64 ", %" PRIu64,
         f->step.demand_misses, f->step.late_prefetches, f->step.mispredictions, f->total.demand_misses,
         f->total.late_prefetches, f->total.mispredictions);
    if (f->oversize_launches)
        line(lines, STYLE_YELLOW, "          %" PRIu64 " launches needed more than the budget",
             f->oversize_launches);
    if (!f->mispredicted_ns) return;
    if (looked_ns > f->mispredicted_ns)
        line(lines, STYLE_DIM, "          %s ago came %s", time_text(looked_ns - f->mispredicted_ns, time),
             f->came);
    else
        line(lines, STYLE_DIM, "          just now came %s", f->came);
    line(lines, STYLE_DIM, "          expected was %s", f->expected);
}

static void write_host(struct top_lines *lines, const struct sl_stats *f)
{
    char host[SL_BYTES_TEXT], most[SL_BYTES_TEXT], pinned[SL_BYTES_TEXT];
    line(lines, STYLE_NONE, "  host    %s of %s, %s of it pinned", sl_bytes_text(f->host_bytes, host),
         sl_bytes_text(f->host_limit_bytes, most), sl_bytes_text(f->pinned_live_bytes, pinned));
}

void top_write_lines(struct top_lines *lines, const struct runs *runs, unsigned width, bool unicode)
{
    lines->count = 0;
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t d = 0; d < runs->all[r].devices; d++) {
            const struct sl_stats *f = &runs->all[r].figures[d];
            if (lines->count) line(lines, STYLE_NONE, "%s", "");
            write_title(lines, runs, &runs->all[r], d);
            write_memory(lines, f, width, unicode);
            write_step(lines, f);
            write_link(lines, f, true);
            write_link(lines, f, false);
            write_movers(lines, f);
            write_plan(lines, runs->looked_ns, f);
            write_host(lines, f);
        }
    if (runs->others)
        line(lines, STYLE_YELLOW, "%" PRIu32 " program%s by another version of sluice, whose top shows %s",
             runs->others, runs->others == 1 ? " is managed" : "s are managed",
             runs->others == 1 ? "it" : "them");
}

void top_lines_free(struct top_lines *lines)
{
    free(lines->all);
    *lines = (struct top_lines){0};
}
