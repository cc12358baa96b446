/* Loops over lane masks; see ops_mask.c. `count` is a number of lanes, a multiple of SC_CHUNK. */
#ifndef SOFTCUDA_ENGINE_OPS_MASK_H
#define SOFTCUDA_ENGINE_OPS_MASK_H

#include "group.h"

struct sc_scan {
    uint32_t lowest, others; /* lowest basic block of any lane, and the next higher one */
    uint32_t active, live;
    uint32_t first_chunk, chunks; /* the chunks that hold the active lanes */
};

struct sc_mask_functions {
    /* out = lanes of mask whose predicate, xor flip, is true; returns their number */
    uint32_t (*guard)(uint32_t *out, const uint32_t *mask, const uint32_t *predicate, uint32_t flip,
                      uint32_t count);
    /* Sends the chosen lanes to `yes` and the other lanes of mask to `no`. */
    void (*split)(uint32_t *lane_at, const uint32_t *chosen, const uint32_t *mask, uint32_t yes, uint32_t no,
                  uint32_t count);
    /* Finds the lowest basic block; mask becomes the lanes there. */
    void (*scan)(const uint32_t *lane_at, uint32_t *mask, uint32_t count, struct sc_scan *out);
    /* Copies the lanes of mask; `bytes` is the size of a lane's element. */
    void (*blend)(uint32_t *into, const uint32_t *from, const uint32_t *mask, uint32_t chunks,
                  unsigned bytes);
};

extern const struct sc_mask_functions sc_mask_baseline, sc_mask_avx2, sc_mask_avx512;

#endif
