/* Windows: a trace is cut where a new batch is first used, so that each window holds one forward pass and the
 * work that belongs to it. Windows with equal launches have the same type and are examined once. */
#ifndef SLUICE_TOOL_WINDOWS_H
#define SLUICE_TOOL_WINDOWS_H

#include "tools/phases/segments.h"

struct window {
    uint32_t begin, end; /* launches */
    uint32_t anchor;     /* the first launch that uses the batch, preceded by copies and memsets only */
    uint32_t type;       /* SL_NONE: beyond WINDOW_TYPES */
};

struct window_type {
    uint32_t window, count; /* its first window, and the number of windows */
};
enum { WINDOW_TYPES = 4096 };

struct windows {
    struct window *at;
    struct window_type *types;
    uint32_t count, type_count;
};

/* Whether the launch is the program's own work on its data: a kernel or a graph. */
static inline bool is_work(const struct model *model, uint32_t launch)
{
    uint8_t kind = model_shape_of(model, &model->launches.at[launch])->kind;
    return kind == SL_LAUNCH_KERNEL || kind == SL_LAUNCH_GRAPH;
}

/* Possible starts of windows: launches that are the first to use data copied from the host, by their kernel.
 * Each kernel is another way to cut; only one of them is right. */
enum { ANCHOR_WAYS = 8 };
struct anchors {
    struct anchor {
        uint32_t launch, way;
        uint32_t begin; /* first copy of the batch, if no work lies in between */
    } * at;
    uint32_t count, ways;
    bool direct[ANCHOR_WAYS]; /* of each way: at least once, the copies came right before it */
    uint8_t *is_input;        /* of each segment: the host copies to it repeatedly */
    uint8_t *is_zeroed;       /* memsets write to it repeatedly, as to gradients */
};

/* False: out of memory; the free functions accept the result. */
bool anchors_find(const struct model *model, const struct segments *segments, struct anchors *out);
void anchors_free(struct anchors *anchors);
bool windows_cut(const struct model *model, const struct anchors *anchors, uint32_t way, struct windows *out);
void windows_free(struct windows *windows);

#endif
