#include "variable.h"

#include <stdlib.h>
#include <string.h>

/* A managed variable of a library. The library may be unloaded before the last operation that keeps one of
 * its modules alive, so it is referenced by its id. */
struct shared {
    struct shared *next;
    unsigned long long library_id;
    char *name;
    struct sc_allocation *allocation;
    unsigned refs;
};

static struct shared *all_shared;

static uint64_t allocate(void *context, size_t bytes, size_t align)
{
    const struct sc_loaded *loaded = context;
    struct sc_allocation *allocation = sc_device_allocate(loaded->context, bytes, align);
    if (!allocation) return 0;
    allocation->internal = true;
    return allocation->begin;
}

static struct sc_allocation *allocate_managed(struct sc_context *owner, size_t bytes)
{
    struct sc_allocation *allocation = sc_managed_memory(owner, bytes, CU_MEM_ATTACH_GLOBAL);
    if (allocation) allocation->internal = true;
    return allocation;
}

static void drop(struct sc_allocation *allocation)
{
    sc_memory_log_free(allocation);
    sc_memory_release(allocation);
}

static struct shared *share(unsigned long long library_id, const char *name, size_t bytes)
{
    struct shared *shared = calloc(1, sizeof *shared);
    if (!shared) return NULL;
    shared->library_id = library_id;
    shared->name = strdup(name);
    if (shared->name) shared->allocation = allocate_managed(NULL, bytes);
    if (!shared->allocation) {
        free(shared->name);
        free(shared);
        return NULL;
    }
    shared->next = all_shared;
    all_shared = shared;
    return shared;
}

static uint64_t allocate_shared(void *context, const char *name, size_t bytes, size_t align, bool *fresh)
{
    (void)align; /* managed memory is aligned to its 2 MiB blocks */
    const struct sc_loaded *loaded = context;
    *fresh = true;
    if (!loaded->library) {
        struct sc_allocation *allocation = allocate_managed(loaded->context, bytes);
        return allocation ? allocation->begin : 0;
    }
    unsigned long long id = loaded->library->id;
    struct shared *shared = all_shared;
    while (shared && (shared->library_id != id || strcmp(shared->name, name))) shared = shared->next;
    if (shared && shared->allocation->bytes != bytes) return 0;
    if (shared)
        *fresh = false;
    else
        shared = share(id, name, bytes);
    if (!shared) return 0;
    shared->refs++;
    return shared->allocation->begin;
}

static void release(void *context, uint64_t address)
{
    (void)context;
    struct shared **at = &all_shared;
    while (*at && (*at)->allocation->begin != address) at = &(*at)->next;
    struct shared *shared = *at;
    if (!shared) {
        struct sc_allocation *allocation = sc_space_find(address);
        if (allocation) drop(allocation);
        return;
    }
    if (--shared->refs) return;
    *at = shared->next;
    drop(shared->allocation);
    free(shared->name);
    free(shared);
}

struct sc_module_memory sc_variable_memory(struct sc_loaded *loaded)
{
    return (struct sc_module_memory){
        .allocate = allocate, .release = release, .context = loaded, .allocate_managed = allocate_shared};
}
