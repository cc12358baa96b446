/* The turns of a window: where its forward pass ends and where its update begins. See turns.c. */
#ifndef SLUICE_TOOL_TURNS_H
#define SLUICE_TOOL_TURNS_H

#include "tools/phases/classes.h"
#include "tools/phases/windows.h"

/* What the work of a window touches. Positions count kernels and graphs from the anchor on. */
struct touches {
    uint32_t positions;
    bool graph_first;   /* position 0 is a graph, which may be both passes */
    uint32_t *launches; /* of each position */
    uint32_t *segments; /* those that are touched, each once */
    uint32_t segment_count;
    uint32_t *first;  /* segment_count + 1: of each of these segments in `at` */
    uint32_t *at;     /* the positions that touch it, ascending */
    uint8_t *goes_on; /* of each position: it takes up what one of the last few left */
};

/* False when there is no memory, or the window is too large to be looked at. */
bool touches_find(const struct model *model, const struct segments *segments, const struct window *window,
                  struct touches *out);
void touches_free(struct touches *touches);

struct turns {
    uint32_t backward, update; /* the first positions of each; `positions`: there is none */
    int64_t score;             /* how well what is touched fits: to compare ways to cut */
};

/* What is known of the segments beforehand. */
struct knowledge {
    const uint8_t *is_input, *is_zeroed, *is_kept; /* kept: lives across windows */
    const uint8_t *class_of;                       /* enum memory_class; NULL: not known yet */
};

/* The best turns of a window, or the best with the given `update`; SL_NONE: none is given. False when
 * there is no memory. */
bool turns_find(const struct touches *touches, const struct knowledge *known, uint32_t update,
                struct turns *out);

#endif
