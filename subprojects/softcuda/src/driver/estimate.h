/* What a kernel that is not executed costs, by its parameters alone: for kernels of which there is only
 * machine code. */
#ifndef SOFTCUDA_ESTIMATE_H
#define SOFTCUDA_ESTIMATE_H

#include "../native.h"

/* sc_native_kernel.describe: each word of the parameters that is an address of live memory is taken for a
 * tensor. It counts up to the next such address, to the end of its allocation, or as far as the grid can be
 * thought to get, whichever comes first; as read or written, or as both if two words are that address.
 * Thread-safe. */
bool sc_estimate_describe(struct sc_native_launch *launch);

/* sc_native_kernel.run: nothing. Thread-safe. */
bool sc_estimate_run(struct sc_native_launch *launch);

#endif
