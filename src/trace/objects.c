#include "trace/objects.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/map.h"
#include "trace/events.h"
#include "trace/trace_write.h"

static struct module {
    _Atomic uint64_t key; /* 0: free. Its setter owns the rest until it is written */
    uint64_t base, build_id[2];
    const char *path;
} modules[SL_MODULES_MOST];

bool sl_object_holds(const struct dl_phdr_info *object, uint64_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

/* Whether [address, address + bytes), as addresses in the object's file, is mapped and readable. */
static bool is_mapped(const struct dl_phdr_info *object, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uint64_t offset = address - part->p_vaddr;
        if (part->p_type == PT_LOAD && part->p_flags & PF_R && offset <= part->p_filesz &&
            bytes <= part->p_filesz - offset)
            return true;
    }
    return false;
}

static bool find_in_notes(const char *notes, uint64_t bytes, uint64_t align, uint64_t id[2])
{
    for (uint64_t at = 0; bytes - at >= sizeof(ElfW(Nhdr));) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note;
        uint64_t description = (name + note.n_namesz + align - 1) & -align;
        uint64_t next = (description + note.n_descsz + align - 1) & -align;
        if (description + note.n_descsz > bytes) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4)) {
            id[0] = id[1] = 0;
            memcpy(id, notes + description, note.n_descsz < 16 ? note.n_descsz : 16);
            return note.n_descsz > 0;
        }
        if (next > bytes) return false;
        at = next;
    }
    return false;
}

bool sl_build_id(const struct dl_phdr_info *object, uint64_t id[2])
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_NOTE || !is_mapped(object, part->p_vaddr, part->p_filesz)) continue;
        const char *notes = (const char *)(object->dlpi_addr + part->p_vaddr);
        if (find_in_notes(notes, part->p_filesz, part->p_align == 8 ? 8 : 4, id)) return true;
    }
    return false;
}

/* The program itself has no name in the loader's list. A relative name is resolved against the current
 * folder. */
static const char *path_of(const char *name)
{
    char path[SL_INTERN_LONGEST + 1];
    ssize_t length = 0;
    if (!*name) {
        length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        return sl_intern(path);
    }
    if (*name == '/' || !strchr(name, '/') || !getcwd(path, sizeof path)) return sl_intern(name);
    length = (ssize_t)strlen(path);
    if ((size_t)length + strlen(name) + 2 > sizeof path) return sl_intern(name);
    path[length++] = '/';
    strcpy(path + length, name);
    return sl_intern(path);
}

uint32_t sl_module_number(const struct dl_phdr_info *object, bool *is_new)
{
    uint64_t id[2] = {0}, key;
    *is_new = false;
    sl_build_id(object, id);
    /* With name and build id, because another object may be loaded at the same address later. */
    key = sl_hash_text(sl_hash_word(sl_hash_word(object->dlpi_addr, id[0]), id[1]), object->dlpi_name);
    if (!key) key = 1;
    for (uint32_t i = 0; i < SL_MODULES_MOST; i++) {
        uint64_t seen = atomic_load_explicit(&modules[i].key, memory_order_relaxed);
        if (!seen && atomic_compare_exchange_strong(&modules[i].key, &seen, key)) {
            modules[i].base = object->dlpi_addr;
            memcpy(modules[i].build_id, id, sizeof id);
            modules[i].path = path_of(object->dlpi_name);
            *is_new = true;
            return i + 1;
        }
        if (seen == key) return i + 1;
    }
    return 0;
}

bool sl_module_emit(uint32_t number)
{
    const struct module *module = &modules[number - 1];
    return sl_trace_emit((struct sl_event){.type = SL_EVENT_MODULE,
                                           .id = number,
                                           .a = module->base,
                                           .b = module->build_id[0],
                                           .c = module->build_id[1],
                                           .text = module->path});
}

/* --- identity */

#define NOTED_MOST 256
#define CODE_BYTES 65536u /* hashed for an object without a build id */

static _Atomic uint64_t noted[NOTED_MOST]; /* 0: free */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

uint64_t sl_identity_of_name(const char *path)
{
    return sl_hash_text(0, last_part(path));
}

void sl_identity_note(uint64_t name_hash)
{
    if (!name_hash) return; /* the program itself always counts */
    for (int i = 0; i < NOTED_MOST; i++) {
        uint64_t seen = atomic_load_explicit(&noted[i], memory_order_relaxed);
        if (!seen && atomic_compare_exchange_strong(&noted[i], &seen, name_hash)) return;
        if (seen == name_hash) return;
    }
}

static bool is_noted(uint64_t name_hash)
{
    for (int i = 0; i < NOTED_MOST; i++)
        if (atomic_load_explicit(&noted[i], memory_order_relaxed) == name_hash) return true;
    return false;
}

/* Identifies an object without a build id by its layout and the beginning of its code. */
static void fingerprint(const struct dl_phdr_info *object, uint64_t id[2])
{
    id[0] = id[1] = 1;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        id[0] = sl_hash_word(sl_hash_word(id[0], part->p_type), part->p_offset);
        id[0] = sl_hash_word(sl_hash_word(id[0], part->p_vaddr), part->p_filesz);
        if (part->p_type != PT_LOAD || (part->p_flags & (PF_R | PF_X | PF_W)) != (PF_R | PF_X)) continue;
        const char *code = (const char *)(object->dlpi_addr + part->p_vaddr);
        size_t bytes = part->p_filesz < CODE_BYTES ? part->p_filesz : CODE_BYTES;
        for (size_t at = 0; at + 8 <= bytes; at += 8) {
            uint64_t word;
            memcpy(&word, code + at, sizeof word);
            id[1] = sl_hash_word(id[1], word);
        }
    }
}

static void read_identity(const struct dl_phdr_info *object, uint64_t id[2])
{
    if (!sl_build_id(object, id)) fingerprint(object, id);
}

/* The program's own file, which the loader's list does not name. */
static const char *program_name(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return last_part(path);
}

struct collection {
    struct sl_object *objects;
    uint32_t count, capacity;
    bool failed;
};

static bool add(struct collection *to, const char *name, const struct dl_phdr_info *object)
{
    if (!sl_grow(&to->objects, &to->capacity, to->count, sizeof *to->objects)) return false;
    struct sl_object *added = &to->objects[to->count];
    *added = (struct sl_object){.name = strdup(name)};
    read_identity(object, added->build_id);
    to->count += added->name != NULL;
    return added->name != NULL;
}

static int collect_one(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct collection *to = argument;
    (void)bytes;
    if (!to->count) { /* the program comes first */
        char *path = malloc(PATH_MAX);
        to->failed = !path || !add(to, program_name(path), object);
        free(path);
    } else if (object->dlpi_name[0] && is_noted(sl_identity_of_name(object->dlpi_name))) {
        to->failed = !add(to, last_part(object->dlpi_name), object);
    }
    return to->failed;
}

bool sl_identity_collect(struct sl_object **objects, uint32_t *count)
{
    struct collection to = {0};
    dl_iterate_phdr(collect_one, &to);
    if (to.failed) {
        for (uint32_t i = 0; i < to.count; i++) free(to.objects[i].name);
        free(to.objects);
        return false;
    }
    *objects = to.objects;
    *count = to.count;
    return true;
}

struct comparison {
    const struct sl_object *objects;
    uint32_t count;
    bool began;
    const struct sl_object *other; /* the object with another build id */
};

static int compare_one(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct comparison *comparison = argument;
    const char *name = last_part(object->dlpi_name);
    uint64_t id[2] = {0};
    (void)bytes;
    bool program = !comparison->began;
    comparison->began = true;
    for (uint32_t i = 0; i < comparison->count && (i == 0 || !program); i++) {
        const struct sl_object *known = &comparison->objects[i];
        if ((i == 0) != program || (!program && strcmp(known->name, name) != 0)) continue;
        if (!known->build_id[0] && !known->build_id[1]) continue;
        read_identity(object, id);
        if (memcmp(id, known->build_id, sizeof id) != 0) comparison->other = known;
    }
    return comparison->other != NULL;
}

enum sl_identity_match sl_identity_match(const struct sl_object *objects, uint32_t count, const char **which)
{
    struct comparison comparison = {.objects = objects, .count = count};
    char *path = malloc(PATH_MAX);
    if (path && count && strcmp(program_name(path), objects[0].name) != 0) {
        free(path);
        *which = objects[0].name;
        return SL_IDENTITY_OTHER_PROGRAM;
    }
    free(path);
    dl_iterate_phdr(compare_one, &comparison);
    if (!comparison.other) return SL_IDENTITY_FITS;
    *which = comparison.other->name;
    return SL_IDENTITY_OTHER_VERSION;
}
