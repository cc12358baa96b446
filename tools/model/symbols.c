#include "tools/model/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "tools/model/demangle.h"
#include "tools/model/symbol_file.h"
#include "tools/model/trace_text.h"

struct known_module {
    struct symbol_file *file;
    const char *remark;
    bool looked;
};

enum { INLINED_MAX = 16 };

/* The frames of one return address, which own their texts. */
struct known_place {
    const struct model_module *module;
    uint64_t offset;
    size_t count;
    struct frame frames[];
};

struct symbols {
    const struct model *model;
    struct known_module *modules; /* parallel to the model's */
    struct sl_map by_place;       /* looked-up places, which call stacks share */
    struct known_place **places;
    size_t place_count, place_room;
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

static void free_place(struct known_place *place)
{
    for (size_t i = 0; i < place->count; i++) {
        free((char *)place->frames[i].function);
        free((char *)place->frames[i].source);
    }
    free(place);
}

void symbols_close(struct symbols *symbols)
{
    if (!symbols) return;
    for (size_t i = 0; i < symbols->model->modules.count; i++) symbol_file_close(symbols->modules[i].file);
    for (size_t i = 0; i < symbols->place_count; i++) free_place(symbols->places[i]);
    free(symbols->places);
    free(symbols->modules);
    sl_map_free(&symbols->by_place);
    free(symbols);
}

static char *harmless_copy(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (copy) sl_defuse(copy);
    return copy;
}

static char *function_name(const char *linked)
{
    char *name = linked ? demangle(linked) : NULL;
    if (!name) return harmless_copy(linked);
    sl_defuse(name);
    return name;
}

/* NULL: out of memory. The call instruction is just before the return address. */
static struct known_place *look_up(struct symbols *symbols, size_t module, uint64_t offset)
{
    struct known_module *from = &symbols->modules[module];
    const struct model_module *recorded = &symbols->model->modules.at[module];
    struct source_line lines[INLINED_MAX];
    if (!from->looked) from->file = symbol_file_open(recorded->path, recorded->build, &from->remark);
    from->looked = true;
    uint64_t call = offset ? offset - 1 : 0;
    size_t line_count = from->file ? symbol_file_lines(from->file, call, lines, INLINED_MAX) : 0;
    size_t count = line_count ? line_count : 1;
    struct known_place *place = calloc(1, sizeof(*place) + count * sizeof(*place->frames));
    if (!place) return NULL;
    place->module = recorded;
    place->offset = offset;
    place->count = count;
    for (size_t i = 0; i < count; i++) {
        struct frame *frame = &place->frames[i];
        bool last = i + 1 == count;
        *frame = (struct frame){.module = recorded, .offset = offset, .inlined = !last};
        if (from->file)
            frame->function =
                function_name(last ? symbol_file_function(from->file, call) : lines[i].function);
        if (!line_count) continue;
        frame->source = harmless_copy(lines[i].source);
        frame->line = lines[i].line;
    }
    return place;
}

/* The module with this number, or the model's count of modules. */
static size_t module_numbered(const struct model *model, uint64_t number)
{
    size_t m = 0;
    while (m < model->modules.count && model->modules.at[m].id != number) m++;
    return m;
}

static bool keep(struct symbols *symbols, uint64_t key, struct known_place *place)
{
    if (symbols->place_count == symbols->place_room) {
        size_t room = symbols->place_room ? 2 * symbols->place_room : 256;
        struct known_place **larger = realloc(symbols->places, room * sizeof(*larger));
        if (!larger) return false;
        symbols->places = larger;
        symbols->place_room = room;
    }
    if (!sl_map_put(&symbols->by_place, key, (uint32_t)symbols->place_count)) return false;
    symbols->places[symbols->place_count++] = place;
    return true;
}

/* NULL: out of memory, or a collision of keys. */
static const struct known_place *find_place(struct symbols *symbols, size_t module, uint64_t offset)
{
    const struct model_module *recorded = &symbols->model->modules.at[module];
    uint64_t key = sl_hash_word(sl_mix(module + 1), offset) | 1;
    uint32_t known = sl_map_get(&symbols->by_place, key);
    if (known != SL_NONE) {
        const struct known_place *place = symbols->places[known];
        return place->module == recorded && place->offset == offset ? place : NULL;
    }
    struct known_place *place = look_up(symbols, module, offset);
    if (!place || keep(symbols, key, place)) return place;
    free_place(place);
    return NULL;
}

/* Adds the frames of one address, without names if there are none. */
static size_t add_frames(struct symbols *symbols, uint64_t number, uint64_t offset, struct frame frames[],
                         size_t room)
{
    const struct model *model = symbols->model;
    size_t module = number ? module_numbered(model, number) : model->modules.count;
    if (module == model->modules.count) {
        frames[0] = (struct frame){.offset = offset};
        return 1;
    }
    const struct known_place *place = find_place(symbols, module, offset);
    if (!place) {
        frames[0] = (struct frame){.module = &model->modules.at[module], .offset = offset};
        return 1;
    }
    size_t count = place->count < room ? place->count : room;
    memcpy(frames, place->frames, count * sizeof(*frames));
    return count;
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
        count += add_frames(symbols, number, offset, frames + count, room - count);
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
