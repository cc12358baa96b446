#include "runtime.h"

#include <link.h>
#include <stdatomic.h>
#include <unwind.h>

#include "map.h"

#define MAX_FRAMES 24

struct walk {
    const void *caller;
    bool above; /* past the shim's own frames */
    int frames;
    uint64_t addresses; /* hash of raw return addresses */
    const void *stack[MAX_FRAMES];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    const void *address = (const void *)_Unwind_GetIP(context);
    if (address == walk->caller) walk->above = true;
    if (!walk->above) return _URC_NO_REASON;
    if (walk->frames == MAX_FRAMES || !address) return _URC_END_OF_STACK;
    walk->stack[walk->frames++] = address;
    walk->addresses = sl_hash_word(walk->addresses, (uint64_t)address);
    return _URC_NO_REASON;
}

/* Code addresses as (object, offset), so that a site is the same in every run in spite of address
 * randomisation; 0 where no object is. Not by dladdr: that waits for a thread inside dlopen, whose
 * constructors may in turn be waiting for this one. */
struct places {
    const struct walk *walk;
    uint64_t places[MAX_FRAMES];
};

static bool holds(const struct dl_phdr_info *object, uint64_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

static int find_in_object(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct places *out = argument;
    uint64_t name_hash = 0;
    bool hashed = false;
    (void)bytes;
    for (int i = 0; i < out->walk->frames; i++) {
        uint64_t address = (uint64_t)out->walk->stack[i];
        if (out->places[i] || !holds(object, address)) continue;
        if (!hashed) {
            const char *name = object->dlpi_name;
            for (const char *c = name; *c; c++)
                if (*c == '/') name = c + 1; /* the file may lie elsewhere next time */
            for (; *name; name++) name_hash = sl_hash_word(name_hash, (unsigned char)*name);
            hashed = true;
        }
        out->places[i] = sl_hash_word(name_hash, address - object->dlpi_addr);
    }
    return 0;
}

/* Looking return addresses up in their objects costs more than the walk, so recent sites are remembered: for
 * all threads, without a lock. A pair of words from two writers does not fit together and is not taken. */
#define REMEMBERED 1024
static struct {
    _Atomic uint64_t mixed, site; /* raw ^ site, site */
} remembered[REMEMBERED];

uint64_t sl_site_here(const void *caller)
{
    struct walk walk = {.caller = caller};
    _Unwind_Backtrace(step, &walk);
    if (!walk.frames) {
        walk.stack[walk.frames++] = caller;
        walk.addresses = (uint64_t)caller;
    }
    uint64_t raw = walk.addresses | 1, index = raw % REMEMBERED;
    uint64_t site = atomic_load_explicit(&remembered[index].site, memory_order_relaxed);
    if ((atomic_load_explicit(&remembered[index].mixed, memory_order_relaxed) ^ site) == raw) return site;
    struct places found = {.walk = &walk};
    dl_iterate_phdr(find_in_object, &found);
    site = 0;
    for (int i = 0; i < walk.frames; i++) site = sl_hash_word(site, found.places[i]);
    atomic_store_explicit(&remembered[index].site, site, memory_order_relaxed);
    atomic_store_explicit(&remembered[index].mixed, raw ^ site, memory_order_relaxed);
    return site;
}
