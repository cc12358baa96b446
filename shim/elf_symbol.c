#include "elf_symbol.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "no_sanitize.h"

/* The dynamic sections of one object that a look-up needs. */
struct object {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint16_t *versions;
    const ElfW(Verdef) * definitions;
};

struct query {
    const char *name, *version;
};

struct span {
    uintptr_t inside, low, high;
};

SL_NO_SANITIZE static bool same_text(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* The loader relocates these pointers in place, unless the section is read-only (vDSO). */
SL_NO_SANITIZE static const void *dynamic_pointer(uintptr_t base, uintptr_t value)
{
    return (const void *)(value < base ? base + value : value);
}

SL_NO_SANITIZE static bool read_object(const struct link_map *map, struct object *out)
{
    struct object object = {.base = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        const void *pointer = dynamic_pointer(map->l_addr, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object.symbols = pointer;
            break;
        case DT_STRTAB:
            object.strings = pointer;
            break;
        case DT_GNU_HASH:
            object.gnu_hash = pointer;
            break;
        case DT_VERSYM:
            object.versions = pointer;
            break;
        case DT_VERDEF:
            object.definitions = pointer;
            break;
        default:
            break;
        }
    }
    *out = object;
    return object.symbols && object.strings && object.gnu_hash;
}

/* The loader's rule: bit 15 of a version index hides all versions but the default one; a definition without a
 * version serves every reference. */
SL_NO_SANITIZE static bool version_fits(const struct object *object, uint32_t symbol, const char *version)
{
    if (!object->versions) return true;
    bool hidden = object->versions[symbol] & 0x8000, unversioned = (object->versions[symbol] & 0x7fff) <= 1;
    if (!version || unversioned) return !hidden;
    if (!object->definitions) return false;
    const ElfW(Verdef) *definition = object->definitions;
    while ((definition->vd_ndx & 0x7fff) != (object->versions[symbol] & 0x7fff)) {
        if (!definition->vd_next) return false;
        definition = (const ElfW(Verdef) *)((const char *)definition + definition->vd_next);
    }
    const ElfW(Verdaux) *name = (const ElfW(Verdaux) *)((const char *)definition + definition->vd_aux);
    return same_text(object->strings + name->vda_name, version);
}

/* DT_GNU_HASH: four words, a Bloom filter, buckets, then a chain word for each symbol from `first` on. The
 * lowest bit of a chain word ends the chain. */
SL_NO_SANITIZE static void *find_in_object(const struct object *object, const struct query *query)
{
    uint32_t hash = 5381;
    for (const char *c = query->name; *c; c++) hash = hash * 33 + (unsigned char)*c;

    uint32_t bucket_count = object->gnu_hash[0], first = object->gnu_hash[1],
             filter_words = object->gnu_hash[2];
    const uint32_t *buckets = object->gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + bucket_count;
    if (!bucket_count) return NULL;
    uint32_t i = buckets[hash % bucket_count];
    if (i < first) return NULL;
    for (;; i++) {
        uint32_t link = chain[i - first];
        const ElfW(Sym) *symbol = &object->symbols[i];
        if ((link | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            same_text(object->strings + symbol->st_name, query->name) &&
            version_fits(object, i, query->version))
            return (void *)(object->base + symbol->st_value);
        if (link & 1) return NULL;
    }
}

static bool holds(const struct dl_phdr_info *info, uintptr_t address, uintptr_t *low, uintptr_t *high)
{
    uintptr_t least = UINTPTR_MAX, most = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD) continue;
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (start < least) least = start;
        if (end > most) most = end;
    }
    if (address < least || address >= most) return false;
    *low = least;
    *high = most;
    return true;
}

static int visit_for_range(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct span *span = argument;
    (void)bytes;
    return holds(info, span->inside, &span->low, &span->high);
}

/* Both functions walk the loader's list as a debugger does: dl_iterate_phdr may be a sanitizer's, which is
 * not initialized when the sanitizer calls dlsym. */
SL_NO_SANITIZE void *sl_elf_symbol(const char *name, const char *version, const char *beside)
{
    const struct query query = {name, version}, mark = {beside, NULL};
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        struct object object;
        if (map->l_ld == _DYNAMIC || !read_object(map, &object)) continue;
        if (beside && !find_in_object(&object, &mark)) continue;
        void *found = find_in_object(&object, &query);
        if (found) return found;
    }
    return NULL;
}

SL_NO_SANITIZE void *sl_elf_next(const char *name, const char *version)
{
    const struct query query = {name, version};
    const struct link_map *map = _r_debug.r_map;
    while (map && map->l_ld != _DYNAMIC) map = map->l_next;
    for (map = map ? map->l_next : NULL; map; map = map->l_next) {
        struct object object;
        void *found = read_object(map, &object) ? find_in_object(&object, &query) : NULL;
        if (found) return found;
    }
    return NULL;
}

bool sl_elf_range(const void *address, uintptr_t *low, uintptr_t *high)
{
    struct span span = {.inside = (uintptr_t)address};
    bool found = dl_iterate_phdr(visit_for_range, &span) != 0;
    *low = span.low;
    *high = span.high;
    return found;
}
