/* What was charged must come back exactly, whatever the order, and never more than was charged. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "array_bytes.h"
#include "charge.h"
#include "core/runtime.h"
#include "driver.h"
#include "physical.h"

static _Atomic int64_t charged, lowest, of_second;
__thread uint32_t sl_thread_core __attribute__((tls_model("initial-exec")));

/* Stands where the cores are, which sum this up. */
void sl_runtime_charge_to(uint32_t number, int64_t bytes)
{
    if (number == 1) of_second += bytes;
    int64_t now = atomic_fetch_add(&charged, bytes) + bytes;
    if (now < atomic_load(&lowest)) atomic_store(&lowest, now);
}

static CUcontext current;

static CUresult get_current(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

const struct sl_cuda_driver *sl_driver_functions(void)
{
    static const struct sl_cuda_driver driver = {.ctx_get_current = get_current};
    return &driver;
}

static void only_what_was_charged_comes_back(void **state)
{
    (void)state;
    sl_uncharge(SL_CHARGE_ADDRESS, 0x1000);
    sl_charge(SL_CHARGE_ADDRESS, 0x1000, 100);
    sl_charge(SL_CHARGE_PHYSICAL, 0x1000, 10);
    sl_uncharge(SL_CHARGE_ARRAY, 0x1000);
    assert_int_equal(charged, 110);
    sl_uncharge(SL_CHARGE_ADDRESS, 0x1000);
    sl_uncharge(SL_CHARGE_ADDRESS, 0x1000);
    assert_int_equal(charged, 10);
    sl_charge(SL_CHARGE_PHYSICAL, 0x1000, 30); /* a handle that the driver gave out anew */
    assert_int_equal(charged, 30);
    sl_uncharge(SL_CHARGE_PHYSICAL, 0x1000);
    assert_int_equal(charged, 0);
    assert_int_equal(lowest, 0);
}

/* The thread may have another device by then. */
static void it_comes_back_where_it_was_charged(void **state)
{
    (void)state;
    sl_cores_turn_to(1);
    sl_charge(SL_CHARGE_ADDRESS, 0x5000, 100);
    sl_cores_turn_to(0);
    sl_charge(SL_CHARGE_ADDRESS, 0x5000, 70); /* the same memory */
    assert_int_equal(of_second, 70);
    sl_uncharge(SL_CHARGE_ADDRESS, 0x5000);
    assert_int_equal(of_second, 0);
    assert_int_equal(charged, 0);
}

static void what_was_taken_back_is_told(void **state)
{
    (void)state;
    sl_charge(SL_CHARGE_ARRAY, 5, 64);
    assert_int_equal(sl_uncharge(SL_CHARGE_ARRAY, 5), 64);
    assert_int_equal(sl_uncharge(SL_CHARGE_ARRAY, 5), 0);
    assert_int_equal(charged, 0);
}

/* The same memory of another process may be opened several times. */
static void opened_twice_it_is_charged_once(void **state)
{
    (void)state;
    sl_charge(SL_CHARGE_IPC, 9, 100);
    sl_charge(SL_CHARGE_IPC, 9, 100);
    assert_int_equal(charged, 100);
    sl_uncharge(SL_CHARGE_IPC, 9);
    assert_int_equal(charged, 100);
    sl_uncharge(SL_CHARGE_IPC, 9);
    assert_int_equal(charged, 0);
    assert_int_equal(lowest, 0);
}

/* It is there while a handle or a mapping holds it, and its handle's number may come again meanwhile. */
static void physical_memory_lives_by_handles_and_mappings(void **state)
{
    const uint64_t block = 2 << 20, at = UINT64_C(0x700000000000);
    (void)state;
    sl_physical_made(1, 2 * block);
    sl_physical_mapped(at, 2 * block, 1);
    sl_physical_retained(1, at + block + 5);
    sl_physical_released(1);
    sl_physical_released(1);
    assert_int_equal(charged, 2 * block);
    sl_physical_made(1, block);
    sl_physical_mapped(at + 2 * block, block, 1);
    assert_int_equal(charged, 3 * block);
    sl_physical_unmapped(at, 3 * block);
    assert_int_equal(charged, block);
    sl_physical_released(1);
    sl_physical_released(1);
    sl_physical_unmapped(at, 3 * block);
    assert_int_equal(charged, 0);
    sl_physical_made(2, 0); /* another process's */
    assert_int_equal(charged, 0);
    sl_physical_mapped(at, block, 2);
    assert_int_equal(charged, block);
    sl_physical_unmapped(at, block);
    assert_int_equal(charged, block);
    sl_physical_released(2);
    assert_int_equal(charged, 0);
    assert_int_equal(lowest, 0);
}

static void arrays_by_their_elements(void **state)
{
    (void)state;
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 64, .Height = 32, .Depth = 0, .Format = CU_AD_FORMAT_HALF, .NumChannels = 2};
    assert_int_equal(sl_array_bytes(&shape, 1), 64 * 32 * 4);
    assert_int_equal(sl_array_bytes(&shape, 3), (64 * 32 + 32 * 16 + 16 * 8) * 4);
    shape.Depth = 8;
    assert_int_equal(sl_array_bytes(&shape, 2), (64 * 32 * 8 + 32 * 16 * 4) * 4);
    shape.Flags = CUDA_ARRAY3D_LAYERED;
    assert_int_equal(sl_array_bytes(&shape, 2), (64 * 32 * 8 + 32 * 16 * 8) * 4);
    shape.Format = CU_AD_FORMAT_BC1_UNORM;
    assert_int_equal(sl_array_bytes(&shape, 1), 64 * 32 * 8 / 2);
    shape.Flags = CUDA_ARRAY3D_SPARSE;
    assert_int_equal(sl_array_bytes(&shape, 1), 0);
}

static void many_in_any_order(void **state)
{
    enum { COUNT = 5000 };
    static bool live[COUNT];
    (void)state;
    int64_t expected = 0;
    uint32_t random = 1;
    for (int i = 0; i < 20 * COUNT; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t k = (random >> 8) % COUNT;
        uint64_t address = ((uint64_t)k << 21) + 1, bytes = k + 1;
        if (live[k])
            sl_uncharge(SL_CHARGE_ADDRESS, address);
        else
            sl_charge(SL_CHARGE_ADDRESS, address, bytes);
        expected += live[k] ? -(int64_t)bytes : (int64_t)bytes;
        live[k] = !live[k];
        assert_int_equal(charged, expected);
    }
    for (uint32_t k = 0; k < COUNT; k++) sl_uncharge(SL_CHARGE_ADDRESS, ((uint64_t)k << 21) + 1);
    assert_int_equal(charged, 0);
}

static void *charge_and_uncharge(void *first)
{
    uint64_t base = (uint64_t)(uintptr_t)first;
    for (int round = 0; round < 20; round++) {
        for (uint64_t k = 0; k < 200; k++) sl_charge(SL_CHARGE_ADDRESS, base + k * 4096, 7);
        for (uint64_t k = 0; k < 200; k++) sl_uncharge(SL_CHARGE_ADDRESS, base + k * 4096);
    }
    return NULL;
}

static void by_several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (uintptr_t t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, charge_and_uncharge, (void *)((t + 1) << 32)), 0);
    for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
    assert_int_equal(charged, 0);
}

/* What lived in a context comes back when that context ends, and only once. Physical memory outlives
 * contexts. */
static void it_comes_back_with_its_context(void **state)
{
    static int one, two;
    enum { COUNT = 300 };
    (void)state;
    for (uint64_t k = 1; k <= COUNT; k++) {
        current = (CUcontext)(k % 3 ? &one : &two);
        sl_charge(SL_CHARGE_ADDRESS, k << 20, 1);
        sl_charge(SL_CHARGE_ARRAY, k << 20, 10);
    }
    sl_charge(SL_CHARGE_PHYSICAL, 1, 5);
    sl_charge_context_gone((CUcontext)&one);
    assert_int_equal(charged, COUNT / 3 * 11 + 5);
    for (uint64_t k = 1; k <= COUNT; k++)
        assert_int_equal(sl_uncharge(SL_CHARGE_ADDRESS, k << 20), k % 3 ? 0 : 1);
    assert_int_equal(charged, COUNT / 3 * 10 + 5);
    sl_charge_context_gone((CUcontext)&two);
    assert_int_equal(charged, 5);
    assert_int_equal(sl_uncharge(SL_CHARGE_PHYSICAL, 1), 5);
    current = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_charged_comes_back),
        cmocka_unit_test(it_comes_back_where_it_was_charged),
        cmocka_unit_test(what_was_taken_back_is_told),
        cmocka_unit_test(opened_twice_it_is_charged_once),
        cmocka_unit_test(physical_memory_lives_by_handles_and_mappings),
        cmocka_unit_test(arrays_by_their_elements),
        cmocka_unit_test(many_in_any_order),
        cmocka_unit_test(by_several_threads),
        cmocka_unit_test(it_comes_back_with_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
