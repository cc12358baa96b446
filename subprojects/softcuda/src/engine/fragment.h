/* The registers of one warp as operands of a matrix instruction. */
#ifndef SOFTCUDA_ENGINE_FRAGMENT_H
#define SOFTCUDA_ENGINE_FRAGMENT_H

#include "lane.h"
#include "matrix.h"
#include "ops.h"

#define SC_WARP 32u
#define SC_MATRIX_ELEMENTS 1024u /* of a matrix: 16 x 64 four-bit numbers, or 32 x 32 larger ones */

struct sc_warp {
    const struct sc_group *group;
    const uint32_t *places; /* place and stride of each operand */
    uint32_t first;         /* lane */
    uint32_t active;
};

static inline uint32_t sc_active_lanes(const struct sc_group *group, uint32_t first)
{
    uint32_t bits = 0, begin = group->first_chunk * SC_CHUNK, end = begin + group->chunks * SC_CHUNK;
    if (group->use_full && first >= begin && first + SC_WARP <= end) return UINT32_MAX;
    for (uint32_t i = 0; i < SC_WARP; i++)
        if (first + i >= begin && first + i < end) bits |= (group->use_mask[first + i] & 1u) << i;
    return bits;
}

/* Moves to the next warp that has an active lane; false at the end. warp->first == UINT32_MAX starts. */
static inline bool sc_next_warp(struct sc_warp *warp, const struct sc_group *group, const struct sc_op *op)
{
    uint32_t begin = group->first_chunk / 2 * SC_WARP, end = (group->first_chunk + group->chunks) * SC_CHUNK;
    warp->group = group;
    warp->places = group->program->places + op->extra;
    warp->first = warp->first == UINT32_MAX ? begin : warp->first + SC_WARP;
    for (; warp->first < end; warp->first += SC_WARP)
        if ((warp->active = sc_active_lanes(group, warp->first)) != 0) return true;
    return false;
}

static inline uint64_t sc_fragment_get(const struct sc_warp *warp, unsigned operand, uint32_t lane,
                                       unsigned bytes)
{
    const unsigned char *at = warp->group->file + warp->places[2 * operand];
    uint32_t i = warp->places[2 * operand + 1] ? warp->first + lane : 0;
    return bytes == 8 ? ((const sc_lane64 *)(const void *)at)[i] : ((const sc_lane32 *)(const void *)at)[i];
}

static inline void sc_fragment_put(const struct sc_warp *warp, unsigned operand, uint32_t lane,
                                   unsigned bytes, uint64_t value)
{
    unsigned char *at = warp->group->file + warp->places[2 * operand];
    if (!(warp->active >> lane & 1)) return;
    if (bytes == 8)
        ((sc_lane64 *)(void *)at)[warp->first + lane] = value;
    else
        ((sc_lane32 *)(void *)at)[warp->first + lane] = (uint32_t)value;
}

/* Elements per register */
static inline unsigned sc_elements_of(enum sc_element type)
{
    unsigned bits = sc_element_bits(type);
    return bits >= 32 ? 1 : 32 / bits;
}

#endif
