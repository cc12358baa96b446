/* The attributes that a cubin keeps of its kernels, in sections .nv.info. Private to cubin.c and
 * kernel_info.c.
 *
 * An attribute is a format, a number and 16 bits; those are its value or, in the last of the four formats,
 * the size of a value that follows. Unknown ones are passed over. Thread safety: all functions are pure.
 */
#ifndef SOFTCUDA_KERNEL_INFO_H
#define SOFTCUDA_KERNEL_INFO_H

#include "cubin.h"

enum sc_info_status { SC_INFO_OK = 0, SC_INFO_CUT, SC_INFO_MISPLACED, SC_INFO_NO_MEMORY };

struct sc_info_table {
    const unsigned char *data;
    size_t bytes;
};

/* Sets the kernel's parameters and its largest block from a table of its own. *at: where in the table an
 * error is. A second table replaces the first. */
enum sc_info_status sc_info_of_kernel(const struct sc_info_table *table, struct sc_cubin_kernel *kernel,
                                      size_t *at);

/* Sets registers and local memory from the table of all kernels. `find` returns the kernel of a symbol, or
 * NULL. */
enum sc_info_status sc_info_of_all(const struct sc_info_table *table,
                                   struct sc_cubin_kernel *(*find)(void *context, uint32_t symbol),
                                   void *context, size_t *at);

#endif
