/* Memory of the backends on the driver: what the driver refuses is given back without touching a capture of
 * the program's, and every device may touch every slab. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/types.h"
#include "device/cuda_slabs.h"

enum { GIVEN = 3 << 20, SLAB_BYTES = 1 << 30 };

static CUstreamCaptureMode mode;
static int allocated, registered;                            /* and not freed */
static int advices_refused, frees_refused, pointers_refused; /* to come */
static uint64_t advised[8]; /* for each device, the last slab that it may touch */
static struct sl_cuda first, second;

static CUresult error_name(CUresult error, const char **name)
{
    (void)error;
    *name = "an error";
    return CUDA_SUCCESS;
}

static CUresult get_context(CUcontext *context)
{
    *context = NULL; /* that of both */
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *exchanged)
{
    CUstreamCaptureMode before = mode;
    mode = *exchanged;
    *exchanged = before;
    return CUDA_SUCCESS;
}

static bool refuses(int *refusals)
{
    return *refusals > 0 && (*refusals)--;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    (void)flags;
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(bytes, SLAB_BYTES + SL_GIB);
    *address = GIVEN + 4 * SL_GIB * (uint64_t)allocated++;
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr address)
{
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(address % SL_GIB, GIVEN);
    if (refuses(&frees_refused)) return CUDA_ERROR_UNKNOWN;
    allocated--;
    return CUDA_SUCCESS;
}

static CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    assert_int_equal(bytes, SLAB_BYTES);
    if (advice != CU_MEM_ADVISE_SET_ACCESSED_BY) return CUDA_SUCCESS;
    if (refuses(&advices_refused)) return CUDA_ERROR_UNKNOWN;
    advised[location.id] = address;
    return CUDA_SUCCESS;
}

static CUresult register_host(void *address, size_t bytes, unsigned flags)
{
    (void)address, (void)bytes, (void)flags;
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    registered++;
    return CUDA_SUCCESS;
}

static CUresult unregister_host(void *address)
{
    (void)address;
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    registered--;
    return CUDA_SUCCESS;
}

static CUresult device_pointer(CUdeviceptr *out, void *address, unsigned flags)
{
    (void)flags;
    *out = (CUdeviceptr)address + (refuses(&pointers_refused) ? 4096 : 0);
    return CUDA_SUCCESS;
}

static const struct sl_cuda_driver driver = {.get_error_name = error_name,
                                             .stream_exchange_capture_mode = exchange_mode,
                                             .ctx_get_current = get_context,
                                             .mem_alloc_managed = allocate,
                                             .mem_free = release,
                                             .mem_advise = advise,
                                             .mem_host_register = register_host,
                                             .mem_host_unregister = unregister_host,
                                             .mem_host_get_device_pointer = device_pointer};

static int start(void **state)
{
    (void)state;
    mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    allocated = registered = advices_refused = frees_refused = pointers_refused = 0;
    advised[0] = advised[1] = 0;
    first = (struct sl_cuda){.driver = &driver, .device = 0, .moves = true, .host_node = -1};
    second = (struct sl_cuda){.driver = &driver, .device = 1, .moves = true, .host_node = -1};
    return 0;
}

static int stop(void **state)
{
    (void)state;
    return allocated || registered || mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? -1 : 0;
}

static void a_slab_starts_at_a_whole_gib_and_is_given_back_whole(void **state)
{
    (void)state;
    uint64_t slab;
    assert_int_equal(sl_cuda_slab_new(&first, SLAB_BYTES, &slab), SL_OK);
    assert_int_equal(slab, SL_GIB);
    frees_refused = SL_CUDA_TRIES - 1;
    sl_cuda_slab_delete(&first, slab + SL_GIB, SLAB_BYTES); /* not one of ours */
    assert_int_equal(allocated, 1);
    sl_cuda_slab_delete(&first, slab, SLAB_BYTES);
}

static void what_cannot_be_kept_from_moving_is_given_back(void **state)
{
    (void)state;
    uint64_t slab = 7;
    advices_refused = SL_CUDA_TRIES;
    assert_int_equal(sl_cuda_slab_new(&first, SLAB_BYTES, &slab), SL_ERR_DRIVER);
    assert_int_equal(slab, 7);
    assert_int_equal(allocated, 0);
    assert_null(first.slabs);
    advices_refused = 1; /* now and then it does not matter */
    assert_int_equal(sl_cuda_slab_new(&first, SLAB_BYTES, &slab), SL_OK);
    sl_cuda_slab_delete(&first, slab, SLAB_BYTES);
}

/* Else what a peer touches would move to the host. */
static void every_device_may_touch_every_slab(void **state)
{
    (void)state;
    uint64_t older, newer;
    sl_cuda_join(&first);
    assert_int_equal(sl_cuda_slab_new(&first, SLAB_BYTES, &older), SL_OK);
    sl_cuda_join(&second);
    assert_int_equal(advised[1], older);
    assert_int_equal(sl_cuda_slab_new(&first, SLAB_BYTES, &newer), SL_OK);
    assert_int_equal(advised[1], newer);
    sl_cuda_part(&second);
    sl_cuda_part(&second);
    advised[1] = 0;
    sl_cuda_slab_delete(&first, newer, SLAB_BYTES);
    assert_int_equal(sl_cuda_slab_new(&first, SLAB_BYTES, &newer), SL_OK);
    assert_int_equal(advised[1], 0);
    sl_cuda_slab_delete(&first, older, SLAB_BYTES);
    sl_cuda_slab_delete(&first, newer, SLAB_BYTES);
    sl_cuda_part(&first);
}

static void pinned_memory_has_the_hosts_addresses(void **state)
{
    (void)state;
    uint64_t address;
    assert_int_equal(sl_cuda_pinned_new(&first, SLAB_BYTES, &address), SL_OK);
    assert_int_equal(address % SL_GIB, 0);
    sl_cuda_pinned_delete(&first, address, SLAB_BYTES);
    pointers_refused = 1;
    assert_int_equal(sl_cuda_pinned_new(&first, SLAB_BYTES, &address), SL_ERR_UNSUPPORTED);
}

static void a_node_that_refuses_is_left_for_good(void **state)
{
    (void)state;
    first.host_node = 1;
    CUmemLocation to = sl_cuda_host(&first);
    assert_int_equal(to.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    assert_true(sl_cuda_leaves_node(&first, &to));
    assert_int_equal(to.type, CU_MEM_LOCATION_TYPE_HOST);
    assert_false(sl_cuda_leaves_node(&first, &to));
    assert_int_equal(sl_cuda_host(&first).type, CU_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(sl_cuda_device(&second).id, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slab_starts_at_a_whole_gib_and_is_given_back_whole, start, stop),
        cmocka_unit_test_setup_teardown(what_cannot_be_kept_from_moving_is_given_back, start, stop),
        cmocka_unit_test_setup_teardown(every_device_may_touch_every_slab, start, stop),
        cmocka_unit_test_setup_teardown(pinned_memory_has_the_hosts_addresses, start, stop),
        cmocka_unit_test_setup_teardown(a_node_that_refuses_is_left_for_good, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
