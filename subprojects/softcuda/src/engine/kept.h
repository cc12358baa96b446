/* Large buffers that launches use one after another: the system's would be mapped and unmapped by each. */
#ifndef SOFTCUDA_ENGINE_KEPT_H
#define SOFTCUDA_ENGINE_KEPT_H

#include <stddef.h>

struct sc_kept {
    unsigned char *memory; /* aligned to 4096; its content is undefined; NULL: no memory */
    size_t bytes;          /* at least as many as were asked for */
};

/* Thread safety: all functions may be called from any thread. */
struct sc_kept sc_kept_take(size_t bytes);
void sc_kept_give(struct sc_kept *kept); /* accepts one without memory */

#endif
