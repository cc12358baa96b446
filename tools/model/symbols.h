/* Call stacks of a trace, with names: read from the files that the program had loaded, if they are still
 * those. */
#ifndef SLUICE_TOOL_SYMBOLS_H
#define SLUICE_TOOL_SYMBOLS_H

#include "tools/model/model.h"

struct symbols;

/* A call of a call stack. Texts are harmless and live as long as the symbols; NULL: not known. */
struct frame {
    const struct model_module *module; /* NULL: none that is in the trace */
    uint64_t offset;                   /* of the return address in the module, or an address */
    const char *function, *source;
    unsigned line;
    bool inlined; /* the compiler put the function into that of the next frame */
};

/* `model` outlives the symbols. NULL: no memory. */
struct symbols *symbols_new(const struct model *model);
void symbols_close(struct symbols *symbols); /* accepts NULL */

/* The frames of a site's text, the innermost first, at most `room`. Returns their number. */
enum { FRAMES_MAX = 256 };
size_t symbols_frames(struct symbols *symbols, const char *text, struct frame frames[], size_t room);

/* Why there are no names of a module that frames lie in; NULL: there are, or nobody asked. */
const char *symbols_remark(const struct symbols *symbols, const struct model_module *module);

/* The last part of a path. */
const char *file_name(const char *path);

#endif
