/* The API for advice, prefetch, discard and the attributes of managed memory. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "hidden.h"
#include "queue.h"

/* Sets *out to the place of a location and, for a device, its number. false: not a place of this machine. */
static bool place_of(CUmemLocation location, struct sc_span *out)
{
    out->ordinal = 0;
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        out->to = SC_DEVICE;
        out->ordinal = location.id;
        return sc_device_at(location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        out->to = SC_HOST;
        return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        out->to = SC_HOST;
        return location.id >= 0 && (uint64_t)location.id < sc_options()->numa_nodes;
    default:
        return false;
    }
}

/* The older functions use device -1 for the host. */
static CUmemLocation location_of(CUdevice device)
{
    if (device == CU_DEVICE_CPU) return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
}

static bool is_managed(uint64_t address, uint64_t bytes)
{
    struct sc_allocation *allocation = bytes ? sc_space_find_range(address, bytes) : NULL;
    return allocation && allocation->kind == SC_MEMORY_MANAGED;
}

/* Advice applies to whole pages. */
static struct sc_span page_span(uint64_t address, uint64_t bytes)
{
    uint64_t begin = address & ~UINT64_C(4095), end = (address + bytes + 4095) & ~UINT64_C(4095);
    return (struct sc_span){.address = begin, .bytes = end - begin};
}

static CUresult log_advice(uint64_t address, uint64_t bytes, enum sc_advice advice,
                           const struct sc_span *place)
{
    struct sc_op *op = sc_op_new(SC_OP_ADVISE, sc_current());
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->advise = (struct sc_advise_work){page_span(address, bytes), advice};
    op->advise.span.to = place->to;
    op->advise.span.ordinal = place->ordinal;
    struct sc_span span = op->advise.span;
    sc_queue_host(op);
    if (advice == SC_ADVISE_READ_MOSTLY) sc_hidden_advised(&span, true);
    if (advice == SC_ADVISE_NOT_READ_MOSTLY) {
        sc_hidden_advised(&span, false);
        /* The host may read its bytes behind this call. */
        if (sc_options()->hide_write) sc_queue_settle(NULL);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                CUmemLocation location)
{
    static const struct {
        bool known, needs_place;
        enum sc_advice advice;
    } rows[] = {
        [CU_MEM_ADVISE_SET_READ_MOSTLY] = {true, false, SC_ADVISE_READ_MOSTLY},
        [CU_MEM_ADVISE_UNSET_READ_MOSTLY] = {true, false, SC_ADVISE_NOT_READ_MOSTLY},
        [CU_MEM_ADVISE_SET_PREFERRED_LOCATION] = {true, true, SC_ADVISE_PREFERRED},
        [CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION] = {true, false, SC_ADVISE_PREFERRED},
        [CU_MEM_ADVISE_SET_ACCESSED_BY] = {true, true, SC_ADVISE_ACCESSED_BY},
        [CU_MEM_ADVISE_UNSET_ACCESSED_BY] = {true, true, SC_ADVISE_NOT_ACCESSED_BY},
    };
    if ((unsigned)advice >= sizeof rows / sizeof *rows || !rows[advice].known)
        return CUDA_ERROR_INVALID_VALUE;
    struct sc_span place = {.to = SC_NOWHERE};
    if (rows[advice].needs_place && !place_of(location, &place)) return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    if (!is_managed(address, bytes)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    return sc_leave(log_advice(address, bytes, rows[advice].advice, &place));
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

/* Real time, in ns, for which a prefetch blocks its caller, in addition to the simulated time. A vendor's
 * driver moves memory to the host inside the call if the stream is idle. */
static uint64_t blocked_ns(const struct sc_stream *stream, enum sc_op_kind kind, const struct sc_span *spans,
                           size_t count)
{
    const struct sc_options *options = sc_options();
    uint64_t bytes = 0;
    if (!options->blocking_moves || kind != SC_OP_PREFETCH || stream->branch) return 0;
    if (stream->last && stream->last->state != SC_OP_DONE) return 0;
    for (size_t i = 0; i < count; i++)
        if (spans[i].to == SC_HOST) bytes += spans[i].bytes;
    return (uint64_t)((double)bytes / options->link_out_gbps) * options->blocking_moves;
}

/* pre: the lock is not held. */
static void block(uint64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    while (ns && nanosleep(&left, &left)) {
    }
}

static CUresult submit_move(enum sc_op_kind kind, CUstream handle, struct sc_span *spans, size_t count)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) {
        free(spans);
        return result;
    }
    struct sc_stream *stream = sc_stream_find(handle);
    if (!stream) result = CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < count && !result; i++)
        if (!is_managed(spans[i].address, spans[i].bytes)) result = CUDA_ERROR_INVALID_VALUE;
    struct sc_op *op = result ? NULL : sc_op_new(kind, stream->context);
    if (!result && !op) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        free(spans);
        return sc_leave(result);
    }
    uint64_t held_up_ns = blocked_ns(stream, kind, spans, count);
    op->move = (struct sc_move_work){spans, count};
    result = sc_leave(sc_queue_submit(stream, op));
    block(held_up_ns);
    return result;
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
                                       unsigned int flags, CUstream handle)
{
    if (flags || !bytes) return CUDA_ERROR_INVALID_VALUE;
    struct sc_span place = {.address = address, .bytes = bytes};
    if (!place_of(location, &place)) return CUDA_ERROR_INVALID_DEVICE;
    struct sc_span *span = malloc(sizeof *span);
    if (!span) return CUDA_ERROR_OUT_OF_MEMORY;
    *span = place;
    return submit_move(SC_OP_PREFETCH, handle, span, 1);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream handle)
{
    return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, handle);
}

/* The batch calls refuse the legacy stream. */
static bool is_legacy(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY;
}

/* Ranges i with indices[k] <= i < indices[k + 1] have the location locations[k]. */
static CUresult batch(enum sc_op_kind kind, CUdeviceptr *addresses, size_t *sizes, size_t count,
                      CUmemLocation *locations, size_t *indices, size_t location_count,
                      unsigned long long flags, CUstream handle)
{
    if (!addresses || !sizes || !count || flags || is_legacy(handle)) return CUDA_ERROR_INVALID_VALUE;
    if (kind != SC_OP_DISCARD &&
        (!locations || !indices || !location_count || location_count > count || indices[0]))
        return CUDA_ERROR_INVALID_VALUE;
    struct sc_span *spans = calloc(count, sizeof *spans);
    if (!spans) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_SUCCESS;
    size_t at = 0;
    for (size_t i = 0; i < count && !result; i++) {
        spans[i] = (struct sc_span){.address = addresses[i], .bytes = sizes[i]};
        if (kind == SC_OP_DISCARD) continue;
        if (at + 1 < location_count && indices[at + 1] <= i) at++;
        if (at + 1 < location_count && indices[at + 1] <= i)
            result = CUDA_ERROR_INVALID_VALUE; /* not ascending */
        if (!result && !place_of(locations[at], &spans[i])) result = CUDA_ERROR_INVALID_DEVICE;
    }
    if (result) {
        free(spans);
        return result;
    }
    return submit_move(kind, handle, spans, count);
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                         CUmemLocation *locations, size_t *indices, size_t location_count,
                                         unsigned long long flags, CUstream stream)
{
    return batch(SC_OP_PREFETCH, addresses, sizes, count, locations, indices, location_count, flags, stream);
}

CUresult CUDAAPI cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                        unsigned long long flags, CUstream stream)
{
    return batch(SC_OP_DISCARD, addresses, sizes, count, NULL, NULL, 0, flags, stream);
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                                   CUmemLocation *locations, size_t *indices,
                                                   size_t location_count, unsigned long long flags,
                                                   CUstream stream)
{
    return batch(SC_OP_DISCARD_PREFETCH, addresses, sizes, count, locations, indices, location_count, flags,
                 stream);
}

/* The preferred or last prefetched place of a block in one device's view. All views agree on it, because at
 * most one device or the host is named. */
static enum sc_place place_in(const struct sc_managed_block *block, bool preferred)
{
    return preferred ? block->preferred : block->last_prefetch;
}

/* Returns a place as the API numbers it. */
static int place_at(uint64_t address, bool preferred)
{
    int found = CU_DEVICE_INVALID;
    for (int i = 0; i < sc_device_count(); i++) {
        const struct sc_managed_block *block = sc_managed_find(&sc_device_at(i)->timing.managed, address);
        enum sc_place place = block ? place_in(block, preferred) : SC_NOWHERE;
        if (place == SC_DEVICE) return i;
        if (place == SC_HOST) found = CU_DEVICE_CPU;
    }
    return found;
}

/* The place that all blocks of the range have in common. */
static int common_place(uint64_t address, uint64_t bytes, bool preferred)
{
    int common = place_at(address, preferred);
    for (uint64_t at = address; at < address + bytes; at = (at | (SC_BLOCK_BYTES - 1)) + 1)
        if (place_at(at, preferred) != common) return CU_DEVICE_INVALID;
    return common;
}

static bool all_blocks(const struct sc_device *device, uint64_t address, uint64_t bytes,
                       bool (*holds)(const struct sc_managed_block *))
{
    struct sc_managed *managed = (struct sc_managed *)&device->timing.managed;
    for (uint64_t at = address; at < address + bytes; at = (at | (SC_BLOCK_BYTES - 1)) + 1) {
        const struct sc_managed_block *block = sc_managed_find(managed, at);
        if (!block || !holds(block)) return false;
    }
    return true;
}

static bool read_mostly(const struct sc_managed_block *block)
{
    return block->read_mostly;
}

static bool by_device(const struct sc_managed_block *block)
{
    return block->accessed_by_device;
}

static bool by_host(const struct sc_managed_block *block)
{
    return block->accessed_by_host;
}

static int type_of(int place)
{
    return place >= 0               ? CU_MEM_LOCATION_TYPE_DEVICE
           : place == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                    : CU_MEM_LOCATION_TYPE_INVALID;
}

static CUresult accessed_by(int *data, size_t data_bytes, uint64_t address, uint64_t bytes)
{
    if (!data_bytes || data_bytes % sizeof *data) return CUDA_ERROR_INVALID_VALUE;
    size_t count = data_bytes / sizeof *data, used = 0;
    for (int i = 0; i < sc_device_count() && used < count; i++)
        if (all_blocks(sc_device_at(i), address, bytes, by_device)) data[used++] = i;
    if (used < count && all_blocks(sc_device_at(0), address, bytes, by_host)) data[used++] = CU_DEVICE_CPU;
    while (used < count) data[used++] = CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
}

static CUresult range_attribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
                                uint64_t address, uint64_t bytes)
{
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) return accessed_by(data, data_bytes, address, bytes);
    if (data_bytes != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
    int *value = data;
    int preferred = common_place(address, bytes, true);
    int prefetched = common_place(address, bytes, false);
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        *value = all_blocks(sc_device_at(0), address, bytes, read_mostly);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *value = preferred;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *value = prefetched;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        *value = type_of(preferred);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *value = type_of(prefetched);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        *value = preferred > 0 ? preferred : 0;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        *value = prefetched > 0 ? prefetched : 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *data_bytes, CUmem_range_attribute *attributes,
                                         size_t count, CUdeviceptr address, size_t bytes)
{
    if (!data || !data_bytes || !attributes || !count) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    /* Residency is known up to the entries that have times, so time everything up to this call. */
    sc_queue_settle(NULL);
    if (!is_managed(address, bytes)) result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++)
        result = range_attribute(data[i], data_bytes[i], attributes[i], address, bytes);
    return sc_leave(result);
}

CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
                                        CUdeviceptr address, size_t bytes)
{
    return cuMemRangeGetAttributes(&data, &data_bytes, &attribute, 1, address, bytes);
}
