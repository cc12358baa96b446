#include "tools/top/past.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

uint64_t past_step_ns(const struct sl_stats *figures)
{
    return figures->device_step_ns ? figures->device_step_ns : figures->step_time_ns;
}

static struct past_run *find(const struct past *past, uint64_t process, uint32_t device)
{
    for (uint32_t i = 0; i < past->count; i++)
        if (past->all[i].process == process && past->all[i].device == device) return &past->all[i];
    return NULL;
}

const struct past_run *past_of(const struct past *past, uint64_t process, uint32_t device)
{
    return find(past, process, device);
}

/* The place of the device, new or known. NULL: out of memory. */
static struct past_run *place_of(struct past *past, const struct sl_monitor_record *record, uint32_t device)
{
    struct past_run *run = find(past, record->process, device);
    bool is_same = run && !run->ended_ns && !strcmp(run->program, record->program);
    if (!run) {
        if (!sl_grow(&past->all, &past->room, past->count, sizeof(*past->all))) return NULL;
        run = &past->all[past->count++];
    }
    if (is_same) return run;
    *run = (struct past_run){.process = record->process, .device = device};
    memcpy(run->program, record->program, sizeof(run->program));
    memcpy(run->rank, record->rank, sizeof(run->rank));
    return run;
}

static void note(struct past_run *run, const struct sl_stats *figures)
{
    uint64_t step_ns = past_step_ns(figures);
    bool by_device = figures->device_step_ns != 0;
    if (by_device != run->by_device) run->taken = 0; /* another clock: what was noted does not compare */
    run->by_device = by_device;
    if (step_ns && figures->steps != run->steps) run->step_ns[run->taken++ % PAST_STEPS] = step_ns;
    run->steps = figures->steps;
    run->need_bytes = figures->need_bytes;
    run->seen = true;
}

/* Notes which runs are gone, and forgets those that are gone for long. */
static void note_ends(struct past *past, uint64_t now_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < past->count; i++) {
        struct past_run *run = &past->all[i];
        if (!run->seen && !run->ended_ns) run->ended_ns = now_ns;
        if (run->ended_ns && now_ns - run->ended_ns > PAST_SHOWN_NS) continue;
        if (kept != i) past->all[kept] = *run;
        kept++;
    }
    past->count = kept;
}

void past_note(struct past *past, const struct sl_monitor_record *records, uint32_t count, uint64_t now_ns)
{
    for (uint32_t i = 0; i < past->count; i++) past->all[i].seen = false;
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t d = 0; d < records[r].devices; d++) {
            struct past_run *run = place_of(past, &records[r], records[r].numbers[d]);
            if (run) note(run, &records[r].figures[d]);
        }
    note_ends(past, now_ns);
}

uint32_t past_ended(const struct past *past)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; i < past->count; i++) ended += past->all[i].ended_ns != 0;
    return ended;
}

void past_free(struct past *past)
{
    free(past->all);
    *past = (struct past){0};
}
