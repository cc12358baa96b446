/* Threads that wait for each other other than by bar.sync; copies that are asynchronous on hardware. */
#include "ptx.h"

#include <stdio.h>

#define THREADS 600 /* several groups of lanes */

/* A lock that every thread takes: lanes of one warp, and of different groups, must let its owner run. */
static void test_lock(void **state)
{
    static const char text[] =
        PTX_HEAD ".visible .entry k(.param .u64 cell) {\n.reg .b64 %p;\n.reg .b32 %a, %b;\n.reg .pred %q;\n"
                 "ld.param.u64 %p, [cell];\nAGAIN: atom.global.acquire.gpu.cas.b32 %a, [%p], 0, "
                 "1;\nsetp.ne.u32 %q, %a, 0;\n"
                 "@%q bra AGAIN;\nld.volatile.global.u32 %b, [%p+4];\nadd.u32 %b, %b, "
                 "1;\nst.volatile.global.u32 [%p+4], %b;\n"
                 "membar.gl;\natom.global.exch.b32 %a, [%p], 0;\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    uint32_t *cell = ptx_allocate(8, SC_RANGE_DEVICE);
    (void)state;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .grid = 2, .block = THREADS, .watchdog = 1u << 30},
             (void *[]){&cell});
    assert_int_equal(cell[1], 2 * THREADS);
    sc_module_unload(module);
    ptx_reset();
}

/* The last thread sets a flag that all others poll. */
static void test_flag(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 cell, .param .u32 last) {\n.reg .b64 %p;\n.reg .b32 %a, %t, %n;\n.reg "
        ".pred %q;\n"
        "ld.param.u64 %p, [cell];\nld.param.u32 %n, [last];\nmov.u32 %t, %tid.x;\nsetp.eq.u32 %q, %t, %n;\n"
        "@%q bra SET;\nAGAIN: ld.relaxed.gpu.global.u32 %a, [%p];\nsetp.eq.u32 %q, %a, 0;\n@%q bra "
        "AGAIN;\nbra.uni END;\n"
        "SET: st.release.gpu.global.u32 [%p], 7;\nmov.u32 %a, 7;\nEND: red.global.add.u32 [%p+4], "
        "%a;\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    (void)state;
    for (uint32_t last = 0; last < THREADS; last += 85) {
        uint32_t *cell = ptx_allocate(8, SC_RANGE_DEVICE);
        ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = THREADS, .watchdog = 1u << 30},
                 (void *[]){&cell, &last});
        assert_int_equal(cell[1], 7 * THREADS);
    }
    sc_module_unload(module);
    ptx_reset();
}

static void test_waits_for_ever(void **state)
{
    static const char text[] = PTX_HEAD ".visible .entry k(.param .u64 cell) {\n.reg .b64 %p;\n.reg .b32 "
                                        "%a;\n.reg .pred %q;\nld.param.u64 %p, [cell];\n"
                                        "AGAIN: nanosleep.u32 100;\nld.volatile.global.u32 %a, "
                                        "[%p];\nsetp.eq.u32 %q, %a, 0;\n@%q bra AGAIN;\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    uint32_t *cell = ptx_allocate(4, SC_RANGE_DEVICE);
    struct sc_cost cost;
    struct sc_fault fault;
    (void)state;
    assert_int_equal(ptx_launch(module,
                                &(struct ptx_launch){.kernel = "k", .block = THREADS, .watchdog = 1u << 22},
                                (void *[]){&cell}, &cost, &fault),
                     SC_ENGINE_FAULT);
    assert_int_equal(fault.kind, SC_FAULT_TIMEOUT);
    sc_cost_free(&cost);
    sc_module_unload(module);
    ptx_reset();
}

/* Two phases of an mbarrier: everybody sees what everybody wrote before. */
static void test_mbarrier(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u32 count) {\n.shared .align 8 .b64 bar;\n.shared .align "
        "4 .b8 s[4096];\n"
        ".reg .b64 %p, %s, %old;\n.reg .b32 %a, %b, %t, %n, %m;\n.reg .pred %q;\nld.param.u64 %p, [out];\n"
        "ld.param.u32 %n, [count];\nmov.u32 %t, %tid.x;\nmov.u32 %b, bar;\nmov.u32 %m, s;\nmad.lo.u32 %a, "
        "%t, 4, %m;\n"
        "setp.ne.u32 %q, %t, 0;\n@%q bra READY;\nmbarrier.init.shared::cta.b64 [%b], %n;\nREADY: bar.sync "
        "0;\n"
        "st.shared.u32 [%a], %t;\nmbarrier.arrive.shared::cta.b64 %s, [%b];\n"
        "W1: mbarrier.test_wait.shared::cta.b64 %q, [%b], %s;\n@!%q bra W1;\nmov.b64 %old, %s;\n"
        "xor.b32 %a, %t, 1;\nmad.lo.u32 %a, %a, 4, %m;\nld.shared.u32 %t, [%a];\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 16;\nmbarrier.complete_tx.shared::cta.b64 [%b], "
        "16;\n"
        "W2: mbarrier.try_wait.parity.shared::cta.b64 %q, [%b], 1;\n@!%q bra W2;\nst.shared.u32 [%a], %t;\n"
        "mov.u32 %n, %tid.x;\nmad.wide.u32 %p, %n, 4, %p;\nst.global.u32 [%p], "
        "%t;\nmbarrier.pending_count.b64 %a, %old;\n"
        "setp.eq.u32 %q, %n, 0;\n@%q st.global.u32 [%p+4096], %a;\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    uint32_t *out = ptx_allocate(4096 + 4, SC_RANGE_DEVICE), count = THREADS;
    (void)state;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = THREADS, .watchdog = 1u << 30},
             (void *[]){&out, &count});
    for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(out[i], i ^ 1);
    assert_int_equal(out[1024], THREADS); /* thread 0 came first */
    sc_module_unload(module);
    ptx_reset();
}

static void test_copies(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 in, .param .u64 out) {\n.shared .align 16 .b8 s[1024];\n.reg .b64 %i, "
        "%o;\n"
        ".reg .b32 %a, %b, %t, %m, %n;\n.reg .pred %q;\nld.param.u64 %i, [in];\nld.param.u64 %o, [out];\n"
        "mov.u32 %t, %tid.x;\nmov.u32 %m, s;\nmad.wide.u32 %i, %t, 16, %i;\nmad.lo.u32 %a, %t, 16, %m;\n"
        "cp.async.cg.shared.global.L2::128B [%a], [%i], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
        "add.u32 %n, %t, 1;\nand.b32 %n, %n, 3;\nadd.u32 %n, %n, 1;\n"
        "cp.async.ca.shared.global [%a], [%i+8], 8, %n;\ncp.async.wait_all;\nbar.sync 0;\n"
        "ld.shared.v4.u32 {%b, %m, %n, %t}, [%a];\nmov.u32 %a, %tid.x;\nmad.wide.u32 %o, %a, 16, %o;\n"
        "st.global.v4.u32 [%o], {%b, %m, %n, %t};\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    uint8_t *in = ptx_allocate(1024, SC_RANGE_DEVICE), *out = ptx_allocate(1024, SC_RANGE_DEVICE);
    (void)state;
    for (int i = 0; i < 1024; i++) in[i] = (uint8_t)(i * 7 + 1);
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 64}, (void *[]){&in, &out});
    for (int t = 0; t < 64; t++)
        for (int i = 0; i < 16; i++) {
            int read = ((t + 1) & 3) + 1;
            uint8_t expected = i >= 8 ? in[16 * t + i] : i < read ? in[16 * t + 8 + i] : 0;
            assert_int_equal(out[16 * t + i], expected);
        }
    out += 8; /* not a multiple of 16 */
    struct sc_cost cost;
    struct sc_fault fault;
    assert_int_equal(ptx_launch(module, &(struct ptx_launch){.kernel = "k", .block = 64},
                                (void *[]){&out, &in}, &cost, &fault),
                     SC_ENGINE_FAULT);
    assert_int_equal(fault.kind, SC_FAULT_MISALIGNED);
    sc_cost_free(&cost);
    sc_module_unload(module);
    ptx_reset();
}

static void test_vector_atomics(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 cell) {\n.reg .b64 %p, %a, %b, %c, %d;\n.reg .f32 %x, "
        "%y;\nld.param.u64 %p, [cell];\n"
        "red.relaxed.gpu.global.add.v4.f32 [%p], {0f3f800000, 0f40000000, 0f40400000, 0f40800000};\n"
        "atom.global.v2.f32.add {%x, %y}, [%p+16], {0f3f800000, 0f3f000000};\n"
        "ld.global.v4.b64 {%a, %b, %c, %d}, [%p+32];\nst.global.v4.b64 [%p+64], {%d, %c, %b, %a};\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    float *cell = ptx_allocate(128, SC_RANGE_DEVICE);
    (void)state;
    for (int i = 8; i < 16; i++) cell[i] = (float)i;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 3}, (void *[]){&cell});
    for (int i = 0; i < 4; i++) assert_true(cell[i] == 3.0f * (float)(i + 1));
    assert_true(cell[4] == 3.0f && cell[5] == 1.5f && cell[16] == 14.0f && cell[23] == 9.0f);
    sc_module_unload(module);
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock),     cmocka_unit_test(test_flag),   cmocka_unit_test(test_waits_for_ever),
        cmocka_unit_test(test_mbarrier), cmocka_unit_test(test_copies), cmocka_unit_test(test_vector_atomics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
