/* Branches, loops, barriers, calls: lanes that part must come together with the right values. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

#define KERNEL                                                                                               \
    PTX_HEAD ".visible .entry k(.param .u64 out, .param .u32 n) {\n"                                         \
             ".reg .pred %p, %q;\n.reg .b32 %i, %j, %n, %a, %b, %c, %d;\n.reg .b64 %A, %B;\n"                \
             ".shared .align 4 .b8 s[4096];\n"                                                               \
             "mov.u32 %i, %tid.x;\nld.param.u32 %n, [n];\nld.param.u64 %A, [out];\n"                         \
             "mad.wide.u32 %A, %i, 4, %A;\n"
#define STORE "st.global.u32 [%A], %a;\nret;\n}\n"

static uint32_t *run(const char *text, uint32_t threads, uint32_t n)
{
    static uint32_t result[1024];
    struct sc_module *module = ptx_load(text);
    uint32_t *out = ptx_allocate((size_t)threads * 4, SC_RANGE_DEVICE);
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = threads, .watchdog = 100000000},
             (void *[]){&out, &n});
    memcpy(result, out, (size_t)threads * 4);
    sc_module_unload(module);
    ptx_reset();
    return result;
}

static void test_if_else(void **state)
{
    static const char text[] =
        KERNEL "mov.u32 %b, 3;\nand.b32 %a, %i, 1;\nsetp.eq.s32 %p, %a, 0;\n@%p bra EVEN;\n"
               "mov.u32 %b, 5;\nmul.lo.s32 %a, %i, %b;\nbra JOIN;\n"
               "EVEN: mul.lo.s32 %a, %i, %b;\nadd.s32 %b, %b, 1;\n"
               "JOIN: add.s32 %a, %a, %b;\n" STORE;
    (void)state;
    uint32_t *out = run(text, 300, 0);
    for (uint32_t i = 0; i < 300; i++) assert_int_equal(out[i], i & 1 ? i * 5 + 5 : i * 3 + 4);
}

/* Each lane leaves the inner loop after its own number of rounds; the counter is uniform inside and varying
 * outside. */
static void test_loops_of_different_length(void **state)
{
    static const char text[] =
        KERNEL "mov.u32 %a, 0;\nmov.u32 %j, 0;\n"
               "OUTER: mov.u32 %b, 0;\nrem.u32 %c, %i, 7;\nadd.s32 %c, %c, %j;\n"
               "INNER: add.s32 %a, %a, %b;\nadd.s32 %b, %b, 1;\nsetp.le.u32 %p, %b, %c;\n@%p bra INNER;\n"
               "add.s32 %a, %a, %b;\nadd.s32 %j, %j, 1;\nsetp.lt.u32 %p, %j, %n;\n@%p bra OUTER;\n" STORE;
    (void)state;
    uint32_t *out = run(text, 256, 5);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t a = 0, b, j = 0;
        do {
            b = 0;
            do {
                a += b++;
            } while (b <= i % 7 + j);
            a += b;
        } while (++j < 5);
        assert_int_equal(out[i], a);
    }
}

/* break, continue, and a return in the middle of a loop */
static void test_breaks(void **state)
{
    static const char text[] =
        KERNEL "mov.u32 %a, 0;\nmov.u32 %j, 0;\n"
               "TOP: setp.ge.u32 %p, %j, %n;\n@%p bra DONE;\nadd.s32 %b, %i, %j;\nand.b32 %b, %b, 3;\n"
               "add.s32 %j, %j, 1;\nsetp.eq.s32 %p, %b, 0;\n@%p bra TOP;\n" /* continue */
               "add.s32 %a, %a, %j;\nsetp.gt.u32 %p, %a, %i;\n@%p bra BROKEN;\n"
               "setp.eq.s32 %q, %a, 31;\n@%q st.global.u32 [%A], %j;\n@%q ret;\nbra TOP;\n"
               "BROKEN: add.s32 %a, %a, 1000;\n"
               "DONE: add.s32 %a, %a, %j;\n" STORE;
    (void)state;
    uint32_t *out = run(text, 200, 12);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t a = 0, j = 0, returned = 0;
        while (j < 12) {
            uint32_t b = (i + j) & 3;
            j++;
            if (b == 0) continue;
            a += j;
            if (a > i) {
                a += 1000;
                break;
            }
            if (a == 31) {
                returned = j;
                break;
            }
        }
        assert_int_equal(out[i], returned ? returned : a + j);
    }
}

/* Compilers place blocks in any order: the same loop with its parts turned round. */
static void test_blocks_in_odd_order(void **state)
{
    static const char text[] =
        KERNEL "mov.u32 %a, 0;\nmov.u32 %j, 0;\nbra HEAD;\n"
               "END: add.s32 %a, %a, %j;\n"
               "st.global.u32 [%A], %a;\nret;\n"
               "TAIL: add.s32 %j, %j, 1;\nbra HEAD;\n"
               "BODY: and.b32 %b, %i, %j;\nsetp.ne.s32 %p, %b, 0;\n@%p bra TAIL;\n"
               "add.s32 %a, %a, %j;\nbra TAIL;\n"
               "HEAD: and.b32 %c, %i, 15;\nsetp.lt.u32 %p, %j, %c;\n@%p bra BODY;\nbra END;\n}\n";
    (void)state;
    uint32_t *out = run(text, 200, 0);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t a = 0, j = 0;
        for (; j < (i & 15); j++) a += (i & j) == 0 ? j : 0;
        assert_int_equal(out[i], a + j);
    }
}

/* A loop with two entries: no order of blocks is regular, and nothing may be taken for uniform. */
static void test_irreducible_flow(void **state)
{
    static const char text[] =
        KERNEL "mov.u32 %a, 0;\nmov.u32 %j, 0;\nand.b32 %b, %i, 1;\nsetp.eq.s32 %p, %b, 0;\n@%p bra SECOND;\n"
               "FIRST: add.s32 %a, %a, 1;\nadd.s32 %j, %j, 1;\n"
               "SECOND: add.s32 %a, %a, 10;\nadd.s32 %j, %j, 2;\nand.b32 %c, %i, 31;\n"
               "setp.lt.u32 %p, %j, %c;\n@%p bra FIRST;\nshl.b32 %j, %j, 16;\nadd.s32 %a, %a, %j;\n" STORE;
    (void)state;
    uint32_t *out = run(text, 256, 0);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t a = 0, j = 0;
        bool first = i & 1;
        do {
            if (first) a += 1, j += 1;
            first = true;
            a += 10, j += 2;
        } while (j < (i & 31));
        assert_int_equal(out[i], a + (j << 16));
    }
}

static void test_indexed_branch(void **state)
{
    static const char text[] =
        KERNEL "and.b32 %b, %i, 3;\nTABLE: .branchtargets L0, L1, L2, L1;\nbrx.idx %b, TABLE;\n"
               "L0: mov.u32 %a, 100;\nbra JOIN;\nL1: mov.u32 %a, 200;\nbra JOIN;\nL2: mov.u32 %a, 300;\n"
               "JOIN: add.s32 %a, %a, %i;\n" STORE;
    static const uint32_t base[4] = {100, 200, 300, 200};
    (void)state;
    uint32_t *out = run(text, 200, 0);
    for (uint32_t i = 0; i < 200; i++) assert_int_equal(out[i], base[i & 3] + i);
}

/* Sums in shared memory over the whole block; threads above n have gone and are not waited for. */
static void test_barriers(void **state)
{
    static const char text[] = KERNEL
        "setp.ge.u32 %p, %i, %n;\n@%p bra GONE;\nshl.b32 %b, %i, 2;\nmov.u32 %c, s;\nadd.s32 %c, %c, %b;\n"
        "st.shared.u32 [%c], %i;\nmov.u32 %j, 256;\n"
        "TOP: bar.sync 0;\nsetp.ge.u32 %p, %i, %j;\nadd.s32 %a, %i, %j;\nsetp.ge.or.u32 %p, %a, %n, %p;\n@%p "
        "bra NEXT;\n"
        "shl.b32 %d, %j, 2;\nadd.s32 %d, %d, %c;\nld.shared.u32 %a, [%d];\nld.shared.u32 %b, [%c];\n"
        "add.s32 %a, %a, %b;\nst.shared.u32 [%c], %a;\n"
        "NEXT: shr.u32 %j, %j, 1;\nsetp.ne.s32 %p, %j, 0;\n@%p bra TOP;\n"
        "bar.sync 0;\nld.shared.u32 %a, [s];\nst.global.u32 [%A], %a;\nGONE: ret;\n}\n";
    (void)state;
    for (uint32_t n = 1; n <= 512; n = n * 2 + 5) {
        uint32_t *out = run(text, 512, n);
        for (uint32_t i = 0; i < 512; i++) assert_int_equal(out[i], i < n ? n * (n - 1) / 2 : 0);
    }
}

/* Two halves of a block meet at barriers of their own, then one hands over to the other. */
static void test_named_barriers(void **state)
{
    static const char text[] = KERNEL
        "shl.b32 %b, %i, 2;\nmov.u32 %c, s;\nadd.s32 %c, %c, %b;\nmov.u32 %a, 1;\nsetp.lt.u32 %p, %i, "
        "128;\n@%p bra LOW;\n"
        "bar.sync 2, 128;\nmul.lo.s32 %d, %i, 7;\nst.shared.u32 [%c], %d;\nbar.arrive 3, 256;\nbra JOIN;\n"
        "LOW: bar.sync 1, 128;\nbar.sync 3, 256;\nld.shared.u32 %a, [%c+512];\n"
        "JOIN: bar.red.popc.u32 %b, 0, %p;\nadd.s32 %a, %a, %b;\nsetp.lt.u32 %q, %i, 255;\n"
        "bar.red.and.pred %q, 0, %q;\n@%q add.s32 %a, %a, 5000;\n" STORE;
    (void)state;
    uint32_t *out = run(text, 256, 0);
    for (uint32_t i = 0; i < 256; i++) assert_int_equal(out[i], (i < 128 ? (i + 128) * 7 : 1) + 128);
}

static void test_watchdog(void **state)
{
    static const char spin[] = KERNEL "TOP: bra TOP;\n}\n";
    static const char stuck[] =
        KERNEL "setp.eq.s32 %p, %i, 3;\n@%p bra WAIT;\nbar.sync 0, 64;\nWAIT: bar.sync 1, 96;\nret;\n}\n";
    static const char *const texts[] = {spin, stuck};
    (void)state;
    for (int t = 0; t < 2; t++) {
        struct sc_module *module = ptx_load(texts[t]);
        struct sc_fault fault;
        struct sc_cost cost;
        uint64_t out = 0;
        uint32_t n = 0;
        struct ptx_launch launch = {.kernel = "k", .block = 64, .watchdog = 1000000};
        assert_int_equal(ptx_launch(module, &launch, (void *[]){&out, &n}, &cost, &fault), SC_ENGINE_FAULT);
        assert_int_equal(fault.kind, SC_FAULT_TIMEOUT);
        sc_cost_free(&cost);
        sc_module_unload(module);
        ptx_reset();
    }
}

static void test_trap(void **state)
{
    static const char text[] = KERNEL "setp.eq.s32 %p, %i, 37;\n@%p trap;\nret;\n}\n";
    struct sc_fault fault;
    struct sc_cost cost;
    uint64_t out = 0;
    uint32_t n = 0;
    (void)state;
    struct sc_module *module = ptx_load(text);
    struct ptx_launch launch = {.kernel = "k", .block = 64};
    assert_int_equal(ptx_launch(module, &launch, (void *[]){&out, &n}, &cost, &fault), SC_ENGINE_FAULT);
    assert_int_equal(fault.kind, SC_FAULT_TRAP);
    assert_int_equal(fault.thread[0], 37);
    sc_cost_free(&cost);
    sc_module_unload(module);
    ptx_reset();
}

static void test_calls(void **state)
{
    static const char text[] = PTX_HEAD
        ".func (.param .b32 result) twice(.param .b32 x);\n"
        ".func (.param .b32 result) twice(.param .b32 x) {\n.reg .b32 %r<3>;\n.reg .pred %p;\nld.param.u32 "
        "%r1, [x];\n"
        "setp.gt.u32 %p, %r1, 50;\n@%p bra BIG;\nshl.b32 %r2, %r1, 1;\nst.param.b32 [result], %r2;\nret;\n"
        "BIG: st.param.b32 [result], 7;\nret;\n}\n"
        ".func (.param .b32 result) outer(.param .b32 x) {\n.reg .b32 %r<3>;\nld.param.u32 %r1, [x];\n"
        "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni (q), twice, (p); ld.param.b32 %r2, "
        "[q]; }\n"
        "add.s32 %r2, %r2, 1;\nst.param.b32 [result], %r2;\nret;\n}\n"
        ".visible .entry k(.param .u64 out, .param .u32 n) {\n.reg .b32 %r<3>;\n.reg .pred %p;\n.reg .b64 "
        "%A;\n"
        "mov.u32 %r1, %tid.x;\nld.param.u64 %A, [out];\nmad.wide.u32 %A, %r1, 4, %A;\nmov.u32 %r2, 9;\n"
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; setp.ne.s32 %p, %r1, 3;\n"
        "st.param.b32 [b], 4; @%p call (b), outer, (a); ld.param.b32 %r2, [b]; }\nst.global.u32 [%A], "
        "%r2;\nret;\n}\n";
    (void)state;
    uint32_t *out = run(text, 100, 0);
    for (uint32_t i = 0; i < 100; i++) assert_int_equal(out[i], i == 3 ? 4 : i > 50 ? 8 : 2 * i + 1);
}

static uint64_t cost_of(const struct sc_module *module, uint32_t workers, uint32_t *out, struct sc_cost *cost)
{
    struct sc_fault fault;
    uint32_t n = 1000;
    uint64_t sum = 0;
    memset(out, 0, 40 * 96 * 4);
    struct ptx_launch launch = {.kernel = "k", .grid = 80, .block = 96, .workers = workers};
    assert_int_equal(ptx_launch(module, &launch, (void *[]){&out, &n}, cost, &fault), SC_ENGINE_OK);
    for (size_t i = 0; i < 97; i++) sum = sum * 31 + out[i];
    return sum;
}

/* Float atomics and divergence: results and costs do not depend on the number of workers. */
static void test_workers_change_nothing(void **state)
{
    static const char text[] = KERNEL
        "ld.param.u64 %B, [out];\nmov.u32 %j, %ctaid.x;\nmad.lo.s32 %j, %j, 96, %i;\nadd.s32 %a, %j, 1;\n"
        "cvt.rn.f32.u32 %a, %a;\nrcp.rn.f32 %a, %a;\nred.global.add.f32 [%B+384], %a;\n"
        "rem.u32 %b, %j, 3;\nsetp.eq.s32 %p, %b, 0;\n@%p add.f32 %a, %a, %a;\nadd.s32 %i, %i, %j;\nrem.u32 "
        "%i, %i, 96;\n"
        "mad.wide.u32 %B, %i, 4, %B;\nred.global.add.f32 [%B], %a;\nret;\n}\n";
    struct sc_cost first, other;
    (void)state;
    struct sc_module *module = ptx_load(text);
    uint32_t *out = ptx_allocate(40 * 96 * 4, SC_RANGE_MANAGED);
    uint64_t expected = cost_of(module, 1, out, &first);
    for (uint32_t workers = 2; workers < 5; workers++) {
        assert_int_equal(cost_of(module, workers, out, &other), expected);
        assert_int_equal(other.instructions, first.instructions);
        assert_int_equal(other.flops, first.flops);
        assert_int_equal(other.bytes_read, first.bytes_read);
        assert_int_equal(other.bytes_written, first.bytes_written);
        assert_int_equal(other.block_count, first.block_count);
        assert_memory_equal(other.blocks, first.blocks, first.block_count * sizeof *first.blocks);
        sc_cost_free(&other);
    }
    sc_cost_free(&first);
    sc_module_unload(module);
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if_else),
        cmocka_unit_test(test_loops_of_different_length),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_blocks_in_odd_order),
        cmocka_unit_test(test_irreducible_flow),
        cmocka_unit_test(test_indexed_branch),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_named_barriers),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_trap),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_workers_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
