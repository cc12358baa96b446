/* Kernels of which there is only machine code. They are not executed; what a launch costs is estimated
 * (estimate.h).
 *
 * Only while blocks may be left out at all (sc_options.sampled). Thread safety: the driver's lock is held,
 * everywhere.
 */
#ifndef SOFTCUDA_MACHINE_CODE_H
#define SOFTCUDA_MACHINE_CODE_H

#include "../cudart/fatbin.h"
#include "module.h"

/* The tables of one cubin, which modules share. */
struct sc_machine_code;

/* Reads the tables of a cubin. On success it owns image->text, which it sets to NULL, and *out has one
 * reference. Otherwise `why` receives one line. Errors: CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult sc_machine_code_read(struct sc_fatbin_image *image, struct sc_machine_code **out, char *why,
                              size_t why_bytes);
struct sc_machine_code *sc_machine_code_ref(struct sc_machine_code *code);
void sc_machine_code_unref(struct sc_machine_code *code); /* accepts NULL */

int sc_machine_code_arch(const struct sc_machine_code *code); /* 90 for sm_90 */
size_t sc_machine_code_kernels(const struct sc_machine_code *code);
/* Describes kernel `index` by the kernel that stands for it and what is known of it. */
const struct sc_native_kernel *sc_machine_code_kernel(const struct sc_machine_code *code, size_t index,
                                                      struct sc_function_info *info);

/* Allocates and initialises the variables of loaded->code in the memory of its context. The only error is
 * CUDA_ERROR_OUT_OF_MEMORY; in any case the caller must call sc_machine_code_drop_variables. */
CUresult sc_machine_code_place_variables(struct sc_loaded *loaded);
void sc_machine_code_drop_variables(struct sc_loaded *loaded); /* accepts a module without variables */
bool sc_machine_code_variable(const struct sc_loaded *loaded, const char *name, uint64_t *address,
                              size_t *bytes);

/* Says on the log, once in a process, that times are estimated. For every launch of such a kernel. */
void sc_machine_code_launched(const struct sc_func *func);

#endif
