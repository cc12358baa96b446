/* The lines that `sluice top` shows. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
    const struct sl_monitor_figures *f = &record->figures[device];
    char rank[32] = "", number[32] = "", old[TIME_TEXT + 16] = "", time[TIME_TEXT];
    uint64_t old_ns = runs->looked_ns > f->updated ? runs->looked_ns - f->updated : 0;
    if (record->rank[0]) snprintf(rank, sizeof(rank), ", rank %.15s", record->rank);
    if (record->devices > 1) snprintf(number, sizeof(number), ", device %" PRIu32, record->numbers[device]);
    if (old_ns > STALE_NS) snprintf(old, sizeof(old), ", %s without a launch", time_text(old_ns, time));
    line(lines, STYLE_BOLD, "%s, process %" PRIu64 "%s%s: policy %s, daemon %s%s", record->program,
         record->process, rank, number, f->policy, f->daemon, old);
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

static void write_memory(struct top_lines *lines, const struct sl_monitor_figures *f, unsigned width,
                         bool unicode)
{
    char resident[SL_BYTES_TEXT], budget[SL_BYTES_TEXT], need[SL_BYTES_TEXT], bar[4 * MOST_BAR] = "";
    char lasting[SL_BYTES_TEXT], all_lasting[SL_BYTES_TEXT], temporary[SL_BYTES_TEXT],
        all_temporary[SL_BYTES_TEXT], rest[SL_BYTES_TEXT];
    uint64_t known = f->scanned ? f->lasting_resident_bytes + f->temporary_resident_bytes : 0;
    uint64_t other = f->resident_bytes > known ? f->resident_bytes - known : 0;
    unsigned columns = width < LABEL + MOST_BAR + 2 ? width - LABEL - 2 : MOST_BAR, used = 0;
    if (f->scanned) {
        used += add_marks(bar, sizeof(bar), columns, used, f->lasting_resident_bytes, f->budget_bytes,
                          unicode ? "█" : "#");
        used += add_marks(bar, sizeof(bar), columns, used, f->temporary_resident_bytes, f->budget_bytes,
                          unicode ? "▒" : "+");
    }
    used += add_marks(bar, sizeof(bar), columns, used, other, f->budget_bytes, unicode ? "░" : "-");
    while (used < columns && strlen(bar) + 1 < sizeof(bar)) used++, strcat(bar, " ");
    line(lines, STYLE_NONE, "  memory  [%s]", bar);
    line(lines, STYLE_NONE, "          %s resident of a budget of %s; the program needs %s",
         sl_bytes_text(f->resident_bytes, resident), sl_bytes_text(f->budget_bytes, budget),
         sl_bytes_text(f->need_bytes, need));
    if (!f->scanned) return;
    line(lines, STYLE_NONE, "          %s lasting %s of %s", unicode ? "█" : "#",
         sl_bytes_text(f->lasting_resident_bytes, lasting), sl_bytes_text(f->lasting_bytes, all_lasting));
    line(lines, STYLE_NONE, "          %s temporary %s of %s; %s dead or unused %s", unicode ? "▒" : "+",
         sl_bytes_text(f->temporary_resident_bytes, temporary),
         sl_bytes_text(f->temporary_bytes, all_temporary), unicode ? "░" : "-", sl_bytes_text(other, rest));
}

static void write_step(struct top_lines *lines, const struct sl_monitor_figures *f)
{
    char step[TIME_TEXT], stall[TIME_TEXT];
    if (!run_has_step(f)) {
        line(lines, STYLE_DIM, "  step    none ended yet; %" PRIu64 " launches so far", f->total.launches);
        return;
    }
    double stalled = 100.0 * (double)f->step.stall_ns / (double)f->step_time;
    line(lines, stalled > 10 ? STYLE_YELLOW : STYLE_NONE,
         "  step    %s, %.3g a second, number %" PRIu64 ": %s stalled (%.1f %%), %" PRIu64 " launches",
         time_text(f->step_time, step), 1e9 / (double)f->step_time, f->steps,
         time_text(f->step.stall_ns, stall), stalled, f->step.launches);
}

/* "plan 40 MiB, late 2 MiB": the causes that copied anything. */
static void list_causes(const uint64_t by_cause[3], char *out, size_t room)
{
    static const char *const causes[] = {"plan", "demand", "late"};
    char bytes[SL_BYTES_TEXT];
    out[0] = 0;
    for (int c = 0; c < 3; c++) {
        size_t used = strlen(out);
        if (by_cause[c])
            snprintf(out + used, room - used, "%s%s %s", used ? ", " : "", causes[c],
                     sl_bytes_text(by_cause[c], bytes));
    }
    if (!out[0]) snprintf(out, room, "nothing");
}

static void write_link(struct top_lines *lines, const struct sl_monitor_figures *f, bool in)
{
    const struct sl_monitor_sums *sums = run_has_step(f) ? &f->step : &f->total;
    const uint64_t *by_cause = in ? sums->in_bytes : sums->out_bytes;
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

static void write_plan(struct top_lines *lines, const struct sl_monitor_figures *f)
{
    char age[TIME_TEXT + 8] = "", time[TIME_TEXT];
    if (f->plan_taken) snprintf(age, sizeof(age), " for %s", time_text(f->updated - f->plan_taken, time));
    line(lines, f->plan == SL_MONITOR_DEVIATED ? STYLE_YELLOW : STYLE_NONE,
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
    if (!f->mispredicted) return;
    line(lines, STYLE_DIM, "          %s ago came %s", time_text(f->updated - f->mispredicted, time),
         f->came);
    line(lines, STYLE_DIM, "          expected was %s", f->expected);
}

static void write_host(struct top_lines *lines, const struct sl_monitor_figures *f)
{
    char host[SL_BYTES_TEXT], most[SL_BYTES_TEXT], pinned[SL_BYTES_TEXT];
    line(lines, STYLE_NONE, "  host    %s of %s, %s of it pinned", sl_bytes_text(f->host_bytes, host),
         sl_bytes_text(f->host_limit_bytes, most), sl_bytes_text(f->pinned_bytes, pinned));
}

void top_write_lines(struct top_lines *lines, const struct runs *runs, unsigned width, bool unicode)
{
    lines->count = 0;
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t d = 0; d < runs->all[r].devices; d++) {
            const struct sl_monitor_figures *f = &runs->all[r].figures[d];
            if (lines->count) line(lines, STYLE_NONE, "%s", "");
            write_title(lines, runs, &runs->all[r], d);
            write_memory(lines, f, width, unicode);
            write_step(lines, f);
            write_link(lines, f, true);
            write_link(lines, f, false);
            write_plan(lines, f);
            write_host(lines, f);
        }
}

void top_lines_free(struct top_lines *lines)
{
    free(lines->all);
    *lines = (struct top_lines){0};
}
