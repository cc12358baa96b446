/* SOFTCUDA_PROFILE_KERNELS: where the host's time goes, by kernel and by kind of instruction, as text. */
#ifndef SOFTCUDA_KERNEL_PROFILE_H
#define SOFTCUDA_KERNEL_PROFILE_H

#include <stdint.h>

#include "engine.h"

struct sc_kernel_profile;

/* What is known of the kernel with this name; NULL where nobody asks, or there is no memory. */
struct sc_kernel_profile *sc_kernel_profile_of(const char *name);
struct sc_profile *sc_kernel_profile_kinds(struct sc_kernel_profile *kernel);
/* A launch is over, which began at `begin_ns` of the host's clock. */
uint64_t sc_kernel_profile_now(void);
void sc_kernel_profile_add(struct sc_kernel_profile *kernel, uint64_t begin_ns, const struct sc_cost *cost);

/* At the end: writes the file. Launches that other threads still execute are left out. */
void sc_kernel_profile_write(void);

#endif
