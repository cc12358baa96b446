/* Growable arrays for the loader. Elements move when an array grows: keep indices, not pointers. */
#ifndef SOFTCUDA_ENGINE_VEC_H
#define SOFTCUDA_ENGINE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define sc_vec(T)                                                                                            \
    struct {                                                                                                 \
        T *at;                                                                                               \
        uint32_t count, capacity;                                                                            \
    }

/* Makes room for one more element. false: no memory; the array is then unchanged. */
static inline bool sc_vec_grow(void **at, uint32_t count, uint32_t *capacity, size_t element_bytes)
{
    if (count < *capacity) return true;
    if (*capacity > (1u << 30)) return false;
    uint32_t wanted = *capacity ? *capacity * 2 : 16;
    void *moved = realloc(*at, (size_t)wanted * element_bytes);
    if (!moved) return false;
    *at = moved;
    *capacity = wanted;
    return true;
}

/* Evaluates to false if there is no memory. */
#define sc_vec_push(v, ...)                                                                                  \
    (sc_vec_grow((void **)&(v)->at, (v)->count, &(v)->capacity, sizeof *(v)->at)                             \
         ? ((v)->at[(v)->count++] = (__VA_ARGS__), true)                                                     \
         : false)

#define sc_vec_free(v) (free((v)->at), (v)->at = NULL, (v)->count = (v)->capacity = 0)

#endif
