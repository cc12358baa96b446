#include "tools/analyses/check.h"

#include <stdlib.h>

#include "base/map.h"

struct place {
    bool known;
    uint64_t tick, offset;
};

/* The counts of one slot, one kernel, or one launch that others refer to. */
struct entry {
    uint64_t count, others;
    bool there;
    struct place first; /* first record that counts */
    struct place over;  /* of a slot: the first surplus free, */
    struct place under; /* and the first surplus allocation */
};

struct entries {
    struct sl_map of; /* number + 1 -> index */
    struct entry *at;
    size_t count, room;
};

struct checker {
    struct check *out;
    struct entries sets;  /* by the tick of the launch with the accesses. count: launches that refer to it */
    struct entries slots; /* count: frees; others: allocations */
    struct entries kernels; /* count: launches */
    struct entries threads; /* first.tick: of its last launch */
    uint64_t block_offset;
    bool no_memory;
};

static struct entry *entry_of(struct checker *checker, struct entries *entries, uint64_t number)
{
    static struct entry none;
    uint32_t index = sl_map_get(&entries->of, number + 1);
    if (index != SL_NONE) return &entries->at[index];
    if (entries->count == entries->room) {
        size_t room = 2 * entries->room + 64;
        struct entry *grown = realloc(entries->at, room * sizeof(*grown));
        if (!grown) goto no_memory;
        entries->at = grown;
        entries->room = room;
    }
    /* a map cannot have the key 0: that number is never found */
    if (number + 1 && !sl_map_put(&entries->of, number + 1, (uint32_t)entries->count)) goto no_memory;
    entries->at[entries->count] = (struct entry){0};
    return &entries->at[entries->count++];
no_memory:
    checker->no_memory = true;
    none = (struct entry){0};
    return &none;
}

static void note(struct place *place, const struct sl_trace_record *record)
{
    if (!place->known) *place = (struct place){true, record->event.tick, record->offset};
}

static void count(struct entry *entry, const struct sl_trace_record *record)
{
    entry->count++;
    note(&entry->first, record);
}

static void add_lack(struct check *check, enum check_lack_kind kind, uint64_t amount,
                     const struct place *place)
{
    struct check_lack *lack = &check->lacks[kind];
    if (!lack->count || place->offset < lack->offset) {
        lack->tick = place->tick;
        lack->offset = place->offset;
    }
    lack->count += amount;
}

static void add_launch(struct checker *checker, const struct sl_trace_record *record)
{
    const struct sl_event *event = &record->event;
    checker->out->launches++;
    if (event->tick > checker->out->last_tick) checker->out->last_tick = event->tick;
    entry_of(checker, &checker->threads, record->thread)->first.tick = event->tick;
    if (event->d) count(entry_of(checker, &checker->sets, event->d), record);
    if ((event->flags & 15) == SL_LAUNCH_KERNEL && event->id)
        count(entry_of(checker, &checker->kernels, event->id), record);
}

/* An access record follows its launch's record in the order of their thread. */
static void add_access(struct checker *checker, const struct sl_trace_record *record)
{
    const struct sl_event *event = &record->event;
    entry_of(checker, &checker->sets, event->tick)->there = true;
    struct place place = {true, event->tick, record->offset};
    if (entry_of(checker, &checker->threads, record->thread)->first.tick != event->tick)
        add_lack(checker->out, LACK_LAUNCHES, 1, &place);
}

/* An allocation that is written again (`there`) may not be a new one. */
static void add_allocation(struct checker *checker, const struct sl_trace_record *record)
{
    struct entry *slot = entry_of(checker, &checker->slots, record->event.id);
    slot->others++;
    if (record->event.flags & 1) slot->there = true;
    if (slot->others > slot->count + 1) note(&slot->under, record);
}

static void add_free(struct checker *checker, const struct sl_trace_record *record)
{
    struct entry *slot = entry_of(checker, &checker->slots, record->event.id);
    slot->count++;
    if (slot->count > slot->others) note(&slot->over, record);
}

static void add_gap(struct checker *checker, const struct sl_event *event)
{
    struct check *out = checker->out;
    switch (event->flags) {
    case SL_GAP_LIMIT:
        out->overwritten += event->a;
        break;
    case SL_GAP_DAMAGE:
        out->damaged += event->a;
        if (out->damage_count) out->damages[out->damage_count - 1].lost = event->a;
        break;
    default:
        out->gaps++;
        out->unwritten += event->a;
        break;
    }
}

static void add(struct checker *checker, const struct sl_trace_record *record)
{
    const struct sl_event *event = &record->event;
    if (event->type == SL_EVENT_GAP) add_gap(checker, event);
    bool told_by_reader = event->type == SL_EVENT_GAP && event->flags;
    if (told_by_reader) return;
    if (!checker->out->records++ || record->offset != checker->block_offset) checker->out->blocks++;
    checker->block_offset = record->offset;
    entry_of(checker, &checker->threads, record->thread)->there = true;
    switch (event->type) {
    case SL_EVENT_LAUNCH:
        add_launch(checker, record);
        break;
    case SL_EVENT_ACCESS:
        add_access(checker, record);
        break;
    case SL_EVENT_KERNEL:
        entry_of(checker, &checker->kernels, event->id)->there = true;
        break;
    case SL_EVENT_ALLOC:
        add_allocation(checker, record);
        break;
    case SL_EVENT_FREE:
        add_free(checker, record);
        break;
    default:
        break;
    }
}

/* Records of different threads are not sorted by time, so only at the end is it known which are missing. */
static void find_lacks(struct checker *checker)
{
    struct check *out = checker->out;
    for (size_t i = 0; i < checker->sets.count; i++) {
        const struct entry *set = &checker->sets.at[i];
        if (!set->there) add_lack(out, LACK_ACCESSES, set->count, &set->first);
    }
    for (size_t i = 0; i < checker->kernels.count; i++) {
        const struct entry *kernel = &checker->kernels.at[i];
        if (!kernel->there) add_lack(out, LACK_NAMES, kernel->count, &kernel->first);
    }
    for (size_t i = 0; i < checker->slots.count; i++) {
        const struct entry *slot = &checker->slots.at[i];
        if (slot->count > slot->others)
            add_lack(out, LACK_ALLOCATIONS, slot->count - slot->others, &slot->over);
        else if (slot->others > slot->count + 1 && !slot->there)
            add_lack(out, LACK_FREES, slot->others - slot->count - 1, &slot->under);
    }
    for (size_t i = 0; i < checker->threads.count; i++) out->threads += checker->threads.at[i].there;
}

static bool add_damage(struct checker *checker, const struct sl_trace_problem *problem, uint64_t tick)
{
    struct check *out = checker->out;
    if (out->damage_count == out->damage_room) {
        size_t room = 2 * out->damage_room + 16;
        struct check_damage *grown = realloc(out->damages, room * sizeof(*grown));
        if (!grown) return false;
        out->damages = grown;
        out->damage_room = room;
    }
    out->damages[out->damage_count++] = (struct check_damage){.problem = *problem, .tick = tick};
    return true;
}

/* The first record after damage, or the reader's report of the lost records. */
static void note_resumed(struct check *check, const struct sl_trace_record *record, bool *first)
{
    struct check_damage *damage = &check->damages[check->damage_count - 1];
    damage->goes_on = true;
    damage->next_offset = record->offset;
    damage->next_tick = record->event.tick;
    *first = record->event.type == SL_EVENT_GAP && record->event.flags;
}

static bool read_all(struct checker *checker, struct sl_trace_reader *reader, struct progress *progress)
{
    struct check *out = checker->out;
    const struct sl_trace_problem *problem = sl_trace_reader_problem(reader);
    struct sl_trace_record record;
    uint64_t tick = 0;
    for (bool first = false;; first = true) {
        while (!checker->no_memory && sl_trace_reader_next(reader, &record)) {
            progress_at(progress, record.offset);
            if (first) note_resumed(out, &record, &first);
            add(checker, &record);
            tick = record.event.tick;
        }
        if (checker->no_memory) return false;
        if (problem->status != SL_ERR_FORMAT) break;
        if (!add_damage(checker, problem, tick)) return false;
        if (!sl_trace_reader_resume(reader)) break;
    }
    out->end = *problem;
    return true;
}

static void free_entries(struct entries *entries)
{
    sl_map_free(&entries->of);
    free(entries->at);
}

bool check_trace(struct sl_trace_reader *reader, struct progress *progress, struct check *out)
{
    *out = (struct check){0};
    struct checker checker = {.out = out};
    bool good = read_all(&checker, reader, progress);
    if (good) find_lacks(&checker);
    free_entries(&checker.sets);
    free_entries(&checker.slots);
    free_entries(&checker.kernels);
    free_entries(&checker.threads);
    return good;
}

void check_free(struct check *check)
{
    free(check->damages);
    *check = (struct check){0};
}

bool check_is_whole(const struct check *check)
{
    if (check->damage_count || check->end.status != SL_OK) return false;
    if (check->unwritten || check->overwritten) return true;
    for (unsigned kind = 0; kind < LACK_KINDS; kind++)
        if (check->lacks[kind].count) return false;
    return true;
}
