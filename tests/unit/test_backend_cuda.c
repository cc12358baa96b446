/* What the backend says to the driver, with a driver that only takes notes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/backend_cuda.h"

static struct sl_cuda_driver driver;
static int host_node;     /* nearest to the device */
static bool refuses_node; /* as a place */
static struct sl_backend backend;
static const char *sysfs = "/nowhere";

/* What it takes to open the backend. */
static CUresult get_version(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}
static CUresult get_error_name(CUresult error, const char **name)
{
    (void)error;
    *name = "an error";
    return CUDA_SUCCESS;
}
static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID ? host_node : 1;
    return CUDA_SUCCESS;
}
static CUcontext current = (CUcontext)1, below; /* of the calling thread */

static CUresult get_context(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}
static CUresult push_context(CUcontext context)
{
    below = current;
    current = context;
    return CUDA_SUCCESS;
}
static CUresult pop_context(CUcontext *context)
{
    *context = current;
    current = below;
    return CUDA_SUCCESS;
}
static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    static CUstreamCaptureMode here = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode before = here;
    here = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
/* Each context has as much as its number says. */
static CUresult memory_info(size_t *free_bytes, size_t *total_bytes)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    exchange_mode(&mode);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    exchange_mode(&mode);
    *free_bytes = (size_t)current;
    *total_bytes = 100;
    return CUDA_SUCCESS;
}
static CUresult get_device(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}
static CUresult create_stream(CUstream *stream, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    *stream = (CUstream)1;
    return CUDA_SUCCESS;
}
static CUresult destroy_stream(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static unsigned event_flags;

static CUresult create_event(CUevent *event, unsigned flags)
{
    event_flags = flags;
    *event = (CUevent)1;
    return CUDA_SUCCESS;
}

static CUmemLocation preferred, prefetched; /* the last */
static int refusals;                        /* of movements, to come */

static CUresult judge_location(CUmemLocation location)
{
    bool refused = refuses_node && location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    return refused ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
static CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    (void)address, (void)bytes;
    if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) preferred = location;
    return judge_location(location);
}
static CUresult prefetch(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                         CUstream stream)
{
    (void)address, (void)bytes, (void)flags, (void)stream;
    if (refusals > 0 && refusals--) return CUDA_ERROR_UNKNOWN;
    prefetched = location;
    return judge_location(location);
}
static CUresult allocate(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    (void)bytes, (void)flags;
    *address = SL_GIB;
    return CUDA_SUCCESS;
}
static CUresult release(CUdeviceptr address)
{
    (void)address;
    return CUDA_SUCCESS;
}

static int open_backend(void **state)
{
    (void)state;
    driver = (struct sl_cuda_driver){.driver_get_version = get_version,
                                     .get_error_name = get_error_name,
                                     .device_get_attribute = get_attribute,
                                     .ctx_get_current = get_context,
                                     .ctx_get_device = get_device,
                                     .stream_create = create_stream,
                                     .stream_destroy = destroy_stream,
                                     .ctx_push_current = push_context,
                                     .ctx_pop_current = pop_context,
                                     .stream_exchange_capture_mode = exchange_mode,
                                     .mem_get_info = memory_info,
                                     .mem_advise = advise,
                                     .mem_prefetch = prefetch,
                                     .mem_alloc_managed = allocate,
                                     .mem_free = release,
                                     .event_create = create_event};
    return sl_backend_cuda_new(&driver, SL_MEMORY_MOVED, sysfs, &backend) == SL_OK ? 0 : -1;
}

static int close_backend(void **state)
{
    (void)state;
    backend.close(backend.self);
    return 0;
}

/* A wait that spins would keep a core of the program's busy for each thread of the daemon. */
static void a_host_wait_sleeps_and_only_what_is_read_has_a_time(void **state)
{
    (void)state;
    sl_event_handle event;
    assert_int_equal(backend.event_new(backend.self, &event), SL_OK);
    assert_int_equal(event_flags, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    assert_int_equal(backend.timed_event_new(backend.self, &event), SL_OK);
    assert_int_equal(event_flags, CU_EVENT_BLOCKING_SYNC);
}

/* The program may have any context current where it is asked what others took. */
static void the_devices_memory_is_that_of_the_managed_context(void **state)
{
    (void)state;
    uint64_t free_bytes, total_bytes;
    for (uintptr_t context = 0; context < 3; context++) {
        current = (CUcontext)context;
        assert_int_equal(backend.memory_info(backend.self, &free_bytes, &total_bytes), SL_OK);
        assert_int_equal(free_bytes, 1);
        assert_int_equal(current, context);
    }
    current = (CUcontext)1;
}

/* Evicts a block of a new slab, on a device that is nearest to `node`. */
static void evict_near(int node)
{
    struct sl_backend near;
    uint64_t slab;
    host_node = node;
    preferred = prefetched = (CUmemLocation){0};
    assert_int_equal(sl_backend_cuda_new(&driver, SL_MEMORY_MOVED, sysfs, &near), SL_OK);
    assert_int_equal(near.slab_new(near.self, SL_GIB, &slab), SL_OK);
    assert_int_equal(near.evict(near.self, slab, SL_BLOCK_BYTES, near.stream_out(near.self)), SL_OK);
    near.slab_delete(near.self, slab, SL_GIB);
    near.close(near.self);
    host_node = 0;
}

static void host_memory_lies_near_the_device(void **state)
{
    (void)state;
    evict_near(3);
    assert_int_equal(preferred.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    assert_int_equal(preferred.id, 3);
    assert_int_equal(prefetched.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    assert_int_equal(prefetched.id, 3);
    evict_near(-1); /* the driver knows of no nodes */
    assert_int_equal(preferred.type, CU_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(prefetched.type, CU_MEM_LOCATION_TYPE_HOST);
}

/* An older driver knows of no nodes, and the kernel does. */
static void the_kernel_knows_the_nearest_node(void **state)
{
    (void)state;
    char folder[] = "/tmp/sluice-node-XXXXXX", command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p bus/pci/devices/0001:01:01.0 devices/system/node && "
             "echo 1 >bus/pci/devices/0001:01:01.0/numa_node && echo 0-1 >devices/system/node/online",
             folder);
    assert_int_equal(system(command), 0);
    sysfs = folder;
    evict_near(-1);
    assert_int_equal(preferred.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    assert_int_equal(preferred.id, 1);
    snprintf(command, sizeof command, "echo 0 >%s/devices/system/node/online", folder);
    assert_int_equal(system(command), 0);
    evict_near(-1); /* it has only one */
    assert_int_equal(preferred.type, CU_MEM_LOCATION_TYPE_HOST);
    sysfs = "/nowhere";
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void any_host_memory_will_do(void **state)
{
    (void)state;
    refuses_node = true;
    evict_near(3);
    refuses_node = false;
    assert_int_equal(preferred.type, CU_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(prefetched.type, CU_MEM_LOCATION_TYPE_HOST);
}

/* A node may be full long after its first page was taken. */
static void a_node_that_is_full_is_left(void **state)
{
    (void)state;
    struct sl_backend near;
    uint64_t slab;
    host_node = 3;
    assert_int_equal(sl_backend_cuda_new(&driver, SL_MEMORY_MOVED, sysfs, &near), SL_OK);
    assert_int_equal(near.slab_new(near.self, SL_GIB, &slab), SL_OK);
    refuses_node = true;
    assert_int_equal(near.evict(near.self, slab, 64 * SL_MIB, near.stream_out(near.self)), SL_OK);
    assert_int_equal(prefetched.type, CU_MEM_LOCATION_TYPE_HOST);
    refuses_node = false;
    assert_int_equal(near.evict(near.self, slab, SL_BLOCK_BYTES, near.stream_out(near.self)), SL_OK);
    assert_int_equal(prefetched.type, CU_MEM_LOCATION_TYPE_HOST);
    near.slab_delete(near.self, slab, SL_GIB);
    near.close(near.self);
    host_node = 0;
}

static CUresult discard(CUdeviceptr *addresses, size_t *bytes, size_t count, unsigned long long flags,
                        CUstream stream)
{
    (void)addresses, (void)bytes, (void)count, (void)flags, (void)stream;
    return refusals > 0 && refusals-- ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

/* Else one refused call would stop all movement for the rest of the run. */
static void a_movement_that_is_refused_now_and_then_is_made(void **state)
{
    (void)state;
    driver.mem_discard_batch = discard;
    refusals = 2;
    assert_int_equal(backend.fetch(backend.self, SL_GIB, SL_MIB, backend.stream_in(backend.self)), SL_OK);
    refusals = 1;
    assert_int_equal(backend.evict(backend.self, SL_GIB, SL_MIB, backend.stream_out(backend.self)), SL_OK);
    refusals = 3;
    assert_int_equal(backend.discard(backend.self, SL_GIB, SL_MIB, backend.stream_out(backend.self)), SL_OK);
    assert_int_equal(refusals, 0);
    refusals = 1000;
    assert_int_equal(backend.fetch(backend.self, SL_GIB, SL_MIB, backend.stream_in(backend.self)),
                     SL_ERR_DRIVER);
    assert_int_equal(backend.discard(backend.self, SL_GIB, SL_MIB, backend.stream_out(backend.self)),
                     SL_ERR_DRIVER);
    refusals = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_wait_sleeps_and_only_what_is_read_has_a_time),
        cmocka_unit_test(the_devices_memory_is_that_of_the_managed_context),
        cmocka_unit_test(host_memory_lies_near_the_device),
        cmocka_unit_test(any_host_memory_will_do),
        cmocka_unit_test(the_kernel_knows_the_nearest_node),
        cmocka_unit_test(a_node_that_is_full_is_left),
        cmocka_unit_test(a_movement_that_is_refused_now_and_then_is_made),
    };
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
