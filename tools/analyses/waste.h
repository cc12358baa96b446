/* The unused part of the chunks that held a program's memory, computed from the places of allocations. */
#ifndef SLUICE_TOOL_WASTE_H
#define SLUICE_TOOL_WASTE_H

#include "tools/model/model.h"

struct waste {
    uint64_t chunk_bytes; /* largest total size of chunks in use, in 2 MiB blocks; 0: unknown */
    uint64_t live_bytes;  /* live bytes in them at that time */
};

/* A chunk's size is the furthest end of its contents since it was last empty. A slot counts at its last
 * place. False: out of memory. */
bool waste_make(const struct model *model, struct waste *out);

#endif
