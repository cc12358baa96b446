#include "symbols.h"

#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "map.h"
#include "symbol_file.h"
#include "trace_text.h"

struct known_module {
    struct symbol_file *file;
    const char *remark;
    bool looked;
};

struct known_frame {
    struct frame frame;
    char *function, *source; /* what it points to */
};

struct symbols {
    const struct model *model;
    struct known_module *modules; /* as the model's */
    struct sl_map by_place;       /* frames that were looked up, since call stacks share them */
    struct known_frame **frames;
    size_t frame_count, frame_room;
};

struct symbols *symbols_new(const struct model *model)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols) return NULL;
    symbols->model = model;
    symbols->modules = calloc(model->modules.count + 1, sizeof(*symbols->modules));
    if (symbols->modules) return symbols;
    free(symbols);
    return NULL;
}

void symbols_close(struct symbols *symbols)
{
    if (!symbols) return;
    for (size_t i = 0; i < symbols->model->modules.count; i++) symbol_file_close(symbols->modules[i].file);
    for (size_t i = 0; i < symbols->frame_count; i++) {
        free(symbols->frames[i]->function);
        free(symbols->frames[i]->source);
        free(symbols->frames[i]);
    }
    free(symbols->frames);
    free(symbols->modules);
    sl_map_free(&symbols->by_place);
    free(symbols);
}

static char *harmless_copy(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (copy) defuse_text(copy);
    return copy;
}

static char *function_name(const char *linked)
{
    char *name = linked ? demangle(linked) : NULL;
    if (!name) return harmless_copy(linked);
    defuse_text(name);
    return name;
}

static void look_up(struct symbols *symbols, size_t module, struct known_frame *known)
{
    struct known_module *from = &symbols->modules[module];
    const struct model_module *told = &symbols->model->modules.at[module];
    if (!from->looked) from->file = symbol_file_open(told->path, told->build, &from->remark);
    from->looked = true;
    if (!from->file || !known->frame.offset) return;
    uint64_t call = known->frame.offset - 1;
    known->function = function_name(symbol_file_function(from->file, call));
    known->source = harmless_copy(symbol_file_source(from->file, call, &known->frame.line));
    known->frame.function = known->function;
    known->frame.source = known->source;
}

/* The module with this number, or the models's count of them. */
static size_t module_numbered(const struct model *model, uint64_t number)
{
    size_t m = 0;
    while (m < model->modules.count && model->modules.at[m].id != number) m++;
    return m;
}

static bool keep(struct symbols *symbols, uint64_t key, struct known_frame *known)
{
    if (symbols->frame_count == symbols->frame_room) {
        size_t room = symbols->frame_room ? 2 * symbols->frame_room : 256;
        struct known_frame **larger = realloc(symbols->frames, room * sizeof(*larger));
        if (!larger) return false;
        symbols->frames = larger;
        symbols->frame_room = room;
    }
    if (!sl_map_put(&symbols->by_place, key, (uint32_t)symbols->frame_count)) return false;
    symbols->frames[symbols->frame_count++] = known;
    return true;
}

/* Without memory the frame has no names. */
static struct frame find_frame(struct symbols *symbols, uint64_t number, uint64_t offset)
{
    const struct model *model = symbols->model;
    size_t module = number ? module_numbered(model, number) : model->modules.count;
    struct frame plain = {.module = module < model->modules.count ? &model->modules.at[module] : NULL,
                          .offset = offset};
    uint64_t key = sl_hash_word(sl_mix(module + 1), offset) | 1;
    uint32_t place = sl_map_get(&symbols->by_place, key);
    if (place != SL_MAP_NONE && symbols->frames[place]->frame.module == plain.module &&
        symbols->frames[place]->frame.offset == offset)
        return symbols->frames[place]->frame;
    if (!plain.module) return plain;
    struct known_frame *known = calloc(1, sizeof(*known));
    if (!known) return plain;
    known->frame = plain;
    look_up(symbols, module, known);
    if (keep(symbols, key, known)) return known->frame;
    free(known->function);
    free(known->source);
    free(known);
    return plain;
}

size_t symbols_frames(struct symbols *symbols, const char *text, struct frame frames[], size_t room)
{
    size_t count = 0;
    while (text && count < room) {
        char *end, *last;
        uint64_t number = strtoull(text, &end, 16), offset;
        if (end == text || *end != '+') break;
        offset = strtoull(end + 1, &last, 16);
        if (last == end + 1 || (*last && *last != ' ')) break;
        frames[count++] = find_frame(symbols, number, offset);
        text = *last ? last + 1 : NULL;
    }
    return count;
}

const char *symbols_remark(const struct symbols *symbols, const struct model_module *module)
{
    return module ? symbols->modules[module - symbols->model->modules.at].remark : NULL;
}

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
