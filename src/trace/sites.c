#include "trace/objects.h"

#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/grow.h"
#include "trace/events.h"
#include "trace/python_frames.h"
#include "trace/stack_walk.h"
#include "trace/trace_write.h"

#define RECORDS_MOST 4096u
#define MOST_PROBES 32

/* --- the sites of a trace: each is written once, before the first record that names it */

/* A call stack, innermost frame first. */
struct frames {
    int count;
    uint32_t modules[SL_SITE_FRAMES]; /* sl_module_number; 0: code outside objects, or too many modules */
    uint64_t offsets[SL_SITE_FRAMES]; /* return address - the module's load address (0: no module) */
    uint32_t new_modules[SL_SITE_FRAMES], new_count; /* modules that the trace does not know yet */
};

static _Atomic uint64_t recorded[RECORDS_MOST]; /* sites: open addressing, linear probing; 0: free */

/* The entry of `site`, or one that it can take; NULL: there are too many. */
static _Atomic uint64_t *place_of(uint64_t site)
{
    for (uint32_t probe = 0; probe < MOST_PROBES; probe++) {
        _Atomic uint64_t *place = &recorded[(site + probe) % RECORDS_MOST];
        uint64_t seen = atomic_load_explicit(place, memory_order_relaxed);
        if (!seen || seen == site) return place;
    }
    return NULL;
}

static char *put_hexadecimal(char *at, uint64_t value)
{
    int digits = 1;
    while (digits < 16 && value >> (4 * digits)) digits++;
    for (; digits; digits--) *at++ = "0123456789abcdef"[value >> (4 * (digits - 1)) & 15];
    return at;
}

static const char *frames_text(const struct frames *frames)
{
    char text[SL_SITE_FRAMES * (8 + 1 + 16 + 1) + 1], *at = text;
    for (int i = 0; i < frames->count; i++) {
        if (i) *at++ = ' ';
        at = put_hexadecimal(at, frames->modules[i]);
        *at++ = '+';
        at = put_hexadecimal(at, frames->offsets[i]);
    }
    *at = 0;
    return sl_intern(text);
}

/* A lost record is only missing in what is shown of the site. */
static void emit_python(const struct sl_python_frame *frame, uint32_t depth, void *site)
{
    sl_trace_emit((struct sl_event){.type = SL_EVENT_PYTHON,
                                    .id = depth,
                                    .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                                    .a = frame->line,
                                    .c = *(const uint64_t *)site,
                                    .text = sl_intern_some(frame->text)});
}

/* Writes the site, with the calling thread's frames of Python, if the trace does not have it. False: the
 * record was lost, and the next call for the site writes it again. Returns true without writing if there are
 * too many sites. Takes the time before other threads can see the site, so that their records of the site are
 * later. */
static bool emit_site(uint64_t site, const struct frames *frames)
{
    for (uint32_t i = 0; i < frames->new_count; i++) sl_module_emit(frames->new_modules[i]);
    struct sl_event event = {.type = SL_EVENT_SITE, .time_ns = sl_clock_ns(CLOCK_MONOTONIC), .c = site};
    _Atomic uint64_t *place = place_of(site);
    uint64_t free_place = 0;
    if (!place || !atomic_compare_exchange_strong(place, &free_place, site)) return true;
    event.text = frames_text(frames);
    if (!strcmp(event.text, SL_INTERN_LOST)) return true;
    if (!sl_trace_emit(event)) {
        atomic_store(place, 0);
        return false;
    }
    sl_python_frames_each(emit_python, &site);
    return true;
}

/* --- the site of a call */

/* Code addresses as (object, offset), so that a site is equal in every run despite address randomisation; 0
 * outside objects. Does not use dladdr, which waits for a thread inside dlopen, whose constructors may in
 * turn wait for this thread. */
struct places {
    const struct sl_stack *stack;
    uint64_t places[SL_SITE_FRAMES];
    struct frames *frames; /* for the trace, or NULL */
};

/* Sets the frame's module number for the trace, and its offset in the module. */
static void note_frame(struct places *out, const struct dl_phdr_info *object, uint32_t *module, int frame)
{
    struct frames *frames = out->frames;
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
        if (out->places[i] || !sl_object_holds(object, address)) continue;
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
struct remembered {
    _Atomic uint64_t mixed, site; /* raw ^ site, site */
};
static void *_Atomic table;

/* A hash of raw return addresses. */
static uint64_t hash_of(const struct sl_stack *stack, uint64_t python)
{
    uint64_t hash = python;
    for (int i = 0; i < stack->count; i++) hash = sl_hash_word(hash, (uint64_t)stack->at[i]);
    return hash | 1;
}

/* NULL: there is no memory for the cache. */
static struct remembered *cached_at(uint64_t raw)
{
    struct remembered *all = sl_table_at(&table, REMEMBERED * sizeof(*all));
    return all ? &all[raw / 2 % REMEMBERED] : NULL;
}

static bool is_remembered(uint64_t raw, uint64_t *site)
{
    struct remembered *place = cached_at(raw);
    if (!place) return false;
    *site = atomic_load_explicit(&place->site, memory_order_relaxed);
    return (atomic_load_explicit(&place->mixed, memory_order_relaxed) ^ *site) == raw;
}

static void remember(uint64_t raw, uint64_t site)
{
    struct remembered *place = cached_at(raw);
    if (!place) return;
    atomic_store_explicit(&place->site, site, memory_order_relaxed);
    atomic_store_explicit(&place->mixed, raw ^ site, memory_order_relaxed);
}

/* The site of a stack that is not cached. *written: the trace, if there is one, has the site. */
static uint64_t find_site(const struct sl_stack *stack, uint64_t python, bool *written)
{
    struct frames frames = {.count = stack->count};
    struct places found = {.stack = stack, .frames = sl_trace_emits() ? &frames : NULL};
    uint64_t site = 0;
    for (int i = 0; i < stack->count; i++) frames.offsets[i] = (uint64_t)stack->at[i];
    dl_iterate_phdr(find_in_object, &found);
    for (int i = 0; i < stack->count; i++) site = sl_hash_word(site, found.places[i]);
    if (python) site = sl_hash_word(site, python);
    *written = !found.frames || emit_site(site, &frames);
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
