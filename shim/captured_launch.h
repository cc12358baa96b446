/* Launches of graphs that have memory of captures (captured_memory.h). Thread-safe. */
#ifndef SLUICE_SHIM_CAPTURED_LAUNCH_H
#define SLUICE_SHIM_CAPTURED_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "driver_api.h"

struct sl_footprint;

/* What an executable graph has of captures. */
struct sl_captured_part {
    uint64_t graph; /* sl_captured_graph when it was instantiated or updated */
    bool frees;     /* a launch frees what the last one allocated
                       (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) */
    bool holds;     /* the last launch allocated what only the program frees */
    uint64_t seen;  /* for sl_captured_launch; 0 at first and whenever its footprint has changed */
};

/* Before the launch in `stream` of an executable graph that touches `footprint`: the stream waits for frees
 * in other streams. The driver's error if memory that the launch allocates was not freed since the last
 * one. */
CUresult sl_captured_launch(struct sl_captured_part *part, const struct sl_footprint *footprint,
                            CUstream stream);
/* The driver refused that launch. */
void sl_captured_launch_refused(struct sl_captured_part *part);

#endif
