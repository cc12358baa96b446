#include "trace/sites.h"

#include <link.h>
#include <stdatomic.h>
#include <unwind.h>

#include "base/map.h"
#include "trace/emit.h"
#include "trace/identity.h"
#include "trace/modules.h"
#include "trace/python_frames.h"
#include "trace/site_records.h"

#define MAX_FRAMES SL_SITE_FRAMES

struct walk {
    const void *caller;
    bool above; /* past the shim's own frames */
    int frames;
    uint64_t addresses; /* hash of raw return addresses */
    uint64_t python;    /* of the Python frames; 0: none */
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
    struct sl_frames *frames; /* for the trace, or NULL */
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

/* The object's number for the trace, and its frames in it. */
static void note_frame(struct places *out, const struct dl_phdr_info *object, uint32_t *module, int frame)
{
    struct sl_frames *frames = out->frames;
    bool is_new = false;
    if (!*module) *module = sl_module_number(object, &is_new);
    if (is_new) frames->new_modules[frames->new_count++] = *module;
    frames->modules[frame] = *module;
    if (*module) frames->offsets[frame] -= object->dlpi_addr;
}

static int find_in_object(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct places *out = argument;
    uint64_t name_hash = 0;
    bool hashed = false;
    uint32_t module = 0;
    (void)bytes;
    for (int i = 0; i < out->walk->frames; i++) {
        uint64_t address = (uint64_t)out->walk->stack[i];
        if (out->places[i] || !holds(object, address)) continue;
        if (!hashed) {
            name_hash = sl_identity_of_name(object->dlpi_name);
            sl_identity_note(name_hash);
            hashed = true;
        }
        out->places[i] = sl_hash_word(name_hash, address - object->dlpi_addr);
        if (out->frames) note_frame(out, object, &module, i);
    }
    return 0;
}

/* Looking return addresses up in their objects costs more than the walk, so recent sites are remembered: for
 * all threads, without a lock. A pair of words from two writers does not fit together and is not taken. */
#define REMEMBERED 1024
static struct {
    _Atomic uint64_t mixed, site; /* raw ^ site, site */
} remembered[REMEMBERED];

/* The site of a stack that is not remembered. *written: the trace, if there is one, has it. */
static uint64_t find_site(const struct walk *walk, bool *written)
{
    struct sl_frames frames = {.count = walk->frames};
    struct places found = {.walk = walk, .frames = sl_trace_emits() ? &frames : NULL};
    uint64_t site = 0;
    for (int i = 0; i < walk->frames; i++) frames.offsets[i] = (uint64_t)walk->stack[i];
    dl_iterate_phdr(find_in_object, &found);
    for (int i = 0; i < walk->frames; i++) site = sl_hash_word(site, found.places[i]);
    if (walk->python) site = sl_hash_word(site, walk->python);
    *written = !found.frames || sl_site_emit(site, &frames);
    return site;
}

uint64_t sl_site_here(const void *caller)
{
    struct walk walk = {.caller = caller, .python = sl_python_frames_hash()};
    _Unwind_Backtrace(step, &walk);
    if (!walk.frames) {
        walk.stack[walk.frames++] = caller;
        walk.addresses = (uint64_t)caller;
    }
    if (walk.python) walk.addresses = sl_hash_word(walk.addresses, walk.python);
    uint64_t raw = walk.addresses | 1, index = raw % REMEMBERED;
    uint64_t site = atomic_load_explicit(&remembered[index].site, memory_order_relaxed);
    if ((atomic_load_explicit(&remembered[index].mixed, memory_order_relaxed) ^ site) == raw) return site;
    bool written;
    site = find_site(&walk, &written);
    if (!written) return site; /* tried again the next time */
    atomic_store_explicit(&remembered[index].site, site, memory_order_relaxed);
    atomic_store_explicit(&remembered[index].mixed, raw ^ site, memory_order_relaxed);
    return site;
}
