/* Parser from PTX text to a module. */
#ifndef SOFTCUDA_ENGINE_PARSE_H
#define SOFTCUDA_ENGINE_PARSE_H

#include "build.h"

/* Reads all texts into an empty module. false on failure; the module then holds what was built so far. */
bool sc_read_module(struct sc_module *module, const struct sc_text *texts, size_t count,
                    enum sc_engine_status *status, struct sc_diagnostic *diagnostic);

/* entry.c: clears the state of the function being read. */
void sc_begin_function(struct sc_build *build);

/* entry.c: reads and compiles one .entry, from its name on, and adds it to the module. `stack`: it uses
 * alloca. */
bool sc_read_entry(struct sc_build *build, bool stack);

#endif
