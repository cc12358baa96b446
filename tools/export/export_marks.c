/* The program's marks: nested ranges of its threads, numbered ranges, moments. */
#include "tools/export/export_tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct mark_thread {
    uint64_t track;
    size_t before, depth, behind; /* open ranges: begun before the window, in it, after it */
};

struct marks {
    struct exporter *exporter;
    struct mark_thread *threads; /* at most one for each mark */
    size_t thread_count;
    struct sl_map thread_of; /* thread + 1 -> index */
    struct sl_map open;      /* range + 1 -> the mark that began it */
    struct lanes ranges;
    bool no_memory;
};

static const char *source_name(const struct model_mark *mark)
{
    return mark->source ? "sluice/marks.h" : "NVTX";
}

static struct mark_thread *thread_of(struct marks *marks, uint32_t thread)
{
    uint32_t index = sl_map_get(&marks->thread_of, (uint64_t)thread + 1);
    if (index != SL_NONE) return &marks->threads[index];
    if (!sl_map_put(&marks->thread_of, (uint64_t)thread + 1, (uint32_t)marks->thread_count))
        marks->no_memory = true;
    char name[48];
    uint64_t system = model_system_thread(marks->exporter->model, thread);
    snprintf(name, sizeof(name), "Marks of thread %" PRIu64, system ? system : thread);
    struct mark_thread *added = &marks->threads[marks->thread_count++];
    added->track = tracks_beside(marks->exporter->tracks, marks->exporter->process, system, name);
    return added;
}

static void put_range(struct marks *marks, const struct model_mark *mark, uint64_t end_ns)
{
    struct track_event slice = {
        .name = mark->name, .category = source_name(mark), .begin_ns = mark->time_ns, .end_ns = end_ns};
    export_slice(marks->exporter, &marks->ranges, &slice);
}

/* Ranges end in the reverse order of their begin. */
static void pop(struct tracks *tracks, struct mark_thread *thread, const struct track_event *end)
{
    if (thread->behind) {
        thread->behind--;
    } else if (thread->depth) {
        tracks_end(tracks, end);
        thread->depth--;
    } else if (thread->before) {
        thread->before--;
    }
}

static void add_mark(struct marks *marks, size_t index)
{
    const struct model_mark *mark = &marks->exporter->model->marks.at[index];
    struct tracks *tracks = marks->exporter->tracks;
    struct track_event event = {.name = mark->name,
                                .category = source_name(mark),
                                .begin_ns = mark->time_ns,
                                .end_ns = mark->time_ns};
    uint64_t range = (uint64_t)mark->id + 1;
    switch (mark->kind) {
    case SL_MARK_BEGIN:
        if (!sl_map_put(&marks->open, range, (uint32_t)index)) marks->no_memory = true;
        return;
    case SL_MARK_END: {
        uint32_t begin = sl_map_get(&marks->open, range);
        if (begin == SL_NONE) return;
        put_range(marks, &marks->exporter->model->marks.at[begin], mark->time_ns);
        sl_map_remove(&marks->open, range);
        return;
    }
    }
    struct mark_thread *thread = thread_of(marks, mark->thread);
    event.track = thread->track;
    if (mark->kind == SL_MARK_MOMENT) {
        if (is_in_window(marks->exporter, mark->time_ns)) tracks_moment(tracks, &event);
    } else if (mark->kind == SL_MARK_PUSH) {
        bool early = mark->time_ns < marks->exporter->window.from_ns;
        bool shown = is_in_window(marks->exporter, mark->time_ns);
        if (shown) tracks_begin(tracks, &event);
        ++*(early ? &thread->before : shown ? &thread->depth : &thread->behind);
    } else if (mark->kind == SL_MARK_POP) {
        pop(tracks, thread, &event);
    }
}

/* Ranges without an end last to the end of the trace. */
static void close_all(struct marks *marks)
{
    const struct model *model = marks->exporter->model;
    for (size_t t = 0; t < marks->thread_count; t++) {
        struct track_event end = {.track = marks->threads[t].track, .end_ns = model->last_ns};
        for (; marks->threads[t].depth; marks->threads[t].depth--) tracks_end(marks->exporter->tracks, &end);
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct model_mark *mark = &model->marks.at[i];
        if (mark->kind == SL_MARK_BEGIN && sl_map_get(&marks->open, (uint64_t)mark->id + 1) == i)
            put_range(marks, mark, model->last_ns);
    }
}

bool export_marks(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    if (!model->marks.count) return true;
    struct marks marks = {.exporter = exporter,
                          .ranges = {.parent = exporter->process, .name = "Ranges"},
                          .threads = calloc(model->marks.count, sizeof(*marks.threads))};
    if (!marks.threads) return false;
    for (size_t i = 0; i < model->marks.count; i++) add_mark(&marks, i);
    close_all(&marks);
    sl_map_free(&marks.thread_of);
    sl_map_free(&marks.open);
    free(marks.threads);
    return !marks.no_memory;
}
