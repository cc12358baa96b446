/* Memory of the backends on the driver: what the driver refuses is given back without touching a capture of
 * the program's, and every device may touch every slab. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/types.h"
#include "device/cuda_call.h"

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

/* On which node host memory is put: the wrong one costs every transfer the way between two processors, and a
 * preference where there is no choice is a call for nothing. */
#define BYTES ((size_t)1 << 21)
#define OF_ADDRESS 2 /* MPOL_F_ADDR */

static void the_driver_knows_best(void **state)
{
    (void)state;
    static const struct {
        int driver, kernel;
        bool several;
        int node;
    } cases[] = {{1, 0, true, 1},    {0, 1, true, 0},    {0, 1, false, -1},
                 {3, -1, false, 3},  {-1, 1, true, 1},   {-1, 0, true, 0},
                 {-1, 1, false, -1}, {-1, -1, true, -1}, {-1, -1, false, -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(sl_host_node_nearest(cases[i].driver, cases[i].kernel, cases[i].several),
                         cases[i].node);
}

/* Policy and first node of the pages at the address; -1: the kernel does not say. */
static int policy_at(const void *address, unsigned long *nodes)
{
    int policy = -1;
    unsigned long mask[16] = {0};
    if (syscall(SYS_get_mempolicy, &policy, mask, 1024ul, address, OF_ADDRESS) != 0) return -1;
    *nodes = mask[0];
    return policy;
}

static void pages_are_preferred_on_the_node(void **state)
{
    (void)state;
    unsigned long nodes = 0;
    char *memory = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    if (policy_at(memory, &nodes) != 0) {
        munmap(memory, 2 * BYTES);
        skip(); /* a kernel without NUMA, or a container that may not ask */
    }
    assert_false(sl_host_node_prefer((uint64_t)memory, BYTES, -1));
    assert_false(sl_host_node_prefer((uint64_t)memory, BYTES, 1024));
    assert_false(sl_host_node_prefer((uint64_t)memory, BYTES, 1000)); /* that the host does not have */
    assert_int_equal(policy_at(memory, &nodes), 0);
    assert_true(sl_host_node_prefer((uint64_t)memory, BYTES, 0));
    assert_int_equal(policy_at(memory, &nodes), 1);
    assert_int_equal(nodes, 1);
    assert_int_equal(policy_at(memory + BYTES, &nodes), 0); /* and no others */
    munmap(memory, 2 * BYTES);
}

/* Host memory for a pinned slab: where it lies, what behind it is nobody else's, and that a child has none of
 * it. */
static const uint64_t sizes[] = {SL_BLOCK_BYTES, SL_GIB - SL_BLOCK_BYTES, SL_GIB, SL_GIB + SL_BLOCK_BYTES};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static uint64_t reserved(uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(sl_reserve(bytes, &address), SL_OK);
    return address;
}

/* The rights of the mapping that the address is in, such as "rw-p"; "": there is none. */
static const char *rights_of(uint64_t address)
{
    static char rights[8];
    unsigned long long begin, end;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) abort();
    bool found = false;
    while (!found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%llx-%llx %4s", &begin, &end, rights) == 3 && address >= begin && address < end;
    fclose(maps);
    return found ? rights : "";
}

/* Whether the page is free for anybody who maps memory there. */
static bool is_free(uint64_t address)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *given =
        mmap((void *)address, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (given == MAP_FAILED) return false;
    munmap(given, page);
    return given == (void *)address;
}

static void memory_starts_at_a_gib_and_ends_with_its_size(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        uint64_t address = reserved(sizes[i]), end = address + sizes[i];
        assert_int_equal(address % SL_GIB, 0);
        *(volatile char *)address = 1;
        *(volatile char *)(end - 1) = 2;
        assert_int_equal(*(volatile char *)(end - SL_KIB), 0);
        if (end % SL_GIB) assert_string_equal(rights_of(end), "---p");
        sl_unreserve(address, sizes[i]);
    }
}

/* A slab is known by the GiB that an address is in: no other memory may be in its last one. */
static void the_rest_of_the_last_gib_is_nobody_elses(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < SIZES; i++) {
        uint64_t address = reserved(sizes[i]), last = (address + sizes[i] - 1) | (SL_GIB - 1);
        assert_false(is_free(address));
        assert_false(is_free(address + sizes[i] - page));
        assert_false(is_free((last + 1) - page));
        if (sizes[i] % SL_GIB) assert_false(is_free(address + sizes[i]));
        sl_unreserve(address, sizes[i]);
        assert_true(is_free(address));
        assert_true(is_free((last + 1) - page));
    }
}

static void slabs_lie_apart(void **state)
{
    (void)state;
    uint64_t one = reserved(SL_BLOCK_BYTES), other = reserved(SL_BLOCK_BYTES);
    assert_true((one > other ? one - other : other - one) >= SL_GIB);
    sl_unreserve(one, SL_BLOCK_BYTES);
    *(volatile char *)other = 1;
    sl_unreserve(other, SL_BLOCK_BYTES);
}

/* The device goes on writing to the parent's pages: a copy that a child makes would move the parent's away.
 */
static void a_child_has_none_of_it(void **state)
{
    (void)state;
    uint64_t address = reserved(SL_BLOCK_BYTES);
    int status;
    *(volatile char *)address = 1;
    pid_t child = fork();
    if (child == 0) _exit(*rights_of(address) || *rights_of(address + SL_BLOCK_BYTES - 1));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(rights_of(address), "rw-p");
    sl_unreserve(address, SL_BLOCK_BYTES);
}

static void more_than_there_are_addresses_is_refused(void **state)
{
    (void)state;
    uint64_t address = 77;
    assert_int_equal(sl_reserve((uint64_t)1 << 62, &address), SL_ERR_NO_MEMORY);
    assert_int_equal(address, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slab_starts_at_a_whole_gib_and_is_given_back_whole, start, stop),
        cmocka_unit_test_setup_teardown(what_cannot_be_kept_from_moving_is_given_back, start, stop),
        cmocka_unit_test_setup_teardown(every_device_may_touch_every_slab, start, stop),
        cmocka_unit_test_setup_teardown(pinned_memory_has_the_hosts_addresses, start, stop),
        cmocka_unit_test_setup_teardown(a_node_that_refuses_is_left_for_good, start, stop),
        cmocka_unit_test(the_driver_knows_best),
        cmocka_unit_test(pages_are_preferred_on_the_node),
        cmocka_unit_test(memory_starts_at_a_gib_and_ends_with_its_size),
        cmocka_unit_test(the_rest_of_the_last_gib_is_nobody_elses),
        cmocka_unit_test(slabs_lie_apart),
        cmocka_unit_test(a_child_has_none_of_it),
        cmocka_unit_test(more_than_there_are_addresses_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
