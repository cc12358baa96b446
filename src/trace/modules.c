#include "trace/modules.h"

#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/map.h"
#include "trace/trace_write.h"

static struct module {
    _Atomic uint64_t key; /* 0: free. Its setter owns the rest until it is written */
    uint64_t base, build_id[2];
    const char *path;
} modules[SL_MODULES_MOST];

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

/* Includes name and build id because another object may be loaded at the same address later. */
static uint64_t key_of(const struct dl_phdr_info *object, const uint64_t id[2])
{
    uint64_t key = sl_hash_word(sl_hash_word(object->dlpi_addr, id[0]), id[1]);
    for (const char *c = object->dlpi_name; *c; c++) key = sl_hash_word(key, (unsigned char)*c);
    return key ? key : 1;
}

uint32_t sl_module_number(const struct dl_phdr_info *object, bool *is_new)
{
    uint64_t id[2] = {0}, key;
    *is_new = false;
    sl_build_id(object, id);
    key = key_of(object, id);
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
