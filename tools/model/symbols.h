/* Call stacks of a trace with names, read from the files that the program had loaded if they are unchanged.
 */
#ifndef SLUICE_TOOL_SYMBOLS_H
#define SLUICE_TOOL_SYMBOLS_H

#include "tools/model/model.h"

struct symbols;

/* An entry of a call stack. Texts are defused and live as long as the symbols; NULL: unknown. */
struct frame {
    const struct model_module *module; /* NULL: not in a module of the trace */
    uint64_t offset;                   /* of the return address in the module, or an address without one */
    const char *function, *source;
    unsigned line;
    bool inlined; /* the compiler inlined the function into that of the next frame */
};

/* `model` must outlive the symbols. NULL: out of memory. */
struct symbols *symbols_new(const struct model *model);
void symbols_close(struct symbols *symbols); /* accepts NULL */

/* The frames of a site's text, innermost first, at most `room`. Returns their number. */
enum { FRAMES_MAX = 256 };
size_t symbols_frames(struct symbols *symbols, const char *text, struct frame frames[], size_t room);

/* Why a module of frames has no names; NULL: it has names, or none were requested. */
const char *symbols_remark(const struct symbols *symbols, const struct model_module *module);

/* The last part of a path. */
const char *file_name(const char *path);

#endif
