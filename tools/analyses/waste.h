/* How much of the chunks that a program's memory lay in was unused: computed from where allocations lay. */
#ifndef SLUICE_TOOL_WASTE_H
#define SLUICE_TOOL_WASTE_H

#include "tools/model/model.h"

struct waste {
    uint64_t chunk_bytes; /* of chunks in use when they were the most, in whole 2 MiB blocks; 0: not known */
    uint64_t live_bytes;  /* what lived in them then */
};

/* A chunk is as large as what has lain in it since it was empty reaches. A slot counts as where it lay last.
 * False when there is no memory. */
bool waste_make(const struct model *model, struct waste *out);

#endif
