#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "trace/objects.h"
#include "trace/python_frames.h"
#include "trace/stack_walk.h"

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct found {
    const struct sl_stack *stack;
    int frame; /* the innermost one that will do, or `count` */
    bool in_program;
    char *out;
};

/* The loader lists the program first. */
static int find_in_object(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct found *found = argument;
    bool program = !object->dlpi_name[0];
    (void)bytes;
    if (sl_object_holds(object, (uintptr_t)find_in_object) && !program) return 0;
    for (int i = 0; i < found->frame; i++) {
        uint64_t address = (uintptr_t)found->stack->at[i];
        if (!sl_object_holds(object, address)) continue;
        found->frame = i;
        found->in_program = program;
        snprintf(found->out, SL_SITE_TEXT, "%s+0x%llx",
                 program ? program_invocation_short_name : name_of(object->dlpi_name),
                 (unsigned long long)(address - object->dlpi_addr));
    }
    return found->in_program;
}

/* A frame's text is the qualified name of its function, a space, and the source file. The innermost frame is
 * often a library's, so the program's own innermost one takes its place. */
static void take_frame(const struct sl_python_frame *frame, uint32_t depth, void *context)
{
    struct found *found = context;
    const char *space = strchr(frame->text, ' ');
    bool installed = strstr(frame->text, "/site-packages/") || strstr(frame->text, "/dist-packages/") ||
                     strstr(frame->text, "/lib/python");
    if (!space || found->in_program || (depth && installed)) return;
    found->in_program = !installed;
    snprintf(found->out, SL_SITE_TEXT, "%s:%u in %.*s", name_of(space + 1), frame->line,
             (int)(space - frame->text), frame->text);
}

__attribute__((noinline)) const char *sl_site_text(char out[SL_SITE_TEXT])
{
    struct sl_stack stack;
    struct found found = {.stack = &stack, .out = out};
    out[0] = 0;
    sl_python_frames_each(take_frame, &found);
    if (out[0]) return out;
    sl_stack_unwind(__builtin_return_address(0), &stack);
    found.frame = stack.count;
    snprintf(out, SL_SITE_TEXT, "code outside all objects");
    dl_iterate_phdr(find_in_object, &found);
    return out;
}
