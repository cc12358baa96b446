/* A model as tracks: streams, link directions, memory, and events of the program. */
#include "tools/export/export_tracks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/model/sorted.h"
#include "tools/model/trace_open.h"

static bool find_lane(struct exporter *exporter, struct lanes *lanes, struct track_event *slice)
{
    for (size_t i = 0; i < lanes->count; i++) {
        if (lanes->at[i].end_ns > slice->begin_ns) continue;
        slice->track = lanes->at[i].track;
        lanes->at[i].end_ns = slice->end_ns;
        return true;
    }
    if (lanes->count == LANES_MAX) return false;
    char name[128];
    if (!lanes->count) lanes->rank = tracks_reserve(exporter->tracks, LANES_MAX);
    snprintf(name, sizeof(name), lanes->count ? "%s %02zu" : "%s", lanes->name, lanes->count + 1);
    slice->track = tracks_track_at(exporter->tracks, lanes->parent, name, lanes->rank + lanes->count);
    lanes->at[lanes->count].track = slice->track;
    lanes->at[lanes->count++].end_ns = slice->end_ns;
    return true;
}

void export_slice(struct exporter *exporter, struct lanes *lanes, struct track_event *slice)
{
    if (slice->end_ns < slice->begin_ns) slice->end_ns = slice->begin_ns;
    if (slice->begin_ns >= exporter->window.to_ns ||
        (slice->end_ns <= exporter->window.from_ns && slice->begin_ns < exporter->window.from_ns))
        return;
    if (find_lane(exporter, lanes, slice)) {
        tracks_slice(exporter->tracks, slice);
        return;
    }
    slice->track = lanes->at[0].track;
    tracks_moment(exporter->tracks, slice);
}

/* Adds a moment to a track. The track is created with its first moment. */
static void put_moment(struct exporter *exporter, uint64_t *track, const char *name,
                       struct track_event *moment)
{
    if (!is_in_window(exporter, moment->begin_ns)) return;
    if (!*track) *track = tracks_track(exporter->tracks, exporter->process, name);
    moment->track = *track;
    tracks_moment(exporter->tracks, moment);
}

/* The start of an interval of `took_ns` that ended at `end_ns`. */
static uint64_t before(uint64_t end_ns, uint64_t took_ns)
{
    return took_ns < end_ns ? end_ns - took_ns : 0;
}

/* A counter: written with its value at the start of the window and with its changes in the window. */
struct counter {
    uint64_t track;
    int64_t value;
    bool begun;
};

static void add_to_counter(struct exporter *exporter, struct counter *counter, uint64_t time_ns,
                           int64_t change)
{
    if (time_ns >= exporter->window.from_ns && !counter->begun) {
        if (counter->value)
            tracks_count(exporter->tracks, counter->track, exporter->window.from_ns, counter->value);
        counter->begun = true;
    }
    counter->value += change;
    if (is_in_window(exporter, time_ns))
        tracks_count(exporter->tracks, counter->track, time_ns, counter->value);
}

/* The link and the memory */

/* When the launch was made at which the transfer was issued. */
static uint64_t issued_ns(const struct model *model, const struct model_transfer *transfer)
{
    uint32_t launch = model_find_launch(model, transfer->tick);
    return launch == SL_NONE ? transfer->began_ns : model->launches.at[launch].time_ns;
}

static void export_transfers(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    if (!model->transfers.count) return;
    bool own_clock = has_own_clock(exporter);
    uint64_t free_ns[2] = {0}; /* when the last transfer of each direction ends, on the program's clock */
    uint64_t parent =
        tracks_track(exporter->tracks, exporter->process, own_clock ? "Link" OF_OWN_CLOCK : "Link");
    struct lanes in = {.parent = parent, .name = "To the device"};
    struct lanes out = {.parent = parent, .name = "From the device"};
    for (size_t i = 0; i < model->transfers.count; i++) {
        const struct model_transfer *transfer = &model->transfers.at[i];
        bool inward = transfer->kind == SL_ACTION_FETCH || transfer->kind == SL_ACTION_POPULATE;
        /* By the program's clock, it begins when it was issued, or when its direction of the link is free. */
        uint64_t begin = own_clock ? issued_ns(model, transfer) : transfer->began_ns;
        if (own_clock && begin < free_ns[inward]) begin = free_ns[inward];
        free_ns[inward] = begin + transfer->took_ns;
        struct track_note notes[] = {{"tick", .number = transfer->tick},
                                     {"chunk", .number = transfer->chunk},
                                     {"bytes", .number = transfer->bytes},
                                     {"began_on_device_clock_ns", .number = transfer->began_ns}};
        struct track_event slice = {.name = move_cause_name(transfer->cause),
                                    .category = move_kind_name(transfer->kind),
                                    .begin_ns = begin,
                                    .end_ns = begin + transfer->took_ns,
                                    .notes = notes,
                                    .note_count = own_clock ? 4 : 3};
        export_slice(exporter, inward ? &in : &out, &slice);
    }
}

static void export_moves(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    if (!model->moves.count) return;
    uint64_t issued = 0;
    struct counter used = {
        .track = tracks_byte_counter(exporter->tracks, exporter->process, "Device memory in use")};
    for (size_t i = 0; i < model->moves.count; i++) {
        const struct model_move *move = &model->moves.at[i];
        bool inward = move->kind == SL_ACTION_FETCH || move->kind == SL_ACTION_POPULATE;
        add_to_counter(exporter, &used, move->time_ns, inward ? (int64_t)move->bytes : -(int64_t)move->bytes);
        char name[32];
        snprintf(name, sizeof(name), "%s, %s", move_kind_name(move->kind), move_cause_name(move->cause));
        struct track_note notes[] = {{"tick", .number = move->tick},
                                     {"chunk", .number = move->chunk},
                                     {"bytes", .number = move->bytes}};
        struct track_event moment = {.name = name,
                                     .category = move_kind_name(move->kind),
                                     .begin_ns = move->time_ns,
                                     .notes = notes,
                                     .note_count = 3};
        put_moment(exporter, &issued, "Moves issued", &moment);
    }
}

struct change {
    uint64_t time_ns;
    int64_t bytes;
};

/* The bytes allocated by the program. */
static bool export_live_bytes(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    if (!model->lives.count) return true;
    struct change *changes = malloc(2 * model->lives.count * sizeof(*changes));
    size_t count = 0;
    if (!changes) return false;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        int64_t bytes = (int64_t)model->slots.at[life->slot].bytes;
        changes[count++] = (struct change){life->born_before ? model->first_ns : life->born_ns, bytes};
        if (life->died_ns != MODEL_ALWAYS) changes[count++] = (struct change){life->died_ns, -bytes};
    }
    bool sorted = sort_by_key(changes, count, sizeof(*changes), offsetof(struct change, time_ns));
    struct counter live = {0};
    if (sorted)
        live.track = tracks_byte_counter(exporter->tracks, exporter->process, "Allocated by the program");
    for (size_t i = 0; sorted && i < count; i++)
        add_to_counter(exporter, &live, changes[i].time_ns, changes[i].bytes);
    free(changes);
    return sorted;
}

/* Events of the program */

static void export_iterations(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    struct lanes lanes = {.parent = exporter->process, .name = "Iterations"};
    uint64_t begin = model->launches.count ? model->launches.at[0].time_ns : model->first_ns;
    for (size_t i = 0; i < model->iterations.count; i++) {
        const struct model_iteration *iteration = &model->iterations.at[i];
        char name[32];
        snprintf(name, sizeof(name), "Iteration %" PRIu32, iteration->number);
        struct track_note notes[] = {{"last_tick", .number = iteration->tick},
                                     {"symbols", .number = iteration->symbols}};
        struct track_event slice = {
            .name = name, .begin_ns = begin, .end_ns = iteration->time_ns, .notes = notes, .note_count = 2};
        export_slice(exporter, &lanes, &slice);
        begin = iteration->time_ns;
    }
}

/* Consecutive launches of one phase form a slice. */
static void export_phases(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    const struct phases *phases = exporter->phases;
    struct lanes lanes = {.parent = exporter->process, .name = "Phases"};
    if (!phases->found && !phases->marked) return;
    for (size_t i = 0, next; i < model->launches.count; i = next) {
        for (next = i + 1; next < model->launches.count; next++)
            if (phases->of_launch[next] != phases->of_launch[i]) break;
        const struct model_launch *first = &model->launches.at[i];
        struct track_note notes[] = {{"first_tick", .number = first->tick}, {"launches", .number = next - i}};
        struct track_event slice = {.name = phase_name(phases->of_launch[i]),
                                    .begin_ns = first->time_ns,
                                    .end_ns = next < model->launches.count ? model->launches.at[next].time_ns
                                                                           : model->last_ns,
                                    .notes = notes,
                                    .note_count = 2};
        export_slice(exporter, &lanes, &slice);
    }
}

/* A stall, and when it began: at its launch, if that is known. It is recorded later, often after others. */
struct placed_stall {
    uint64_t begin_ns;
    const struct model_stall *stall;
};

static bool export_stalls(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    struct lanes lanes = {.parent = exporter->process,
                          .name = has_own_clock(exporter) ? "Stalls" OF_OWN_CLOCK : "Stalls"};
    struct placed_stall *placed = malloc((model->stalls.count + 1) * sizeof(*placed));
    if (!placed) return false;
    for (size_t i = 0; i < model->stalls.count; i++) {
        const struct model_stall *stall = &model->stalls.at[i];
        uint32_t launch = stall->launch ? model_find_launch(model, stall->launch) : SL_NONE;
        placed[i].stall = stall;
        placed[i].begin_ns =
            launch == SL_NONE ? before(stall->time_ns, stall->took_ns) : model->launches.at[launch].time_ns;
    }
    bool sorted =
        sort_by_key(placed, model->stalls.count, sizeof(*placed), offsetof(struct placed_stall, begin_ns));
    for (size_t i = 0; sorted && i < model->stalls.count; i++) {
        const struct model_stall *stall = placed[i].stall;
        struct track_note notes[] = {{"known_at_tick", .number = stall->tick},
                                     {"chunks", .number = stall->chunks},
                                     {"took_ns", .number = stall->took_ns},
                                     {"tick", .number = stall->launch}};
        struct track_event slice = {.name = "waits for its data",
                                    .begin_ns = placed[i].begin_ns,
                                    .end_ns = placed[i].begin_ns + stall->took_ns,
                                    .notes = notes,
                                    .note_count = stall->launch ? 4 : 3};
        export_slice(exporter, &lanes, &slice);
    }
    free(placed);
    return sorted;
}

static void export_waits(struct exporter *exporter)
{
    static const char *const names[] = {"for the context", "for a stream", "for an event", "for a copy"};
    const struct model *model = exporter->model;
    struct lanes lanes = {.parent = exporter->process, .name = "The program waits"};
    for (size_t i = 0; i < model->syncs.count; i++) {
        const struct model_sync *sync = &model->syncs.at[i];
        struct track_note notes[] = {{"tick", .number = sync->tick},
                                     {"thread", .number = sync->thread},
                                     {"took_ns", .number = sync->took_ns},
                                     {"handle", .number = sync->handle, .address = true}};
        struct track_event slice = {.name = sync->kind < 4 ? names[sync->kind] : "unknown",
                                    .begin_ns = before(sync->time_ns, sync->took_ns),
                                    .end_ns = sync->time_ns,
                                    .notes = notes,
                                    .note_count = sync->handle ? 4 : 3};
        export_slice(exporter, &lanes, &slice);
    }
}

static void export_trouble(struct exporter *exporter)
{
    static const char *const kinds[] = {"allocation failed", "launch failed", "call failed"};
    const struct model *model = exporter->model;
    uint64_t errors = 0, gaps = 0;
    for (size_t i = 0; i < model->errors.count; i++) {
        const struct model_error *error = &model->errors.at[i];
        struct track_note notes[] = {{"code", .number = error->code}, {"bytes", .number = error->bytes}};
        struct track_event moment = {.name = kinds[error->kind < 3 ? error->kind : 2],
                                     .begin_ns = error->time_ns,
                                     .notes = notes,
                                     .note_count = 2};
        put_moment(exporter, &errors, "Errors", &moment);
    }
    for (size_t i = 0; i < model->gaps.count; i++) {
        const struct model_gap *gap = &model->gaps.at[i];
        struct track_note notes[] = {{"first_tick", .number = gap->tick}, {"records", .number = gap->lost}};
        struct track_event moment = {
            .name = "records lost", .begin_ns = gap->time_ns, .notes = notes, .note_count = 2};
        put_moment(exporter, &gaps, "Gaps in the trace", &moment);
    }
}

static bool export_rank(struct exporter *exporter)
{
    export_iterations(exporter);
    export_phases(exporter);
    bool good = export_marks(exporter);
    if (exporter->job->count > 1) good = good && export_collectives(exporter);
    good = good && export_streams(exporter);
    if (exporter->launches) good = good && export_launches(exporter);
    export_transfers(exporter);
    export_moves(exporter);
    good = good && export_live_bytes(exporter);
    good = good && export_stalls(exporter);
    export_waits(exporter);
    export_trouble(exporter);
    return good;
}

static uint64_t on_first(const void *clock, uint64_t ns)
{
    return clock_on_first(clock, ns);
}

/* Whether an earlier rank has the same process id, as in separate containers. */
static bool is_taken(const struct export_job *job, size_t rank)
{
    for (size_t r = 0; r < rank; r++)
        if (job->ranks[r].model->header.process == job->ranks[rank].model->header.process) return true;
    return false;
}

enum { PROCESSES_MOST = 1 << 22 }; /* Linux has no larger process ids */

/* Begins the process track of the next rank. */
static void begin_rank(struct exporter *exporter, size_t rank)
{
    const struct export_job *job = exporter->job;
    const struct export_rank *its = &job->ranks[rank];
    uint32_t process = its->model->header.process;
    struct program_name program = program_name(&its->model->header);
    char name[sizeof(program) + 64];
    exporter->rank = rank;
    exporter->model = its->model;
    exporter->phases = &its->phases;
    exporter->window = its->window;
    if (job->count == 1) {
        exporter->process = tracks_process(exporter->tracks, process, program.text, 0);
        return;
    }
    snprintf(name, sizeof(name), "rank %" PRIu32 " (%" PRIu32 " %s)", its->number, process, program.text);
    if (is_taken(job, rank)) process = PROCESSES_MOST + (uint32_t)rank;
    exporter->process = tracks_process(exporter->tracks, process, name, (unsigned)rank + 1);
    tracks_use_clock(exporter->tracks, on_first, &job->clocks[rank]);
}

bool export_tracks(const struct export_job *job, struct tracks *tracks, bool launches,
                   struct export_counts *counts)
{
    struct exporter exporter = {.job = job, .tracks = tracks, .launches = launches};
    bool good = true;
    for (size_t r = 0; r < job->count && good; r++) {
        begin_rank(&exporter, r);
        good = export_rank(&exporter);
    }
    *counts = (struct export_counts){tracks->packets, tracks->slices, tracks->moments, tracks->samples};
    return good;
}
