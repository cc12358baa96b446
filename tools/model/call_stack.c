#include "tools/model/call_stack.h"

#include <string.h>

struct site_stack site_stack_find(const struct model *model, uint64_t site)
{
    struct site_stack stack = {.site = site};
    for (size_t i = 0; i < model->sites.count && !stack.frames; i++)
        if (model->sites.at[i].site == site) stack.frames = model->sites.at[i].frames;
    size_t from = 0, to = model->pythons.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (model->pythons.at[middle].site < site)
            from = middle + 1;
        else
            to = middle;
    }
    for (to = from; to < model->pythons.count && model->pythons.at[to].site == site;) to++;
    if (to > from) stack.python = &model->pythons.at[from];
    stack.python_count = to - from;
    return stack;
}

static const char *module_name(const struct frame *frame)
{
    return frame->module ? file_name(frame->module->path) : "";
}

static bool has_function_of_python(const struct frame *frame)
{
    static const char *const beginnings[] = {"PyEval_", "_PyEval_", "PyObject_", "_PyObject_",
                                             "_PyFunction_"};
    for (size_t i = 0; frame->function && i < sizeof(beginnings) / sizeof(*beginnings); i++)
        if (!strncmp(frame->function, beginnings[i], strlen(beginnings[i]))) return true;
    return false;
}

bool frame_is_interpreter(const struct frame *frame)
{
    const char *name = module_name(frame);
    if (!strncmp(name, "lib", 3)) name += 3;
    if (strncmp(name, "python", 6) != 0) return has_function_of_python(frame);
    const char *rest = name + 6 + strspn(name + 6, "0123456789.");
    return !*rest || !strncmp(rest, "so", 2);
}

/* A program that the loader was told to run is recorded by the loader's name. */
static bool is_started_by_loader(const struct frame *frame)
{
    return !strncmp(module_name(frame), "ld-", 3);
}

size_t frames_own(const struct frame frames[], size_t count, bool has_python)
{
    static const char *const callers[] = {"__libc_start_call_main", "__libc_start_main", "start_thread"};
    for (size_t i = 0; i < count; i++) {
        if (has_python && (frame_is_interpreter(&frames[i]) || is_started_by_loader(&frames[i]))) return i;
        if (!frames[i].function) continue;
        if (!strcmp(frames[i].function, "main")) return i + 1;
        for (size_t c = 0; c < sizeof(callers) / sizeof(*callers); c++)
            if (!strcmp(frames[i].function, callers[c])) return i;
    }
    return count;
}

struct python_place python_place(const struct model_python *frame)
{
    /* The file may contain spaces. */
    const char *space = strchr(frame->text, ' ');
    size_t bytes = space ? (size_t)(space - frame->text) : strlen(frame->text);
    return (struct python_place){frame->text, space ? space + 1 : "", bytes};
}
