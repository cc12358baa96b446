#include "trace/sites.h"

#include <link.h>
#include <stdatomic.h>

#include "base/map.h"
#include "trace/objects.h"
#include "trace/python_frames.h"
#include "trace/site_records.h"
#include "trace/stack_walk.h"
#include "trace/trace_write.h"

/* Code addresses as (object, offset), so that a site is equal in every run despite address randomisation; 0
 * outside objects. Does not use dladdr, which waits for a thread inside dlopen, whose constructors may in
 * turn wait for this thread. */
struct places {
    const struct sl_stack *stack;
    uint64_t places[SL_SITE_FRAMES];
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

/* Sets the frame's module number for the trace, and its offset in the module. */
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
    for (int i = 0; i < out->stack->count; i++) {
        uint64_t address = (uint64_t)out->stack->at[i];
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

/* Looking return addresses up in their objects costs more than the walk, so recent sites are cached: for all
 * threads, without a lock. A pair of words from two writers is inconsistent and ignored. */
#define REMEMBERED 16384
static struct {
    _Atomic uint64_t mixed, site; /* raw ^ site, site */
} remembered[REMEMBERED];

/* A hash of raw return addresses. */
static uint64_t hash_of(const struct sl_stack *stack, uint64_t python)
{
    uint64_t hash = python;
    for (int i = 0; i < stack->count; i++) hash = sl_hash_word(hash, (uint64_t)stack->at[i]);
    return hash | 1;
}

static bool is_remembered(uint64_t raw, uint64_t *site)
{
    *site = atomic_load_explicit(&remembered[raw / 2 % REMEMBERED].site, memory_order_relaxed);
    return (atomic_load_explicit(&remembered[raw / 2 % REMEMBERED].mixed, memory_order_relaxed) ^ *site) ==
           raw;
}

static void remember(uint64_t raw, uint64_t site)
{
    atomic_store_explicit(&remembered[raw / 2 % REMEMBERED].site, site, memory_order_relaxed);
    atomic_store_explicit(&remembered[raw / 2 % REMEMBERED].mixed, raw ^ site, memory_order_relaxed);
}

/* The site of a stack that is not cached. *written: the trace, if there is one, has the site. */
static uint64_t find_site(const struct sl_stack *stack, uint64_t python, bool *written)
{
    struct sl_frames frames = {.count = stack->count};
    struct places found = {.stack = stack, .frames = sl_trace_emits() ? &frames : NULL};
    uint64_t site = 0;
    for (int i = 0; i < stack->count; i++) frames.offsets[i] = (uint64_t)stack->at[i];
    dl_iterate_phdr(find_in_object, &found);
    for (int i = 0; i < stack->count; i++) site = sl_hash_word(site, found.places[i]);
    if (python) site = sl_hash_word(site, python);
    *written = !found.frames || sl_site_emit(site, &frames);
    return site;
}

/* A wrongly recalled stack was never unwound, so its hash is not cached. */
__attribute__((noinline)) uint64_t sl_site_here(const void *caller)
{
    struct sl_stack stack;
    uint64_t python = sl_python_frames_hash(), site;
    if (sl_stack_recall(__builtin_frame_address(0), caller, &stack) &&
        is_remembered(hash_of(&stack, python), &site))
        return site;
    sl_stack_unwind(caller, &stack);
    uint64_t raw = hash_of(&stack, python);
    if (is_remembered(raw, &site)) return site;
    bool written;
    site = find_site(&stack, python, &written);
    if (written) remember(raw, site); /* else the next call tries again */
    return site;
}
