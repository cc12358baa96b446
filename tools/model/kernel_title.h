/* Names of kernels for narrow tables. */
#ifndef SLUICE_TOOL_KERNEL_TITLE_H
#define SLUICE_TOOL_KERNEL_TITLE_H

/* The name of a C++ function without its return type, namespaces and parameters, so that what differs stands
 * first: "vectorized_kernel<4, Add<float>>". Other names are returned as they are. `name` is defused, and so
 * is the result. NULL: out of memory. The caller frees it. Not thread-safe. */
char *kernel_title(const char *name);

#endif
