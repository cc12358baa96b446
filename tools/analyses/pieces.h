/* Live memory cut by chunk and class: where each part of an allocation lies, and what it is used for. */
#ifndef SLUICE_TOOL_PIECES_H
#define SLUICE_TOOL_PIECES_H

#include "tools/phases/phases.h"

/* A part of a segment in one chunk, during its life. */
struct piece {
    uint64_t born_ns, died_ns, bytes;
    uint32_t chunk; /* SL_NONE: unknown */
    uint8_t class;  /* enum memory_class */
};

/* Zero it. */
struct pieces {
    struct piece *at;
    size_t count, room;
    bool no_memory;
};

/* Adds the pieces of one life. Sets no_memory if there are too many. */
void pieces_add_life(const struct model *model, const struct phases *phases, const struct model_life *life,
                     struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
