#include "captured_memory.h"

#include <stdlib.h>

#include "captured_table.h"
#include "core/runtime.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "driver_status.h"
#include "memory.h"
#include "session.h"

/* Memory freed in a capture is reused only if at most a quarter of it stays unused. */
#define LEAST_PART(bytes) ((bytes) - (bytes) / 4)

struct sl_captured_table sl_captured = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct stream_capture {
    cuuint64_t id;
    CUgraph graph;
    unsigned long long stream; /* its id; 0: unknown */
};

/* Whether the stream captures. Unknown: the driver does not say; *refused is its status. */
static struct sl_answer capture_of(CUstream stream, struct stream_capture *out, CUresult *refused)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!driver || !driver->stream_get_capture_info || !driver->user_object_create ||
        !driver->graph_retain_user_object)
        return sl_answer_of(false);
    *refused =
        SL_PERSIST(driver->stream_get_capture_info(stream, &status, &out->id, &out->graph, NULL, NULL));
    if (*refused != CUDA_SUCCESS) return sl_no_answer();
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return sl_answer_of(false);
    if (!driver->stream_get_id || driver->stream_get_id(stream, &out->stream) != CUDA_SUCCESS)
        out->stream = 0;
    return sl_answer_of(true);
}

/* Precondition: the lock is held. */
static struct sl_capture *find_capture(cuuint64_t id)
{
    struct sl_capture *capture = sl_captured.captures;
    while (capture && (capture->over || capture->refused || capture->id != id)) capture = capture->next;
    return capture;
}

struct sl_captured_memory *sl_captured_find(CUdeviceptr address, struct sl_capture **owner)
{
    if (sl_map_get(&sl_captured.addresses, address) == SL_NONE) return NULL;
    for (struct sl_capture *capture = sl_captured.captures; capture; capture = capture->next)
        for (struct sl_captured_memory *memory = capture->memory; memory; memory = memory->next)
            if (memory->address == address) {
                *owner = capture;
                return memory;
            }
    return NULL;
}

/* No graph refers to the capture any more. Runs in a thread of the driver, where its functions must not be
 * called. */
static void CUDA_CB end_capture(void *argument)
{
    pthread_mutex_lock(&sl_captured.lock);
    ((struct sl_capture *)argument)->over = true;
    atomic_store(&sl_captured.any_over, true);
    pthread_mutex_unlock(&sl_captured.lock);
}

/* The number of the graph; 0: none of a capture. Precondition: the lock is held. */
static uint64_t number_of(CUgraph graph)
{
    for (const struct sl_capture *capture = sl_captured.captures; capture && graph; capture = capture->next)
        if (!capture->over && capture->graph == graph) return capture->number;
    return 0;
}

uint64_t sl_captured_graph(CUgraph graph)
{
    if (!atomic_load(&sl_captured.any)) return 0;
    pthread_mutex_lock(&sl_captured.lock);
    uint64_t number = number_of(graph);
    pthread_mutex_unlock(&sl_captured.lock);
    return number;
}

void sl_captured_graph_destroyed(CUgraph graph)
{
    if (!atomic_load(&sl_captured.any)) return;
    pthread_mutex_lock(&sl_captured.lock);
    for (struct sl_capture *capture = sl_captured.captures; capture; capture = capture->next)
        if (capture->graph == graph) capture->graph = NULL;
    pthread_mutex_unlock(&sl_captured.lock);
}

/* Makes the graph that is being captured refer to a new entry. */
static enum sl_status add_capture(const struct stream_capture *where)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    struct sl_capture *capture = calloc(1, sizeof *capture);
    if (!capture) return SL_ERR_NO_MEMORY;
    capture->id = where->id;
    if (driver->user_object_create(&capture->object, capture, end_capture, 1,
                                   CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS)
        return SL_ERR_UNSUPPORTED; /* an object may refer to the entry all the same */
    pthread_mutex_lock(&sl_captured.lock);
    capture->number = number_of(where->graph); /* several captures may extend one graph */
    if (!capture->number) capture->number = ++sl_captured.graphs;
    capture->graph = where->graph;
    capture->next = sl_captured.captures;
    sl_captured.captures = capture;
    pthread_mutex_unlock(&sl_captured.lock);
    atomic_store(&sl_captured.any, true);
    if (driver->graph_retain_user_object(where->graph, capture->object, 1, CU_GRAPH_USER_OBJECT_MOVE) ==
        CUDA_SUCCESS)
        return SL_OK;
    /* The graph may refer to the entry all the same, so that it must not be released. */
    pthread_mutex_lock(&sl_captured.lock);
    capture->refused = true;
    pthread_mutex_unlock(&sl_captured.lock);
    return SL_ERR_UNSUPPORTED;
}

/* The smallest fitting memory that the same capture freed, in order before the stream's next node, or NULL.
 * Precondition: the lock is held. */
static struct sl_captured_memory *find_freed(struct sl_capture *capture, unsigned long long stream,
                                             uint64_t bytes)
{
    struct sl_captured_memory *best = NULL;
    for (struct sl_captured_memory *memory = capture->memory; memory && stream; memory = memory->next)
        if (memory->freed && memory->freed_by == stream && memory->bytes >= bytes &&
            LEAST_PART(memory->bytes) <= bytes && (!best || memory->bytes < best->bytes))
            best = memory;
    return best;
}

/* 0: no freed memory fits. *known: the capture has an entry. */
static CUdeviceptr take_freed(const struct stream_capture *where, uint64_t bytes, bool *known)
{
    CUdeviceptr address = 0;
    pthread_mutex_lock(&sl_captured.lock);
    struct sl_capture *capture = find_capture(where->id);
    struct sl_captured_memory *memory = capture ? find_freed(capture, where->stream, bytes) : NULL;
    if (memory) {
        memory->freed = false;
        address = memory->address;
        atomic_fetch_add(&sl_captured.changes, 1);
    }
    *known = capture != NULL;
    pthread_mutex_unlock(&sl_captured.lock);
    return address;
}

/* False: the capture is over already, or out of host memory. */
static bool add_memory(cuuint64_t id, struct sl_captured_memory *memory)
{
    pthread_mutex_lock(&sl_captured.lock);
    struct sl_capture *capture = find_capture(id);
    bool added = capture && sl_map_put(&sl_captured.addresses, memory->address, 0);
    if (added) {
        memory->next = capture->memory;
        capture->memory = memory;
        atomic_fetch_add(&sl_captured.changes, 1);
    }
    pthread_mutex_unlock(&sl_captured.lock);
    return added;
}

bool sl_captured_alloc(struct sl_call call, CUstream stream, uint64_t bytes, CUdeviceptr *address,
                       CUresult *result)
{
    struct stream_capture where;
    bool known;
    if (!sl_is_yes(capture_of(stream, &where, result))) return false; /* the driver has memory for both */
    CUdeviceptr again = take_freed(&where, bytes, &known);
    *result = CUDA_SUCCESS;
    if (again) {
        *address = again;
        return true;
    }
    struct sl_captured_memory *memory = NULL;
    uint64_t given;
    enum sl_status status = known ? SL_OK : add_capture(&where);
    if (status == SL_OK && !(memory = calloc(1, sizeof *memory))) status = SL_ERR_NO_MEMORY;
    if (status == SL_OK) status = sl_runtime_alloc(bytes, sl_site_here(call.caller), 0, NULL, &given);
    if (status == SL_OK) {
        *memory = (struct sl_captured_memory){.address = given, .bytes = bytes};
        if (add_memory(where.id, memory)) {
            *address = given;
            return true;
        }
        sl_runtime_free(given, NULL);
        status = SL_ERR_NO_MEMORY;
    }
    free(memory);
    return sl_memory_status(status, result);
}

/* Notes that launches of this graph free memory of another one. */
static enum sl_status note_free(const struct stream_capture *where, CUdeviceptr address)
{
    struct sl_freed_elsewhere *freed = malloc(sizeof *freed);
    pthread_mutex_lock(&sl_captured.lock);
    bool known = find_capture(where->id) != NULL;
    pthread_mutex_unlock(&sl_captured.lock);
    enum sl_status status = !freed ? SL_ERR_NO_MEMORY : known ? SL_OK : add_capture(where);
    pthread_mutex_lock(&sl_captured.lock);
    struct sl_capture *capture = status == SL_OK ? find_capture(where->id) : NULL;
    if (capture) {
        *freed = (struct sl_freed_elsewhere){capture->frees, address};
        capture->frees = freed;
        atomic_fetch_add(&sl_captured.changes, 1);
    }
    pthread_mutex_unlock(&sl_captured.lock);
    if (!capture) free(freed);
    return status;
}

/* A launch of this graph frees memory of another one: the memory lives as long as either graph. Unlike in the
 * driver, the memory stays allocated after that launch, but the other graph may be launched again. */
static CUresult free_of_another(const struct stream_capture *where, CUuserObject object, CUdeviceptr address,
                                bool freed)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (freed || !sl_memory_status(note_free(where, address), &result)) return result;
    return result == CUDA_SUCCESS
               ? sl_driver_functions()->graph_retain_user_object(where->graph, object, 1, 0)
               : result;
}

bool sl_captured_free_in_order(CUdeviceptr address, CUstream stream, CUresult *result)
{
    struct stream_capture where;
    struct sl_capture *owner;
    if (!atomic_load(&sl_captured.any)) return false;
    struct sl_answer captures_here = capture_of(stream, &where, result);
    if (!sl_is_yes(captures_here)) return !sl_is_no(captures_here);
    pthread_mutex_lock(&sl_captured.lock);
    struct sl_captured_memory *memory = sl_captured_find(address, &owner);
    bool was_freed = memory && memory->freed, own = memory && owner->id == where.id;
    CUuserObject object = memory ? owner->object : NULL;
    if (own) {
        memory->freed = true;
        memory->freed_by = where.stream;
    }
    pthread_mutex_unlock(&sl_captured.lock);
    if (!memory) return false;
    *result = was_freed ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!own) *result = free_of_another(&where, object, address, was_freed);
    return true;
}

/* An event after all work given to the stream so far, or NULL where there is no stream or its work is done.
 */
static CUresult point_of(const CUstream *stream, CUevent *out)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    *out = NULL;
    if (!stream) return CUDA_SUCCESS;
    CUresult result = driver->event_create(out, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) {
        *out = NULL;
        return driver->stream_synchronize(*stream);
    }
    if (sl_runtime_record(*out, *stream) == SL_OK) return CUDA_SUCCESS;
    driver->event_destroy(*out);
    *out = NULL;
    return sl_driver_refusal_or(0, CUDA_ERROR_UNKNOWN);
}

bool sl_captured_free(CUdeviceptr address, const CUstream *stream, CUresult *result)
{
    struct sl_capture *owner;
    if (!atomic_load(&sl_captured.any)) return false;
    pthread_mutex_lock(&sl_captured.lock);
    bool known = sl_captured_find(address, &owner) != NULL;
    pthread_mutex_unlock(&sl_captured.lock);
    if (!known) return false;
    CUevent behind;
    *result = point_of(stream, &behind);
    if (*result != CUDA_SUCCESS) return true; /* it stays in use */
    pthread_mutex_lock(&sl_captured.lock);
    struct sl_captured_memory *memory = sl_captured_find(address, &owner);
    *result = !memory || memory->freed || !memory->in_use ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (*result == CUDA_SUCCESS) {
        CUevent before = memory->behind;
        memory->in_use = false;
        memory->behind = behind;
        behind = before;
        atomic_fetch_add(&sl_captured.changes, 1);
    }
    pthread_mutex_unlock(&sl_captured.lock);
    if (behind) sl_driver_functions()->event_destroy(behind);
    return true;
}

void sl_captured_out_of_order(CUstream stream)
{
    struct stream_capture where = {0};
    CUresult refused;
    if (!atomic_load(&sl_captured.any)) return;
    struct sl_answer captures_here = capture_of(stream, &where, &refused);
    if (sl_is_no(captures_here)) return;
    bool all = !sl_is_yes(captures_here); /* whichever capture it is */
    pthread_mutex_lock(&sl_captured.lock);
    for (struct sl_capture *capture = sl_captured.captures; capture; capture = capture->next)
        for (struct sl_captured_memory *memory = capture->memory; memory; memory = memory->next)
            if (all || (capture->id == where.id && (!where.stream || memory->freed_by == where.stream)))
                memory->freed_by = 0;
    pthread_mutex_unlock(&sl_captured.lock);
}

/* Removes the entries that are over from the list and returns them. */
static struct sl_capture *take_those_over(void)
{
    struct sl_capture *over = NULL;
    pthread_mutex_lock(&sl_captured.lock);
    atomic_store(&sl_captured.any_over, false);
    for (struct sl_capture **at = &sl_captured.captures; *at;) {
        struct sl_capture *capture = *at;
        if (!capture->over) {
            at = &capture->next;
            continue;
        }
        for (struct sl_captured_memory *memory = capture->memory; memory; memory = memory->next)
            sl_map_remove(&sl_captured.addresses, memory->address);
        *at = capture->next;
        capture->next = over;
        over = capture;
    }
    pthread_mutex_unlock(&sl_captured.lock);
    return over;
}

/* Frees memory at the end of its capture, unless a launch allocated it and nothing freed it since: such
 * memory outlives its graph, like any other allocation. */
static void give_back(struct sl_captured_memory *memory)
{
    if (memory->freed || !memory->in_use) sl_runtime_free(memory->address, NULL);
    if (memory->behind) sl_driver_functions()->event_destroy(memory->behind);
    free(memory);
}

void sl_captured_settle(void)
{
    if (!atomic_load_explicit(&sl_captured.any_over, memory_order_relaxed)) return;
    for (struct sl_capture *capture = take_those_over(), *next; capture; capture = next) {
        next = capture->next;
        for (struct sl_captured_memory *memory = capture->memory, *following; memory; memory = following) {
            following = memory->next;
            give_back(memory);
        }
        for (struct sl_freed_elsewhere *freed = capture->frees, *following; freed; freed = following) {
            following = freed->next;
            free(freed);
        }
        free(capture);
    }
}

void sl_captured_memory_gone(uint32_t core)
{
    uint32_t owner;
    struct sl_captured_memory *gone = NULL;
    if (!atomic_load(&sl_captured.any)) return;
    pthread_mutex_lock(&sl_captured.lock);
    for (struct sl_capture *capture = sl_captured.captures; capture; capture = capture->next)
        for (struct sl_captured_memory **at = &capture->memory; *at;) {
            struct sl_captured_memory *memory = *at;
            if (!sl_cores_owner(memory->address, &owner) || owner != core) {
                at = &memory->next;
                continue;
            }
            sl_map_remove(&sl_captured.addresses, memory->address);
            *at = memory->next;
            memory->next = gone;
            gone = memory;
        }
    pthread_mutex_unlock(&sl_captured.lock);
    for (struct sl_captured_memory *next; gone; gone = next) {
        next = gone->next;
        free(gone);
    }
}

/* Frees nothing: another thread of the parent may have held the allocator's lock when the child was cloned.
 */
void sl_captured_after_fork(void)
{
    pthread_mutex_init(&sl_captured.lock, NULL);
    sl_captured.captures = NULL;
    sl_captured.addresses = (struct sl_map){0};
    atomic_store(&sl_captured.any, false);
    atomic_store(&sl_captured.any_over, false);
}
