#include "captured_launch.h"

#include "captured_table.h"
#include "core/runtime.h"
#include "driver.h"
#include "driver_status.h"

static bool touches(const struct sl_footprint *footprint, const struct sl_captured_memory *memory)
{
    for (uint32_t w = 0; w < footprint->count; w++)
        if (footprint->words[w].address - memory->address < memory->bytes) return true;
    return false;
}

/* Whether memory that the graph allocates, and does not free itself, is in use. Precondition: the lock is
 * held. */
static bool holds_memory(uint64_t graph)
{
    for (const struct sl_capture *capture = sl_captured.captures; capture && graph; capture = capture->next)
        for (const struct sl_captured_memory *memory = capture->memory; memory; memory = memory->next)
            if (capture->number == graph && !memory->freed && memory->in_use) return true;
    return false;
}

/* Memory of other graphs that a launch of this one frees may be allocated again. Precondition: the lock is
 * held. */
static void free_elsewhere(uint64_t graph)
{
    struct sl_capture *owner;
    for (const struct sl_capture *capture = sl_captured.captures; capture && graph; capture = capture->next)
        for (const struct sl_freed_elsewhere *freed = capture->frees; freed; freed = freed->next) {
            struct sl_captured_memory *memory =
                capture->number == graph ? sl_captured_find(freed->address, &owner) : NULL;
            if (!memory || !memory->in_use) continue;
            memory->in_use = false;
            atomic_fetch_add(&sl_captured.changes, 1);
        }
}

/* Marks the memory that the launch allocates as in use. Returns a free that the launch has to wait for, of
 * memory at *address, or NULL. Memory that is not in use can only be touched by a launch of its own graph,
 * which allocates it. Precondition: the lock is held. */
static CUevent take_into_use(uint64_t graph, const struct sl_footprint *footprint, CUdeviceptr *address)
{
    for (struct sl_capture *capture = sl_captured.captures; capture; capture = capture->next)
        for (struct sl_captured_memory *memory = capture->memory; memory; memory = memory->next) {
            if (memory->freed || memory->in_use) continue;
            if (!(graph && capture->number == graph) && !(footprint && touches(footprint, memory))) continue;
            CUevent behind = memory->behind;
            memory->in_use = true;
            memory->behind = NULL;
            *address = memory->address;
            atomic_fetch_add(&sl_captured.changes, 1); /* another graph may free it */
            if (behind) return behind;
        }
    return NULL;
}

/* One step of the launch. *behind: a free that it has to wait for, and then goes on; NULL: it was the last.
 */
static CUresult take_step(struct sl_captured_part *part, const struct sl_footprint *footprint, bool first,
                          CUdeviceptr *address, CUevent *behind)
{
    pthread_mutex_lock(&sl_captured.lock);
    bool refused = first && !part->frees && holds_memory(part->graph);
    *behind = refused ? NULL : take_into_use(part->graph, footprint, address);
    if (!refused && !*behind) free_elsewhere(part->graph);
    part->holds = holds_memory(part->graph);
    part->seen = atomic_load(&sl_captured.changes);
    pthread_mutex_unlock(&sl_captured.lock);
    return refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* The launch cannot wait for the free and is not made: the next one waits for it. */
static void put_back(struct sl_captured_part *part, CUdeviceptr address, CUevent behind)
{
    struct sl_capture *owner;
    pthread_mutex_lock(&sl_captured.lock);
    struct sl_captured_memory *memory = sl_captured_find(address, &owner);
    bool kept = memory && !memory->behind;
    if (kept) {
        memory->in_use = false;
        memory->behind = behind;
    }
    part->holds = holds_memory(part->graph);
    part->seen = 0;
    pthread_mutex_unlock(&sl_captured.lock);
    if (!kept) sl_driver_functions()->event_destroy(behind);
}

CUresult sl_captured_launch(struct sl_captured_part *part, const struct sl_footprint *footprint,
                            CUstream stream)
{
    CUdeviceptr address = 0;
    CUevent behind;
    if (part->seen == atomic_load(&sl_captured.changes))
        return part->holds && !part->frees ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    CUresult result = take_step(part, footprint, true, &address, &behind);
    while (behind) {
        if (sl_runtime_order(stream, behind)) {
            put_back(part, address, behind);
            return sl_driver_refusal_or(address, CUDA_ERROR_UNKNOWN);
        }
        sl_driver_functions()->event_destroy(behind);
        take_step(part, footprint, false, &address, &behind);
    }
    return result;
}

void sl_captured_launch_refused(struct sl_captured_part *part)
{
    if (!part->graph || part->frees) return;
    pthread_mutex_lock(&sl_captured.lock);
    for (struct sl_capture *capture = sl_captured.captures; capture; capture = capture->next)
        for (struct sl_captured_memory *memory = capture->memory; memory; memory = memory->next)
            if (capture->number == part->graph && !memory->freed) memory->in_use = false;
    atomic_fetch_add(&sl_captured.changes, 1);
    pthread_mutex_unlock(&sl_captured.lock);
}
