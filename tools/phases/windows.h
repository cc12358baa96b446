/* Windows: a trace cut where a new batch is first used, so that each holds one forward pass and what belongs
 * to it. Windows whose launches are the same have the same type and are looked at once. */
#ifndef SLUICE_TOOL_WINDOWS_H
#define SLUICE_TOOL_WINDOWS_H

#include "tools/phases/segments.h"

struct window {
    uint32_t begin, end; /* launches */
    uint32_t anchor;     /* the first that uses the batch; before it only copies and sets */
    uint32_t type;       /* SL_NONE: beyond WINDOW_TYPES */
};

struct window_type {
    uint32_t window, count; /* the first of its windows, and how many there are */
};
enum { WINDOW_TYPES = 4096 };

struct windows {
    struct window *at;
    struct window_type *types;
    uint32_t count, type_count;
};

/* Whether the launch is work of the program's own on its data: a kernel or a graph. */
static inline bool is_work(const struct model *model, uint32_t launch)
{
    uint8_t kind = model_shape_of(model, &model->launches.at[launch])->kind;
    return kind == SL_LAUNCH_KERNEL || kind == SL_LAUNCH_GRAPH;
}

/* Where windows may begin: launches that are the first to use what was copied from the host, by the kernel
 * that does it. Which kernel it is makes another way to cut, and only one is right. */
enum { ANCHOR_WAYS = 8 };
struct anchors {
    struct anchor {
        uint32_t launch, way;
        uint32_t begin; /* of the copies that move the batch in, if no work lies between */
    } * at;
    uint32_t count, ways;
    bool direct[ANCHOR_WAYS]; /* of each way: the copies came right before it at least once */
    uint8_t *is_input;        /* of each segment: copies from the host come again and again */
    uint8_t *is_zeroed;       /* sets do, as to gradients */
};

/* They return false when there is no memory; the free functions accept what is left then. */
bool anchors_find(const struct model *model, const struct segments *segments, struct anchors *out);
void anchors_free(struct anchors *anchors);
bool windows_cut(const struct model *model, const struct anchors *anchors, uint32_t way, struct windows *out);
void windows_free(struct windows *windows);

#endif
