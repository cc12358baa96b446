#include "tools/model/site_title.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tools/model/autograd_node.h"
#include "tools/text/terminal.h"

/* Four bytes for each column, and two frames, fit into a title. */
enum { FUNCTION_COLUMNS = 60, FILE_COLUMNS = 40 };

struct site_titles {
    const struct model *model;
    struct symbols *symbols;
    struct slot_names tensors;
    struct sl_map users; /* a place in a module -> the number of sites with it on their call stacks */
};

static uint64_t place_key(uint64_t module, uint64_t offset)
{
    return sl_hash_word(sl_mix(module + 1), offset) | 1;
}

static uint32_t users_of(const struct site_titles *titles, uint64_t place)
{
    uint32_t count = sl_map_get(&titles->users, place);
    return count == SL_NONE ? 0 : count;
}

/* Adds a site with this call stack to the users of its places: "MODULE+OFFSET MODULE+OFFSET". */
static bool add_user(struct site_titles *titles, const char *text)
{
    bool good = true;
    while (good && text && *text) {
        char *end, *last;
        uint64_t module = strtoull(text, &end, 16), place;
        if (end == text || *end != '+') break;
        place = place_key(module, strtoull(end + 1, &last, 16));
        if (last == end + 1) break;
        good = sl_map_put(&titles->users, place, users_of(titles, place) + 1);
        text = *last == ' ' ? last + 1 : NULL;
    }
    return good;
}

struct site_titles *site_titles_new(const struct model *model)
{
    struct site_titles *titles = calloc(1, sizeof(*titles));
    if (!titles) return NULL;
    titles->model = model;
    titles->symbols = symbols_new(model);
    bool good = titles->symbols && slot_names_find(model, &titles->tensors);
    for (size_t i = 0; i < model->sites.count && good; i++)
        good = add_user(titles, model->sites.at[i].frames);
    if (good) return titles;
    site_titles_free(titles);
    return NULL;
}

void site_titles_free(struct site_titles *titles)
{
    if (!titles) return;
    symbols_close(titles->symbols);
    slot_names_free(&titles->tensors);
    sl_map_free(&titles->users);
    free(titles);
}

struct symbols *site_titles_symbols(struct site_titles *titles)
{
    return titles->symbols;
}

const struct slot_names *site_titles_tensors(const struct site_titles *titles)
{
    return &titles->tensors;
}

static bool begins(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* Whether the text ends with "operator", or with that and a symbol of brackets. */
static bool ends_with_operator(const char *text, size_t bytes)
{
    static const char word[] = "operator";
    const size_t length = sizeof(word) - 1;
    while (bytes && strchr("<>()-", text[bytes - 1])) bytes--;
    return bytes >= length && !memcmp(text + bytes - length, word, length);
}

/* The function's name without parameters, and with ... for template arguments. */
static void write_function(const char *name, char *out, size_t room)
{
    static const char arguments[] = "<...>";
    size_t used = 0, depth = 0;
    for (; *name && used + sizeof(arguments) < room; name++) {
        bool is_operator = ends_with_operator(out, used);
        if (!depth && *name == '(' && !is_operator && !begins(name, "(anonymous")) break;
        if (*name == '<' && !is_operator) {
            if (!depth++) used += (size_t)snprintf(out + used, room - used, "%s", arguments);
        } else if (*name == '>' && depth) {
            depth--;
        } else if (!depth) {
            out[used++] = *name;
        }
    }
    out[used] = 0;
}

/* "function (file:line)", or the function alone. */
static size_t add_place(char *out, size_t used, const char *function, const char *file, uint32_t line)
{
    char number[16] = "";
    if (!*file)
        return used + (size_t)snprintf(out + used, SITE_TITLE - used, "%.*s",
                                       (int)text_prefix(function, FUNCTION_COLUMNS), function);
    if (line) snprintf(number, sizeof(number), ":%" PRIu32, line);
    int written =
        snprintf(out + used, SITE_TITLE - used, "%.*s (%.*s%s)", (int)text_prefix(function, FUNCTION_COLUMNS),
                 function, (int)text_prefix(file, FILE_COLUMNS), file, number);
    return used + (size_t)written;
}

/* at::_ops::NAME::call: what a program calls of PyTorch in C++, directly or by a layer of it. */
static bool is_operator_of_torch(const char *function)
{
    const char *call = strstr(function, "::call(");
    return begins(function, "at::_ops::") && call && call < strchr(function, '(');
}

/* The address in its file; cut, so that the address is whole. */
static void write_address(const struct frame *frame, char *out, size_t bytes)
{
    const char *module = frame->module ? file_name(frame->module->path) : "";
    snprintf(out, bytes, "%.*s%s0x%" PRIx64, (int)text_prefix(module, FILE_COLUMNS), module,
             *module ? "+" : "", frame->offset);
}

static size_t add_frame(char *out, size_t used, const struct frame *frame)
{
    char function[512], address[4 * FILE_COLUMNS + 24];
    write_address(frame, address, sizeof(address));
    if (!frame->function) return used + (size_t)snprintf(out + used, SITE_TITLE - used, "%s", address);
    write_function(frame->function, function, sizeof(function));
    if (is_operator_of_torch(frame->function)) return add_place(out, used, function, "", 0);
    if (frame->source) return add_place(out, used, function, file_name(frame->source), frame->line);
    return used + (size_t)snprintf(out + used, SITE_TITLE - used, "%.*s (%s)",
                                   (int)text_prefix(function, FUNCTION_COLUMNS), function, address);
}

/* --- Python */

static bool is_library(const char *file)
{
    return *file == '<' || strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
           strstr(file, "/lib/python3");
}

static size_t add_python(char *out, size_t used, const struct model_python *frame)
{
    struct python_place place = python_place(frame);
    char function[512];
    snprintf(function, sizeof(function), "%.*s", (int)place.function_bytes, place.function);
    return add_place(out, used, function, file_name(place.file), frame->line);
}

static void write_python(const struct site_stack *stack, char out[SITE_TITLE])
{
    size_t own = 0, used = add_python(out, 0, &stack->python[0]);
    while (own < stack->python_count && is_library(python_place(&stack->python[own]).file)) own++;
    if (!own || own == stack->python_count) return;
    used += (size_t)snprintf(out + used, SITE_TITLE - used, " <- ");
    add_python(out, used, &stack->python[own]);
}

/* --- C and C++ */

/* Layers between the program and the driver, which say little of who allocates. */
static bool is_below(const struct frame *frame)
{
    static const char *const functions[] = {"cudaMalloc", "cuMem", "at::detail::", "c10::"};
    static const char *const modules[] = {"libcuda", "libcudart", "libc10", "libsluice", "libffi"};
    const char *module = frame->module ? file_name(frame->module->path) : "";
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (frame->function && begins(frame->function, functions[i])) return true;
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
        if (begins(module, modules[i])) return true;
    return false;
}

/* The frame that says most; the innermost if none has a name. */
static const struct frame *telling_frame(const struct site_titles *titles, const struct frame frames[],
                                         size_t count)
{
    const struct frame *named = NULL, *told = NULL, *called = NULL;
    uint32_t fewest = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct frame *frame = &frames[i];
        if (!frame->function) continue;
        if (!named) named = frame;
        if (is_operator_of_torch(frame->function)) called = frame;
        if (is_below(frame)) continue;
        uint32_t users = users_of(titles, place_key(frame->module ? frame->module->id : 0, frame->offset));
        if (users >= fewest) continue;
        fewest = users;
        told = frame;
    }
    return called ? called : told ? told : named ? named : &frames[0];
}

/* Whether Python calls what is inside of this frame. */
static bool is_called_by_python(const struct frame *frame)
{
    return frame_is_interpreter(frame) ||
           (frame->module && begins(file_name(frame->module->path), "libtorch_python"));
}

bool site_node_title(const struct frame frames[], size_t count, char out[SITE_TITLE])
{
    for (size_t i = 0; i < count && !is_called_by_python(&frames[i]); i++)
        if (frames[i].function && autograd_node_title(frames[i].function, out)) return true;
    return false;
}

const char *site_title(struct site_titles *titles, const struct site_stack *stack, char out[SITE_TITLE])
{
    struct frame frames[FRAMES_MAX];
    size_t count = symbols_frames(titles->symbols, stack->frames, frames, FRAMES_MAX);
    size_t own = frames_own(frames, count, stack->python_count > 0);
    if (site_node_title(frames, count, out)) return out;
    if (stack->python_count)
        write_python(stack, out);
    else if (own)
        add_frame(out, 0, telling_frame(titles, frames, own));
    else
        snprintf(out, SITE_TITLE, "site 0x%" PRIx64, stack->site);
    return out;
}

const char *site_title_find(struct site_titles *titles, uint64_t site, char out[SITE_TITLE])
{
    struct site_stack stack = site_stack_find(titles->model, site);
    return site_title(titles, &stack, out);
}
