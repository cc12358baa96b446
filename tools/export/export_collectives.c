/* The collectives of one of several ranks, and its waits for the other ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/export/export_tracks.h"
#include "tools/model/sorted.h"

struct place {
    uint64_t arrived_ns;
    const struct meeting_entry *entry;
};

struct drawing {
    struct exporter *exporter;
    struct lanes collectives, waits;
};

static uint64_t later(uint64_t ns, uint64_t by_ns)
{
    return by_ns < UINT64_MAX - ns ? ns + by_ns : UINT64_MAX;
}

/* The collective's meeting with other ranks, or NULL. */
static const struct meeting *meeting_of(const struct exporter *exporter, const struct meeting_entry *entry)
{
    if (entry->meeting == MEETING_NONE) return NULL;
    const struct meeting *meeting = &exporter->job->meetings->at[entry->meeting];
    return meeting->count > 1 ? meeting : NULL;
}

static void put_collective(struct drawing *drawing, const struct place *place)
{
    const struct meeting_entry *entry = place->entry;
    bool met = meeting_of(drawing->exporter, entry);
    struct track_note notes[] = {{"tick", .number = entry->tick},
                                 {"bytes", .number = entry->bytes},
                                 {"communicator", .number = entry->communicator, .address = true},
                                 {"length", .text = entry->timed ? "measured" : "unknown"}};
    struct track_event slice = {.name = collective_name(entry->function),
                                .category = "collective",
                                .begin_ns = place->arrived_ns,
                                .end_ns = later(place->arrived_ns, entry->timed ? entry->took_ns : 0),
                                .notes = notes,
                                .note_count = sizeof(notes) / sizeof(*notes),
                                .flow = met ? sl_mix(entry->meeting + 1) : 0};
    export_slice(drawing->exporter, &drawing->collectives, &slice);
}

/* A slice from the arrival of this rank to that of the last one. */
static void put_wait(struct drawing *drawing, const struct place *place)
{
    const struct exporter *exporter = drawing->exporter;
    const struct meeting_entry *entry = place->entry;
    const struct meeting *meeting = meeting_of(exporter, entry);
    uint32_t rank;
    const struct meeting_entry *last = meeting ? meeting_last(exporter->job->meetings, meeting, &rank) : NULL;
    if (!last || !entry->timed || entry->took_ns <= last->took_ns) return;
    char name[32];
    snprintf(name, sizeof(name), "for rank %" PRIu32, exporter->job->ranks[rank].number);
    struct track_note notes[] = {{"tick", .number = entry->tick},
                                 {"collective", .text = collective_name(entry->function)},
                                 {"its_tick", .number = last->tick}};
    struct track_event slice = {.name = name,
                                .category = "wait",
                                .begin_ns = place->arrived_ns,
                                .end_ns = later(place->arrived_ns, entry->took_ns - last->took_ns),
                                .notes = notes,
                                .note_count = sizeof(notes) / sizeof(*notes)};
    export_slice(drawing->exporter, &drawing->waits, &slice);
}

bool export_collectives(struct exporter *exporter)
{
    const struct meeting_rank *rank = &exporter->job->meetings->ranks[exporter->rank];
    const struct clock *clock = &exporter->job->clocks[exporter->rank];
    struct drawing drawing = {
        .exporter = exporter,
        .collectives = {.parent = exporter->process, .name = "Collectives"},
        .waits = {.parent = exporter->process, .name = "Waits for other ranks"},
    };
    struct place *places = calloc(rank->count + 1, sizeof(*places));
    if (!places) return false;
    for (size_t i = 0; i < rank->count; i++)
        places[i] = (struct place){clock_arrived(clock, &rank->entries[i]), &rank->entries[i]};
    bool good = sort_by_key(places, rank->count, sizeof(*places), offsetof(struct place, arrived_ns));
    for (size_t i = 0; good && i < rank->count; i++) put_collective(&drawing, &places[i]);
    for (size_t i = 0; good && i < rank->count; i++) put_wait(&drawing, &places[i]);
    free(places);
    return good;
}
