/* Where the variables of modules lie. pre: the driver's lock is held. */
#ifndef SOFTCUDA_VARIABLE_H
#define SOFTCUDA_VARIABLE_H

#include "module.h"

/* What the engine asks for memory while it loads `loaded`, whose context and library are set and which
 * outlives the variables. Device variables belong to the module. Managed ones belong to the library, where
 * there is one: all its modules, in whatever context, share them, and the last one that goes frees them. */
struct sc_module_memory sc_variable_memory(struct sc_loaded *loaded);

#endif
