/* SOFTCUDA_FAULT: rules are read strictly, and count calls as they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fault.h"

static void bad_rules_are_left_out(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "cuMemAlloc",
        "cuMemAlloc:after=3",
        "cuMemAlloc:CUDA_ERROR_OUT_OF_MEMORY",
        "cuMemAlloc:after=:2",
        "cuMemAlloc:after=-1:2",
        "cuMemAlloc:after=3x:2",
        "cuMemAlloc:every=0:2",
        "cuMemAlloc:once=0:2",
        "cuMemAlloc:after=3:once=4:2",
        "cuMemAlloc:after=3:2:2",
        "cuMemAlloc:after=3:seed=1:2",
        "cuMemAlloc:p=1.5:2",
        "cuMemAlloc:p=nan:2",
        "cuMemAlloc:p=0.5:seed=x:2",
        "cuMemAlloc:after=3:CUDA_SUCCESS",
        "cuMemAlloc:after=3:0",
        "cuMemAlloc:after=3:CUDA_ERROR_NO_SUCH",
        "cuMemAlloc:after=3:12345",
        "cuMemAllok:after=3:2",
        "device-lost",
        "device-lost:every=3",
        "device-lost:after=3:2",
        "device-lost:after=3:done",
        "device-lost:after=3:caller=libcuda.so",
        "cuMemAlloc:after=3:2:caller=",
        "cuMemAlloc:after=3:2:caller=0123456789012345678901234567890123456789012345678901234567890123",
        ":::",
        ",",
    };
    struct sc_fault_rules rules;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (sc_fault_parse(bad[i], &rules) != 1 || rules.count) fail_msg("accepted: %s", bad[i]);
        sc_fault_free(&rules);
    }
    assert_int_equal(sc_fault_parse("", &rules), 0);
    assert_int_equal(
        sc_fault_parse("cuMemFree:after=0:1, nonsense ; cuInit:once=1:CUDA_ERROR_NO_DEVICE", &rules), 1);
    assert_int_equal(rules.count, 2);
    assert_int_equal(rules.list[1].error, CUDA_ERROR_NO_DEVICE);
    sc_fault_free(&rules);
}

/* The numbers of the first calls that fail, as a mask. */
static unsigned failing(const char *text, const char *function, CUresult error)
{
    struct sc_fault_rules rules;
    unsigned mask = 0;
    assert_int_equal(sc_fault_parse(text, &rules), 0);
    for (unsigned i = 0; i < 8; i++) {
        CUresult result = sc_fault_decide(&rules, function, NULL).error;
        assert_true(result == CUDA_SUCCESS || result == error);
        mask |= (unsigned)(result != CUDA_SUCCESS) << i;
    }
    sc_fault_free(&rules);
    return mask;
}

static void calls_are_counted(void **state)
{
    (void)state;
    assert_int_equal(failing("cuMemAlloc:after=3:2", "cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY), 0xf8);
    assert_int_equal(failing("cuMemAlloc:every=3:2", "cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY), 0x24);
    assert_int_equal(failing("cuMemAlloc:once=3:2", "cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY), 0x04);
    assert_int_equal(failing("cuMemAlloc:after=3:2", "cuMemFree", CUDA_ERROR_OUT_OF_MEMORY), 0);
    assert_int_equal(failing("cuMemAlloc_v2:after=7:2", "cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY), 0x80);
    assert_int_equal(
        failing("cuMemcpyHtoDAsync_v2_ptsz:after=7:700", "cuMemcpyHtoDAsync", CUDA_ERROR_ILLEGAL_ADDRESS),
        0x80);
    assert_int_equal(failing("*:after=6:2", "cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY), 0xc0);
    assert_int_equal(failing("*:after=6:2", "cuGetProcAddress", CUDA_ERROR_OUT_OF_MEMORY), 0);
    assert_int_equal(failing("device-lost:after=2", "cuMemAlloc", CUDA_ERROR_DEVICE_UNAVAILABLE), 0xfc);
}

/* The same seed gives the same calls, another one others, and about as many as asked for. */
static void chance_is_seeded(void **state)
{
    (void)state;
    static const char *const texts[] = {"cuInit:p=0.1:seed=1:2", "cuInit:p=0.1:seed=1:2",
                                        "cuInit:p=0.1:seed=2:2"};
    static bool failed[3][10000];
    unsigned count = 0;
    for (int i = 0; i < 3; i++) {
        struct sc_fault_rules rules;
        assert_int_equal(sc_fault_parse(texts[i], &rules), 0);
        for (int k = 0; k < 10000; k++) failed[i][k] = sc_fault_decide(&rules, "cuInit", NULL).error;
        sc_fault_free(&rules);
    }
    for (int k = 0; k < 10000; k++) count += failed[0][k];
    assert_in_range(count, 880, 1120);
    assert_memory_equal(failed[0], failed[1], sizeof failed[0]);
    assert_memory_not_equal(failed[0], failed[2], sizeof failed[0]);
}

/* A rule with a caller counts the calls of that object alone; `done` is told for the calls that fail. */
static void callers_are_told_apart(void **state)
{
    (void)state;
    struct sc_fault_rules rules;
    assert_int_equal(sc_fault_parse("cuInit:every=2:1:caller=libc.so:done", &rules), 0);
    const void *here = (const void *)(uintptr_t)callers_are_told_apart,
               *in_libc = (const void *)(uintptr_t)strtol;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sc_fault_decide(&rules, "cuInit", here).error, CUDA_SUCCESS);
        assert_int_equal(sc_fault_decide(&rules, "cuInit", NULL).error, CUDA_SUCCESS);
        struct sc_fault fault = sc_fault_decide(&rules, "cuInit", in_libc);
        assert_int_equal(fault.error, i % 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
        assert_int_equal(fault.done, i % 2);
    }
    sc_fault_free(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_rules_are_left_out),
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(chance_is_seeded),
        cmocka_unit_test(callers_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
