/* Shared by phases.c and phase_ways.c. */
#ifndef SLUICE_TOOL_PHASE_FINDER_H
#define SLUICE_TOOL_PHASE_FINDER_H

#include "tools/phases/phases.h"
#include "tools/phases/turns.h"

struct finder {
    const struct model *model;
    struct phases *out;
    struct anchors anchors;
    struct windows windows;
    uint8_t *is_kept;  /* of each segment: it lives across windows */
    uint8_t *is_older; /* of each segment: kernels or the host wrote or read it before the first window */
    uint8_t *of_shape; /* phase of the last launch of each shape */
    bool no_memory;
};

/* Findings about one type of windows by itself. */
struct sample {
    struct touches touches;
    struct turns turns;
    uint32_t type, kept, count;
    bool update;
};

/* The touches of one window of the type. */
bool touches_of_type(struct finder *finder, uint32_t type, struct touches *out);

/* Cuts in this way and examines the most informative windows. False: there are none. */
bool try_way(struct finder *finder, uint32_t way, struct sample *sample);

/* The best way to cut, or SL_NONE if none shows a backward pass. */
uint32_t choose_way(struct finder *finder);

#endif
