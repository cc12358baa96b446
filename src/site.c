#include "runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include "map.h"

#define MAX_FRAMES 24

/* A code address as (object, offset), so that a site is the same in every run in spite of address
 * randomisation. */
static uint64_t stable_address(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return 0;
    uint64_t hash = 0;
    const char *name = map->l_name;
    for (const char *c = name; *c; c++)
        if (*c == '/') name = c + 1; /* the file may lie elsewhere next time */
    for (; *name; name++) hash = sl_hash_word(hash, (unsigned char)*name);
    return sl_hash_word(hash, (uint64_t)address - map->l_addr);
}

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

/* Looking a return address up in its object costs more than the walk; a thread's recent sites are remembered.
 */
#define REMEMBERED 256
static _Thread_local struct {
    uint64_t raw, site;
} remembered[REMEMBERED] __attribute__((tls_model("initial-exec")));

uint64_t sl_site_here(const void *caller)
{
    struct walk walk = {.caller = caller};
    _Unwind_Backtrace(step, &walk);
    if (!walk.frames) {
        walk.stack[walk.frames++] = caller;
        walk.addresses = (uint64_t)caller;
    }
    uint64_t raw = walk.addresses | 1;
    if (remembered[raw % REMEMBERED].raw == raw) return remembered[raw % REMEMBERED].site;
    uint64_t site = 0;
    for (int i = 0; i < walk.frames; i++) site = sl_hash_word(site, stable_address(walk.stack[i]));
    remembered[raw % REMEMBERED].raw = raw;
    remembered[raw % REMEMBERED].site = site;
    return site;
}
