/* The turns of a window: the end of its forward pass and the start of its update. See turns.c. */
#ifndef SLUICE_TOOL_TURNS_H
#define SLUICE_TOOL_TURNS_H

#include "tools/phases/classes.h"
#include "tools/phases/windows.h"

/* The segments that the work of a window touches. Positions count kernels and graphs from the anchor on. */
struct touches {
    uint32_t positions;
    bool graph_first;   /* position 0 is a graph, which may contain both passes */
    uint32_t *launches; /* of each position */
    uint32_t *segments; /* the touched segments, each once */
    uint32_t segment_count;
    uint32_t *first;  /* segment_count + 1 entries: the first entry of each segment in `at` */
    uint32_t *at;     /* the positions that touch it, ascending */
    uint8_t *goes_on; /* of each position: it uses the results of one of the last few */
};

/* False: out of memory, or the window is too large. */
bool touches_find(const struct model *model, const struct segments *segments, const struct window *window,
                  struct touches *out);
void touches_free(struct touches *touches);

struct turns {
    uint32_t backward, update; /* first position of each; equal to `positions` if there is none */
    int64_t score;             /* quality of the fit, for comparing ways to cut */
};

/* Facts about the segments that are known beforehand. */
struct knowledge {
    const uint8_t *is_input, *is_zeroed, *is_kept; /* kept: lives across windows */
    const uint8_t *class_of;                       /* enum memory_class; NULL: unknown */
};

/* The best turns of a window, or the best with the given `update` (SL_NONE: not given). False: out of memory.
 */
bool turns_find(const struct touches *touches, const struct knowledge *known, uint32_t update,
                struct turns *out);

#endif
