/* Memory of modules' variables. pre: the driver's lock is held. */
#ifndef SOFTCUDA_VARIABLE_H
#define SOFTCUDA_VARIABLE_H

#include "module.h"

/* The allocator for the engine while it loads `loaded`. `loaded` must have its context and library set, and
 * must outlive the variables. Device variables belong to the module. Managed variables belong to the library,
 * if there is one: all its modules share them, in all contexts, and the last module to be unloaded frees
 * them. */
struct sc_module_memory sc_variable_memory(struct sc_loaded *loaded);

#endif
