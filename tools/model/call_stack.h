/* Which frames of a call stack are the program's own. */
#ifndef SLUICE_TOOL_CALL_STACK_H
#define SLUICE_TOOL_CALL_STACK_H

#include "tools/model/symbols.h"

/* The call stack of a site, as in the trace. */
struct site_stack {
    uint64_t site;
    const char *frames;                /* NULL: missing */
    const struct model_python *python; /* its frames of Python, innermost first */
    size_t python_count;
};

/* The stack of the site; without frames if the trace has none. Looks through all sites of the model. */
struct site_stack site_stack_find(const struct model *model, uint64_t site);

/* Whether the frame is of CPython itself: its library, the program that contains it, or its functions in
 * another program. */
bool frame_is_interpreter(const struct frame *frame);

/* The number of frames without the callers of main and of a thread's first function. `has_python`: frames of
 * Python stand for the interpreter and for what is outside of it, so that the frames end there. */
size_t frames_own(const struct frame frames[], size_t count, bool has_python);

/* The function and the file of a frame of Python. `function` is not terminated. */
struct python_place {
    const char *function, *file;
    size_t function_bytes;
};
struct python_place python_place(const struct model_python *frame);

#endif
