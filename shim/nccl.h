/* Collectives: NCCL's functions say exactly which memory a rank uses, which the arguments of its kernels do
 * not.
 *
 * A call notes what it uses for the calling thread; the kernels that NCCL launches inside it, or inside the
 * end of its group, are given that instead of a look at their arguments. Launches from threads of NCCL's own,
 * and those of a program that has NCCL inside, are seen as kernels are. */
#ifndef SLUICE_SHIM_NCCL_H
#define SLUICE_SHIM_NCCL_H

#include <stdbool.h>

#include "core/runtime.h"

/* Makes the kernel launch that is about to begin a collective, where it is one. What it points to is valid
 * until the caller's call of NCCL ends. */
void sl_nccl_claim(struct sl_launch *launch);

/* Whether a name is one that is intercepted; whether there is a function behind it; and what a look-up that
 * found `function` under it is to answer: `function` itself for that of a second NCCL in the process. */
bool sl_nccl_intercepts(const char *name);
bool sl_nccl_is_there(const char *name);
void *sl_nccl_entry_for(const char *name, void *function);

#endif
