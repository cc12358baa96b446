/* How the lines of `sluice top` are arranged: a line for each program, and the figures of each below, in two
 * columns where there is room. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "tools/text/table.h"
#include "tools/top/top_lines.h"

enum {
    TWO_COLUMNS = 150, /* from this width on */
    BETWEEN = 3,
    PLAN_FROM = 76, /* the width from which the lines of programs have a plan, and one more, speeds */
    SPEEDS_FROM = 100,
    CELL = 16,
};

/* --- a line for each program */

static void write_row(struct top_lines *lines, enum terminal_style style, const char *process,
                      const char *program, const char *const cells[7])
{
    char more[4 * CELL] = "";
    if (lines->width >= PLAN_FROM) snprintf(more, sizeof(more), " %-14.14s", cells[4]);
    if (lines->width >= SPEEDS_FROM)
        snprintf(more, sizeof(more), " %10s %10s  %-14.14s", cells[5], cells[6], cells[4]);
    top_line(lines, style, "%8s %-11.11s %9s %9s %9s %7s%s", process, program, cells[0], cells[1], cells[2],
             cells[3], more);
}

static void write_running(struct top_lines *lines, const struct sl_monitor_record *record, uint32_t device)
{
    const struct sl_stats *f = &record->figures[device];
    char process[CELL], program[2 * CELL], budget[SL_BYTES_TEXT], need[SL_BYTES_TEXT], step[TIME_TEXT] = "-";
    char stalled[CELL] = "-", in[TOP_SPEED], out[TOP_SPEED];
    snprintf(process, sizeof(process), "%" PRIu64, record->process);
    if (record->rank[0])
        snprintf(program, sizeof(program), "%.7s %.8s", record->program, record->rank);
    else if (record->devices > 1)
        snprintf(program, sizeof(program), "%.8s/%" PRIu32, record->program, record->numbers[device]);
    else
        snprintf(program, sizeof(program), "%.31s", record->program);
    uint64_t step_ns = past_step_ns(f);
    if (step_ns) time_text(step_ns, step);
    if (step_ns && !f->step.stalls)
        snprintf(stalled, sizeof(stalled), "0 %%");
    else if (f->device_step_ns) /* streams that stall at once stall longer than the step */
        snprintf(stalled, sizeof(stalled), "%.0f %%",
                 100.0 - 100.0 * (double)run_other_ns(f) / (double)f->device_step_ns);
    write_row(lines, STYLE_NONE, process, program,
              (const char *const[]){sl_bytes_text(f->budget_now_bytes, budget),
                                    sl_bytes_text(f->need_bytes, need), step, stalled, run_plan_text(f),
                                    top_speed_text(run_speed(f, true), in),
                                    top_speed_text(run_speed(f, false), out)});
}

static void write_ended(struct top_lines *lines, const struct past_run *run, uint64_t now_ns)
{
    char need[SL_BYTES_TEXT], ago[TIME_TEXT + 4] = "just now", rank[CELL + 8] = "";
    uint64_t ns = now_ns - run->ended_ns;
    if (run->rank[0]) snprintf(rank, sizeof(rank), ", rank %s", run->rank);
    if (ns >= 1000000000) strcat(strcpy(ago, time_text(ns, (char[TIME_TEXT]){0})), " ago");
    top_line(lines, STYLE_DIM, "%8" PRIu64 " %s%s ended %s, after %" PRIu64 " steps; it needed %s",
             run->process, run->program, rank, ago, run->steps, sl_bytes_text(run->need_bytes, need));
}

static uint32_t count_devices(const struct runs *runs)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < runs->count; r++) count += runs->all[r].devices;
    return count;
}

static void write_overview(struct top_lines *lines, const struct runs *runs)
{
    uint32_t devices = count_devices(runs), ended = past_ended(&runs->past);
    if (devices > 1) {
        write_row(lines, STYLE_DIM, "process", "program",
                  (const char *const[]){"budget", "need", "step", "stalled", "plan", "in", "out"});
        for (uint32_t r = 0; r < runs->count; r++)
            for (uint32_t d = 0; d < runs->all[r].devices; d++) write_running(lines, &runs->all[r], d);
    }
    for (uint32_t i = 0; i < runs->past.count; i++)
        if (runs->past.all[i].ended_ns) write_ended(lines, &runs->past.all[i], runs->looked_ns);
    if (devices && (devices > 1 || ended)) top_line(lines, STYLE_NONE, "%s", "");
}

/* --- columns */

/* Appends the lines of both side by side. */
static void merge(struct top_lines *lines, const struct top_lines *left, const struct top_lines *right)
{
    for (uint32_t i = 0; i < left->count || i < right->count; i++) {
        if (!sl_grow(&lines->all, &lines->room, lines->count, sizeof(*lines->all))) return;
        struct top_line *next = &lines->all[lines->count++];
        *next = i < left->count ? left->all[i] : (struct top_line){0};
        if (i >= right->count) continue;
        next->right_style = right->all[i].style;
        next->right_at = left->width + BETWEEN;
        memcpy(next->right, right->all[i].text, sizeof(next->right));
    }
}

static void write_devices(struct top_lines *lines, const struct runs *runs)
{
    bool two = lines->width >= TWO_COLUMNS && count_devices(runs) > 1, first = true;
    unsigned width = two ? (lines->width - BETWEEN) / 2 : lines->width;
    struct top_lines sides[2] = {{.width = width, .unicode = lines->unicode},
                                 {.width = width, .unicode = lines->unicode}};
    unsigned side = 0;
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t d = 0; d < runs->all[r].devices; d++) {
            if (!first && !side) top_line(lines, STYLE_NONE, "%s", "");
            first = false;
            top_write_device(&sides[side], runs, &runs->all[r], d);
            side = two && !side;
            if (side) continue;
            merge(lines, &sides[0], &sides[1]);
            sides[0].count = sides[1].count = 0;
        }
    merge(lines, &sides[0], &sides[1]);
    top_lines_free(&sides[0]);
    top_lines_free(&sides[1]);
}

void top_write_lines(struct top_lines *lines, const struct runs *runs, unsigned width, bool unicode)
{
    lines->count = 0;
    lines->width = width;
    lines->unicode = unicode;
    write_overview(lines, runs);
    write_devices(lines, runs);
    if (runs->others)
        top_line(lines, STYLE_YELLOW,
                 "%" PRIu32 " program%s by another version of sluice, whose top shows %s", runs->others,
                 runs->others == 1 ? " is managed" : "s are managed", runs->others == 1 ? "it" : "them");
}

void top_write_keys(struct top_lines *lines, unsigned width)
{
    lines->count = 0;
    lines->width = width;
    top_write_help(lines);
}
