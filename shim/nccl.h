/* Collectives. The arguments of NCCL's functions show exactly which memory a rank uses; those of its kernels
 * do not.
 *
 * A call records its memory for the calling thread. Kernels that NCCL launches within the call, or within the
 * end of its group, use this record instead of their arguments. Launches from NCCL's own threads, and
 * launches of a program that contains NCCL, are treated like other kernels. */
#ifndef SLUICE_SHIM_NCCL_H
#define SLUICE_SHIM_NCCL_H

#include <stdbool.h>

#include "core/runtime.h"

/* Turns the kernel launch that is about to begin into a collective if it is one. Its pointers are valid until
 * the caller's NCCL call ends. */
void sl_nccl_claim(struct sl_launch *launch);

/* Whether a name is intercepted; whether a function exists for it; and the answer to a look-up that found
 * `function`: `function` itself if it belongs to a second NCCL in the process. */
bool sl_nccl_intercepts(const char *name);
bool sl_nccl_is_there(const char *name);
void *sl_nccl_entry_for(const char *name, void *function);

#endif
