/* Functions that are not expanded in place: recursive ones, those known by address, stacks, the heap. */
#include "ptx.h"

#include <stdio.h>

#define THREADS 300

static struct sc_fault run(const char *text, uint32_t threads, uint64_t *out, size_t count, uint64_t n)
{
    struct sc_module *module = ptx_load(text);
    uint64_t *device = ptx_allocate(count * 8, SC_RANGE_DEVICE);
    struct sc_cost cost;
    struct sc_fault fault = {0};
    enum sc_engine_status status =
        ptx_launch(module, &(struct ptx_launch){.kernel = "k", .block = threads, .watchdog = 1ull << 32},
                   (void *[]){&device, &n}, &cost, &fault);
    assert_true(status == SC_ENGINE_OK || status == SC_ENGINE_FAULT);
    sc_cost_free(&cost);
    memcpy(out, device, count * 8);
    sc_module_unload(module);
    ptx_reset();
    return fault;
}

#define ENTRY_HEAD                                                                                           \
    ".visible .entry k(.param .u64 out, .param .u64 n) {\n.reg .b64 %p, %f, %n;\n.reg .b32 %t, %r, %x;\n"    \
    ".reg .pred %q;\nld.param.u64 %p, [out];\nld.param.u64 %n, [n];\nmov.u32 %t, %tid.x;\n"                  \
    "mad.wide.u32 %p, %t, 8, %p;\n"
#define ENTRY_TAIL "cvt.u64.u32 %f, %r;\nst.global.u64 [%p], %f;\nret;\n}\n"

static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Every thread another depth; %r4 and the .local variable live across the calls. */
static void test_recursion(void **state)
{
    static const char text[] = PTX_HEAD
        ".func (.param .b32 ret) fib(.param .b32 n) {\n.reg .b32 %r<8>;\n.reg .pred %p;\n.local .align 4 "
        ".b32 kept;\n"
        "ld.param.b32 %r1, [n];\nst.local.b32 [kept], %r1;\nsetp.ge.u32 %p, %r1, 2;\nst.param.b32 [ret], "
        "%r1;\n"
        "@!%p ret;\nsub.u32 %r2, %r1, 1;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r2;\n"
        "call.uni (b), fib, (a);\nld.param.b32 %r4, [b];\n}\nld.local.b32 %r5, [kept];\nsub.u32 %r5, %r5, "
        "2;\n"
        "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r5;\ncall.uni (b), fib, (a);\nld.param.b32 "
        "%r6, [b];\n}\n"
        "add.u32 %r4, %r4, %r6;\nst.param.b32 [ret], %r4;\nret;\n}\n" ENTRY_HEAD
        "rem.u32 %x, %t, 13;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %x;\ncall (b), fib, (a);\n"
        "ld.param.b32 %r, [b];\n}\n"
        "shfl.sync.idx.b32 %x, %r, 3, 31, -1;\nmad.lo.u32 %r, %x, 1000, %r;\n" /* all lanes are together again
                                                                                */
        ENTRY_TAIL;
    uint64_t out[THREADS];
    (void)state;
    assert_int_equal(run(text, 288, out, 288, 0).kind, SC_FAULT_NONE);
    for (uint32_t i = 0; i < 288; i++)
        assert_int_equal(out[i], fibonacci(i % 13) + 1000 * fibonacci((i / 32 * 32 + 3) % 13));
}

/* Tables of functions in .global and .const, an address from mov, prototypes, divergent */
static const char pointers[] = PTX_HEAD
    ".func (.param .b32 r) add7(.param .b32 a, .param .b64 wide)\n;\n"
    ".func (.param .b32 r) times3(.param .b32 a, .param .b64 wide) {\n.reg .b32 %r<3>;\nld.param.b32 %r1, "
    "[a];\n"
    "mul.lo.u32 %r1, %r1, 3;\nst.param.b32 [r], %r1;\nret;\n}\n"
    ".func (.param .b32 r) add7(.param .b32 a, .param .b64 wide) {\n.reg .b32 %r<3>;\n.reg .b64 %w;\n"
    "ld.param.b32 %r1, [a];\nld.param.b64 %w, [wide];\ncvt.u32.u64 %r2, %w;\nadd.u32 %r1, %r1, %r2;\n"
    "st.param.b32 [r], %r1;\nret;\n}\n"
    ".func (.param .b32 r) square(.param .b32 a, .param .b64 wide) {\n.reg .b32 %r<3>;\nld.param.b32 %r1, "
    "[a];\n"
    "mul.lo.u32 %r1, %r1, %r1;\nst.param.b32 [r], %r1;\nret;\n}\n"
    ".global .align 8 .u64 table[2] = {add7, times3};\n.const .align 8 .u64 other[1] = "
    "{generic(table)};\n" ENTRY_HEAD "rem.u32 %x, %t, 3;\nsetp.eq.u32 %q, %x, 2;\nmov.u64 %f, square;\n@%q "
    "bra GO;\nld.const.u64 %f, [other];\n"
    "cvta.to.global.u64 %f, %f;\n"
    "mad.wide.u32 %f, %x, 8, %f;\nld.global.u64 %f, [%f];\nGO: add.s64 %f, %f, %n;\nmov.u64 %n, 7;\n"
    "{\n.param .b32 a;\n.param .b64 b;\n.param .b32 c;\nst.param.b32 [a], %t;\nst.param.b64 [b], %n;\n"
    "proto : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);\n"
    "call (c), %f, (a, b), proto;\nld.param.b32 %r, [c];\n}\n" ENTRY_TAIL;

static void test_pointers(void **state)
{
    uint64_t out[THREADS];
    (void)state;
    assert_int_equal(run(pointers, THREADS, out, THREADS, 0).kind, SC_FAULT_NONE);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(out[i], i % 3 == 0 ? i + 7 : i % 3 == 1 ? i * 3 : i * i);
    assert_int_equal(run(pointers, THREADS, out, THREADS, 1).kind, SC_FAULT_INVALID_CALL);
    assert_int_equal(run(pointers, THREADS, out, THREADS, 1ull << 40).kind, SC_FAULT_INVALID_CALL);
}

static void test_depth(void **state)
{
    static const char text[] = PTX_HEAD
        ".func (.param .b32 ret) down(.param .b32 n)\n;\n"
        ".func (.param .b32 ret) up(.param .b32 n) {\n.reg .b32 %r<3>;\n.reg .pred %p;\nld.param.b32 %r1, "
        "[n];\n"
        "st.param.b32 [ret], %r1;\nsetp.eq.u32 %p, %r1, 0;\n@%p ret;\nsub.u32 %r1, %r1, 1;\n{\n.param .b32 "
        "a, b;\n"
        "st.param.b32 [a], %r1;\ncall (b), down, (a);\nld.param.b32 %r2, [b];\n}\nadd.u32 %r2, %r2, %r1;\n"
        "st.param.b32 [ret], %r2;\nret;\n}\n"
        ".func (.param .b32 ret) down(.param .b32 n) {\n.reg .b32 %r<3>;\nld.param.b32 %r1, [n];\n{\n"
        ".param .b32 a, b;\nst.param.b32 [a], %r1;\ncall (b), up, (a);\nld.param.b32 %r2, [b];\n}\n"
        "st.param.b32 [ret], %r2;\nret;\n}\n" ENTRY_HEAD
        "cvt.u32.u64 %x, %n;\n{\n.param .b32 a, b;\nst.param.b32 [a], %x;\ncall (b), up, (a);\nld.param.b32 "
        "%r, [b];\n}\n" ENTRY_TAIL;
    uint64_t out[40];
    (void)state;
    assert_int_equal(run(text, 40, out, 40, 200).kind, SC_FAULT_NONE);
    for (int i = 0; i < 40; i++) assert_int_equal(out[i], 200 * 199 / 2);
    assert_int_equal(run(text, 40, out, 40, 1000000).kind, SC_FAULT_STACK);
}

/* alloca in the entry and in a function, which frees when it returns */
static void test_alloca(void **state)
{
    static const char text[] = PTX_HEAD
        ".func (.param .b32 ret) sum(.param .b32 n) {\n.reg .b32 %r<5>;\n.reg .b64 %d<6>;\n.reg .pred %p;\n"
        "ld.param.b32 %r1, [n];\nmul.wide.u32 %d1, %r1, 4;\nadd.s64 %d1, %d1, 4;\nalloca.u64 %d2, %d1, "
        "16;\nmov.b32 %r2, 0;\n"
        "FILL: mad.wide.u32 %d3, %r2, 4, %d2;\nst.local.u32 [%d3], %r2;\nadd.u32 %r2, %r2, 1;\nsetp.le.u32 "
        "%p, %r2, %r1;\n"
        "@%p bra FILL;\nmov.b32 %r3, 0;\nADD: sub.u32 %r2, %r2, 1;\nmad.wide.u32 %d3, %r2, 4, "
        "%d2;\nld.local.u32 %r4, [%d3];\n"
        "add.u32 %r3, %r3, %r4;\nsetp.ne.u32 %p, %r2, 0;\n@%p bra ADD;\nst.param.b32 [ret], "
        "%r3;\nret;\n}\n" ENTRY_HEAD ".reg .b64 %own, %save;\nstacksave.u64 %save;\nalloca.u64 %own, "
        "%n;\nst.local.u64 [%own], %p;\nmov.b32 %x, 0;\nmov.b32 %r, 0;\n"
        "AGAIN: {\n.param .b32 a, b;\nst.param.b32 [a], %t;\ncall (b), sum, (a);\nld.param.b32 %r, [b];\n}\n"
        "add.u32 %x, %x, 1;\nsetp.lt.u32 %q, %x, 1000;\n@%q bra AGAIN;\nld.local.u64 %p, "
        "[%own];\nstackrestore.u64 %save;\n"
        "alloca.u64 %f, %n;\nsetp.ne.u64 %q, %f, %own;\n@%q trap;\n" ENTRY_TAIL;
    uint64_t out[64];
    (void)state;
    assert_int_equal(run(text, 64, out, 64, 24).kind, SC_FAULT_NONE);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(out[i], i * (i + 1) / 2);
    assert_int_equal(run(text, 64, out, 64, 1ull << 30).kind, SC_FAULT_STACK);
}

static const char heap_text[] = PTX_HEAD
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
    ".visible .entry k(.param .u64 out, .param .u64 bytes) {\n.reg .b64 %o, %n, %p, %q;\n.reg .b32 %t;\n.reg "
    ".pred %f;\n"
    "ld.param.u64 %o, [out];\nld.param.u64 %n, [bytes];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %o, %t, 8, %o;\n"
    "{\n.param .b64 a, b;\nst.param.b64 [a], %n;\ncall (b), malloc, (a);\nld.param.b64 %p, [b];\n}\n"
    "setp.eq.u64 %f, %p, 0;\n@%f bra END;\nst.u64 [%p], %o;\nadd.s64 %q, %p, %n;\nst.u64 [%q+-8], %o;\nEND: "
    "st.global.u64 [%o], %p;\nret;\n}\n"
    ".visible .entry release(.param .u64 in, .param .u64 stride) {\n.reg .b64 %o, %n, %p;\n.reg .b32 %t;\n"
    "ld.param.u64 %o, [in];\nld.param.u64 %n, [stride];\nmov.u32 %t, %tid.x;\ncvt.u64.u32 %p, %t;\n"
    "mad.lo.s64 %o, %p, %n, %o;\nld.global.u64 %p, [%o];\n{\n.param .b64 a;\nst.param.b64 [a], %p;\ncall "
    "free, (a);\n}\nret;\n}\n";

static void test_heap(void **state)
{
    struct sc_module *module = ptx_load(heap_text);
    struct sc_function_info info;
    uint64_t *out = ptx_allocate(100 * 8, SC_RANGE_DEVICE), bytes = 1000, stride = 8;
    uint64_t heap = (uint64_t)(uintptr_t)ptx_allocate(64 << 10, SC_RANGE_DEVICE);
    struct ptx_launch take = {.kernel = "k", .block = 100, .heap = heap, .heap_bytes = 64 << 10};
    struct ptx_launch give = {.kernel = "release", .block = 100, .heap = heap, .heap_bytes = 64 << 10};
    (void)state;
    sc_function_info(sc_module_function(module, "k"), &info);
    assert_true(info.uses_heap);
    for (int round = 0; round < 5; round++) {
        unsigned got = 0;
        ptx_good(module, &take, (void *[]){&out, &bytes});
        for (int i = 0; i < 100; i++) {
            if (!out[i]) continue;
            got++;
            assert_true(out[i] % 16 == 0 && out[i] >= heap && out[i] + bytes <= heap + (64 << 10));
            for (int k = 0; k < i; k++)
                assert_true(!out[k] || out[k] + bytes <= out[i] || out[i] + bytes <= out[k]);
        }
        assert_int_equal(got, 63); /* of 1024 bytes with their headers, less the first header */
        ptx_good(module, &give, (void *[]){&out, &stride});
    }
    bytes = 60 << 10; /* what was freed in pieces is one again */
    take.block = 1;
    ptx_good(module, &take, (void *[]){&out, &bytes});
    assert_true(out[0] != 0);
    struct sc_cost cost;
    struct sc_fault fault;
    out[0] += 16;
    give.block = 1;
    assert_int_equal(ptx_launch(module, &give, (void *[]){&out, &stride}, &cost, &fault), SC_ENGINE_FAULT);
    assert_int_equal(fault.kind, SC_FAULT_ILLEGAL_ADDRESS);
    sc_cost_free(&cost);
    memset((void *)(uintptr_t)heap, 0x5a, 64 << 10); /* a kernel that wrote everywhere */
    assert_int_equal(ptx_launch(module, &take, (void *[]){&out, &bytes}, &cost, &fault), SC_ENGINE_FAULT);
    sc_cost_free(&cost);
    sc_module_unload(module);
    ptx_reset();
}

static void test_what_cannot_be_called(void **state)
{
    static const char *const bad[] = {
        "call (a), nothing, (a);", "call malloc, (a);",       "call %r1, (a);",
        "alloca.u64 %d1, %r1;",    "alloca.u64 %d1, %d1, 3;", "mov.u32 %r1, f;",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        struct sc_diagnostic diagnostic;
        snprintf(text, sizeof text,
                 PTX_HEAD
                 ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.func f() { ret; }\n"
                 ".visible .entry k() {\n.reg .b32 %%r<3>;\n.reg .b64 %%d<3>;\n.param .b32 a;\n%s\nret;\n}\n",
                 bad[i]);
        if (ptx_try(text, &diagnostic) != SC_ENGINE_INVALID_PTX) fail_msg("loaded: %s", bad[i]);
        assert_int_equal(diagnostic.line, 10);
    }
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion), cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_depth),     cmocka_unit_test(test_alloca),
        cmocka_unit_test(test_heap),      cmocka_unit_test(test_what_cannot_be_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
