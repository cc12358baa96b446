/* SOFTCUDA_PROFILE_KERNELS: where the host's time goes, by kernel and by kind of instruction, as text. */
#ifndef SOFTCUDA_KERNEL_PROFILE_H
#define SOFTCUDA_KERNEL_PROFILE_H

#include <stdint.h>

#include "engine.h"

struct sc_kernel_profile;

/* The profile of the kernel with this name. NULL: the option is off, or no memory. */
struct sc_kernel_profile *sc_kernel_profile_of(const char *name);
struct sc_profile *sc_kernel_profile_kinds(struct sc_kernel_profile *kernel);
/* Records a launch that has just ended and began at `begin_ns` of the host's clock. */
uint64_t sc_kernel_profile_now(void);
void sc_kernel_profile_add(struct sc_kernel_profile *kernel, uint64_t begin_ns, const struct sc_cost *cost);

/* Writes the file, at exit. Launches that other threads are still executing are left out. */
void sc_kernel_profile_write(void);

#endif
