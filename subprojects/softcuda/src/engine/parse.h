/* Parser from PTX text to a source, and from an entry to its program. */
#ifndef SOFTCUDA_ENGINE_PARSE_H
#define SOFTCUDA_ENGINE_PARSE_H

#include "source.h"

/* Reads the texts, which must live as long as the source, into an empty source. false: source->build.status
 * says why; the source then holds what was read so far. */
bool sc_read_source(struct sc_source *source, const struct sc_text *texts, size_t count);

/* entry.c: clears the state of the function being read, and frees it. */
void sc_begin_function(struct sc_build *build);
void sc_drop_function(struct sc_build *build);

/* entry.c: reads an entry's name, parameters and directives, up to its body. */
bool sc_read_signature(struct sc_build *build, struct sc_signature *signature);

/* entry.c: compiles an entry for build->module. NULL: build->status says why. */
struct sc_program *sc_compile_entry(struct sc_build *build, const struct sc_entry *entry);

#endif
