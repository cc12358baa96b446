/* The kinds of instructions that a launch executed, and their time. */
#ifndef SOFTCUDA_ENGINE_PROFILE_H
#define SOFTCUDA_ENGINE_PROFILE_H

#include "program.h"

struct sc_profile_kind {
    uint64_t executions; /* number of times an instruction was executed, each time for all active lanes */
    uint64_t lanes;
    uint64_t ticks; /* of the processor's time stamp counter */
};

enum {
    SC_PROFILE_MEMORY = SC_OP_CODE_COUNT,               /* loads and stores: by space, element bytes, count */
    SC_PROFILE_END = SC_PROFILE_MEMORY + 2 * 6 * 4 * 3, /* terminators of basic blocks: enum sc_end */
    SC_PROFILE_KINDS = SC_PROFILE_END + SC_END_BARRIER + 1
};

/* Sums over launches, which may add to it concurrently. */
struct sc_profile;
struct sc_profile *sc_profile_new(void); /* NULL: no memory */
void sc_profile_free(struct sc_profile *profile);
void sc_profile_add(struct sc_profile *profile, const struct sc_profile_kind *kinds);

/* Records that `op`, possibly the head of a batch, took `ticks` for `lanes` lanes. */
void sc_profile_note(struct sc_profile_kind *kinds, const struct sc_op *op, uint64_t lanes, uint64_t ticks);

#define SC_PROFILE_NAME_BYTES 48
/* The name and the sums of kind `index`, below SC_PROFILE_KINDS. */
struct sc_profile_kind sc_profile_kind(struct sc_profile *profile, unsigned index,
                                       char name[SC_PROFILE_NAME_BYTES]);

#endif
