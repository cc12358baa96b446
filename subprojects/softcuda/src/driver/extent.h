/* Boxes of rows in memory, whose sizes come from the program and may be anything. */
#ifndef SOFTCUDA_EXTENT_H
#define SOFTCUDA_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

/* CU_DEVICE_ATTRIBUTE_MAX_PITCH: the largest pitch of a copy, in bytes */
#define SC_PITCH_MAX 2147483647

/* Rows of `width` bytes, `pitch` bytes apart, in slices that are `slice` bytes apart */
struct sc_box {
    uint64_t address, width, height, depth, pitch, slice;
};

/* Sets *bytes to the distance from the box's first byte to its end. false: rows or slices overlap, or the box
 * does not end in the address space. pre: the box is not empty. */
static inline bool sc_extent(const struct sc_box *box, uint64_t *bytes)
{
    uint64_t rows, slices, end;
    if (__builtin_mul_overflow(box->height - 1, box->pitch, &rows) ||
        __builtin_add_overflow(rows, box->width, &rows) ||
        __builtin_mul_overflow(box->depth - 1, box->slice, &slices) ||
        __builtin_add_overflow(slices, rows, bytes) || __builtin_add_overflow(box->address, *bytes, &end))
        return false;
    return (box->height == 1 || box->pitch >= box->width) && (box->depth == 1 || box->slice >= rows);
}

/* Sets *address to the address of the byte that lies `x` bytes, `y` rows and `z` slices behind the box's
 * first. false: it is not in the address space. */
static inline bool sc_inside(const struct sc_box *box, uint64_t x, uint64_t y, uint64_t z, uint64_t *address)
{
    uint64_t rows, slices, at;
    return !__builtin_mul_overflow(y, box->pitch, &rows) && !__builtin_mul_overflow(z, box->slice, &slices) &&
           !__builtin_add_overflow(rows, slices, &at) && !__builtin_add_overflow(at, x, &at) &&
           !__builtin_add_overflow(at, box->address, address);
}

#endif
