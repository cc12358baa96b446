/* Numbers as bytes: seven bits each, lowest first; the highest bit is set in all but the last byte
 * (LEB128). */
#ifndef SLUICE_VARINT_H
#define SLUICE_VARINT_H

#include "base/types.h"

#define SL_VARINT_MOST 10 /* bytes of one number */

/* Returns the position after it. Precondition: `at` has SL_VARINT_MOST bytes. */
static inline uint8_t *sl_varint_put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* Returns the position after it, or NULL if there is no varint of 64 bits before `end`. */
static inline const uint8_t *sl_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && at < end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) return NULL;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return at;
        }
    }
    return NULL;
}

#endif
