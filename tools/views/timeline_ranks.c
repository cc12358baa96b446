#include "tools/views/timeline_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "tools/analyses/timeline.h"
#include "tools/model/trace_open.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/table.h"

/* A rank on the common axis. */
struct rank {
    struct phases phases;
    struct timeline timeline;
    uint64_t *moved[DIRECTIONS]; /* per column, over all causes */
    uint64_t *waited_ns;         /* in collectives, for other ranks */
};

struct view {
    const struct job *job;
    const struct canvas *canvas; /* NULL: nothing is drawn */
    uint32_t columns;
    struct rank *ranks;
    uint64_t step;             /* 0: everything */
    uint64_t begin_ns, end_ns; /* on the first rank's clock */
};

static int find_phases(struct view *view)
{
    const struct job *job = view->job;
    uint32_t usual = UINT32_MAX;
    for (size_t r = 0; r < job->count; r++) {
        struct phases *phases = &view->ranks[r].phases;
        if (!phases_find(job->models[r], phases)) return failure("%s: out of memory", job->paths[r]);
        if (view->step > phases->step_count)
            return usage_error("%s: there is no iteration %" PRIu64 "; %s has %" PRIu32, job->command,
                               view->step, job->paths[r], phases->step_count);
        if (usual_step(phases) < usual) usual = usual_step(phases);
    }
    if (!view->step) view->step = usual;
    return EXIT_OK;
}

/* The common axis: from the start of the step on the first rank that begins it to its end on the last. */
static void find_span(struct view *view)
{
    const struct job *job = view->job;
    view->begin_ns = UINT64_MAX;
    for (size_t r = 0; r < job->count; r++) {
        const struct model *model = job->models[r];
        uint64_t begin = model->first_ns, end = model->last_ns;
        if (view->step) {
            const struct step *step = &view->ranks[r].phases.steps[view->step - 1];
            begin = model->launches.at[step->begin].time_ns;
            if (step->end < model->launches.count) end = model->launches.at[step->end].time_ns;
        }
        if (!model->records) continue;
        begin = clock_on_first(&job->clocks[r], begin);
        end = clock_on_first(&job->clocks[r], end);
        if (begin < view->begin_ns) view->begin_ns = begin;
        if (end > view->end_ns) view->end_ns = end;
    }
    if (view->begin_ns >= view->end_ns) {
        view->begin_ns = view->end_ns ? view->end_ns - 1 : 0;
        view->end_ns = view->begin_ns + 1;
    }
}

static void find_waits(const struct view *view, size_t r, struct rank *rank)
{
    const struct meetings *meetings = &view->job->meetings;
    const struct meeting_rank *its = &meetings->ranks[r];
    for (size_t i = 0; i < its->count; i++) {
        const struct meeting_entry *entry = &its->entries[i];
        uint32_t other;
        if (!entry->timed || entry->meeting == MEETING_NONE) continue;
        const struct meeting_entry *last = meeting_last(meetings, &meetings->at[entry->meeting], &other);
        if (!last || entry->took_ns <= last->took_ns) continue;
        uint64_t from = clock_arrived(&view->job->clocks[r], entry), waited = entry->took_ns - last->took_ns;
        if (waited < UINT64_MAX - from)
            timeline_spread(&rank->timeline, rank->waited_ns, from, from + waited, waited);
    }
}

static bool make(const struct view *view, size_t r)
{
    struct rank *rank = &view->ranks[r];
    const struct clock *clock = &view->job->clocks[r];
    uint32_t columns = view->columns;
    if (!timeline_make(view->job->models[r], &rank->phases, clock_from_first(clock, view->begin_ns),
                       clock_from_first(clock, view->end_ns), columns, &rank->timeline))
        return false;
    uint64_t *room = calloc((size_t)(DIRECTIONS + 1) * columns, sizeof(*room));
    if (!room) return false;
    rank->waited_ns = room;
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        rank->moved[d] = room + (size_t)(d + 1) * columns;
        for (unsigned c = 0; c < MOVE_CAUSES; c++)
            for (uint32_t s = 0; s < columns; s++) rank->moved[d][s] += rank->timeline.moved[d][c][s];
    }
    find_waits(view, r, rank);
    return true;
}

/* The values that a full block represents: the maximum over all ranks, so that the ranks are comparable. */
struct scales {
    uint64_t memory_bytes, moved_bytes, stretch_ns;
};

static struct scales find_scales(const struct view *view)
{
    uint32_t columns = view->columns;
    struct scales scales = {0, 0, (view->end_ns - view->begin_ns) / columns + 1};
    for (size_t r = 0; r < view->job->count; r++) {
        const struct rank *rank = &view->ranks[r];
        uint64_t memory = row_most(rank->timeline.resident, columns);
        if (memory > scales.memory_bytes) scales.memory_bytes = memory;
        for (unsigned d = 0; d < DIRECTIONS; d++) {
            uint64_t moved = row_most(rank->moved[d], columns);
            if (moved > scales.moved_bytes) scales.moved_bytes = moved;
        }
    }
    return scales;
}

static void draw_rank(const struct view *view, size_t r, const struct scales *scales)
{
    static const char *const ways[DIRECTIONS] = {"  in", "  out"};
    const struct canvas *canvas = view->canvas;
    const struct rank *rank = &view->ranks[r];
    char label[32], text[SL_BYTES_TEXT], time[TIME_TEXT];
    snprintf(label, sizeof(label), "rank %" PRIu32, view->job->numbers[r]);
    canvas_phases(canvas, label, rank->timeline.phase);
    canvas_row(canvas, "  on the device", STYLE_NONE, rank->timeline.resident, scales->memory_bytes,
               sl_bytes_text(row_most(rank->timeline.resident, canvas->columns), text), "peak");
    for (unsigned d = 0; d < DIRECTIONS; d++) {
        uint64_t bytes = row_sum(rank->moved[d], canvas->columns);
        if (bytes)
            canvas_row(canvas, ways[d], STYLE_GREEN, rank->moved[d], scales->moved_bytes,
                       sl_bytes_text(bytes, text), "sum");
    }
    uint64_t stalled = row_sum(rank->timeline.stall_ns, canvas->columns),
             waited = row_sum(rank->waited_ns, canvas->columns);
    if (stalled)
        canvas_row(canvas, "  stalled", STYLE_RED, rank->timeline.stall_ns, scales->stretch_ns,
                   time_text(stalled, time), "sum");
    if (waited)
        canvas_row(canvas, "  waits (peers)", STYLE_YELLOW, rank->waited_ns, scales->stretch_ns,
                   time_text(waited, time), "sum");
}

static bool other_clock(const struct view *view)
{
    for (size_t r = 0; r < view->job->count; r++)
        if (view->ranks[r].timeline.other_clock || view->job->clocks[r].own_device_clock) return true;
    return false;
}

static void print_text(const struct view *view)
{
    char text[TIME_TEXT];
    struct scales scales = find_scales(view);
    printf("%s, %zu ranks", program_name(&job_model(view->job, 0)->header).text, view->job->count);
    if (view->step) printf(", iteration %" PRIu64, view->step);
    printf(", %s\n", time_text(view->end_ns - view->begin_ns, text));
    for (size_t r = 0; r < view->job->count; r++) draw_rank(view, r, &scales);
    canvas_axis(view->canvas, view->end_ns - view->begin_ns, other_clock(view) ? "program's time" : "");
    if (other_clock(view))
        puts("The device has its own clock: traffic is drawn when it was issued; the sums of\n"
             "stalls and waits are the device's time.");
    if (!view->step) puts("Not all ranks have iterations: the drawing shows the whole traces.");
    job_print_clocks(view->job);
}

static void print_row(struct json *json, const char *key, const uint64_t *row, uint32_t count)
{
    json_array(json, key, false);
    for (uint32_t s = 0; s < count; s++) json_number(json, NULL, row[s]);
    json_close(json);
}

static void write_json(struct json *json, const char *key, const struct view *view)
{
    const struct job *job = view->job;
    uint32_t columns = view->columns;
    json_object(json, key, true);
    if (view->step) json_number(json, "iteration", view->step);
    json_number(json, "duration_ns", view->end_ns - view->begin_ns);
    json_array(json, "ranks", true);
    for (size_t r = 0; r < job->count; r++) {
        const struct rank *rank = &view->ranks[r];
        json_object(json, NULL, true);
        json_text(json, "file", job->paths[r]);
        json_number(json, "rank", job->numbers[r]);
        json_array(json, "phases", false);
        for (uint32_t s = 0; s < columns; s++) json_text(json, NULL, phase_name(rank->timeline.phase[s]));
        json_close(json);
        print_row(json, "device_bytes", rank->timeline.resident, columns);
        print_row(json, "in_bytes", rank->moved[TO_DEVICE], columns);
        print_row(json, "out_bytes", rank->moved[FROM_DEVICE], columns);
        print_row(json, "stall_ns", rank->timeline.stall_ns, columns);
        print_row(json, "waited_ns", rank->waited_ns, columns);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

/* Makes the view, and draws it on the canvas, or prints it as JSON if `canvas` is NULL. */
static int show(const struct job *job, uint64_t step, uint32_t columns, const struct canvas *canvas,
                struct json *json, const char *key)
{
    struct view view = {.job = job,
                        .canvas = canvas,
                        .columns = columns,
                        .ranks = calloc(job->count, sizeof(*view.ranks)),
                        .step = step};
    int status = view.ranks ? find_phases(&view) : failure("%s: out of memory", job->command);
    if (status == EXIT_OK) find_span(&view);
    for (size_t r = 0; r < job->count && status == EXIT_OK; r++)
        if (!make(&view, r)) status = failure("%s: out of memory", job->paths[r]);
    if (status == EXIT_OK && canvas) print_text(&view);
    if (status == EXIT_OK && !canvas) write_json(json, key, &view);
    for (size_t r = 0; view.ranks && r < job->count; r++) {
        phases_free(&view.ranks[r].phases);
        timeline_free(&view.ranks[r].timeline);
        free(view.ranks[r].waited_ns);
    }
    free(view.ranks);
    return status;
}

int timeline_ranks_json(struct json *json, const char *key, const struct job *job, uint64_t step,
                        uint32_t columns)
{
    return show(job, step, columns, NULL, json, key);
}

int timeline_ranks(const struct job *job, const struct canvas *canvas, uint64_t step, bool json)
{
    struct json to = {.to = stdout};
    int status = show(job, step, canvas->columns, json ? NULL : canvas, &to, NULL);
    return status == EXIT_OK ? job_check(job) : status;
}
