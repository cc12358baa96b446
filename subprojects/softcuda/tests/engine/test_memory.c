/* Loads, stores, atomics: every width and space; faults; what is counted. */
#include "ptx.h"

#include <stdlib.h>

#define INDEX "mov.u32 %i, %tid.x;\nmov.u32 %j, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.s32 %i, %j, %n, %i;\n"
#define REGISTERS                                                                                            \
    ".reg .pred %p;\n.reg .b16 %h, %x, %y;\n.reg .b32 %i, %j, %n, %a, %b, %c, %d;\n.reg .b64 %A, %B, %C, "   \
    "%D;\n" INDEX

static const char widths[] = PTX_HEAD
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n" REGISTERS
    "ld.param.u64 %A, [in];\nld.param.u64 %B, [out];\n"
    "mad.wide.u32 %A, %i, 16, %A;\nmad.wide.u32 %B, %i, 64, %B;\n"
    "ld.global.s8 %h, [%A];\ncvt.s32.s16 %a, %h;\nst.global.b32 [%B], %a;\n"
    "ld.global.u8 %a, [%A+1];\nst.global.b32 [%B+4], %a;\n"
    "ld.global.s16 %a, [%A+2];\nst.global.b32 [%B+8], %a;\n"
    "ld.global.u16 %h, [%A+2];\nst.global.u16 [%B+12], %h;\n"
    "ld.global.s32 %D, [%A+4];\nst.global.b64 [%B+16], %D;\n"
    "ld.global.v2.u32 {%a, %b}, [%A+8];\nst.global.v2.u32 [%B+24], {%b, %a};\n"
    "ld.global.v4.b32 {%a, %b, %c, %d}, [%A];\nst.global.v4.f32 [%B+32], {%d, %c, %b, %a};\n"
    "ld.global.v2.b64 {%C, %D}, [%A];\nst.global.u8 [%B+14], %C;\nst.v2.b64 [%B+48], {%D, %C};\nret;\n}\n";

static void expect_widths(const unsigned char *in, const unsigned char *out)
{
    uint32_t word[4], expected[16] = {0};
    int16_t half;
    memcpy(word, in, 16);
    memcpy(&half, in + 2, 2);
    expected[0] = (uint32_t)(int8_t)in[0];
    expected[1] = in[1];
    expected[2] = (uint32_t)half;
    expected[3] = (uint16_t)half | (uint32_t)in[0] << 16;
    expected[4] = word[1];
    expected[5] = (int32_t)word[1] < 0 ? UINT32_MAX : 0;
    expected[6] = word[3], expected[7] = word[2];
    for (int k = 0; k < 4; k++) expected[8 + k] = word[3 - k];
    expected[12] = word[2], expected[13] = word[3], expected[14] = word[0], expected[15] = word[1];
    assert_memory_equal(out, expected, 64);
}

/* All lanes side by side, some lanes missing, one lane alone */
static void test_widths(void **state)
{
    static const uint32_t blocks[] = {256, 100, 17, 1};
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct sc_module *module = ptx_load(widths);
        unsigned char *in = ptx_allocate((size_t)blocks[t] * 16, SC_RANGE_DEVICE);
        unsigned char *out = ptx_allocate((size_t)blocks[t] * 64, SC_RANGE_MANAGED);
        uint64_t random = 3;
        for (size_t i = 0; i < (size_t)blocks[t] * 16; i++)
            in[i] = (unsigned char)(next_random(&random) >> 20);
        ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = blocks[t]}, (void *[]){&in, &out});
        for (size_t i = 0; i < blocks[t]; i++) expect_widths(in + i * 16, out + i * 64);
        sc_module_unload(module);
        ptx_reset();
    }
}

/* Hints change nothing: as Triton writes them. */
static const char hinted[] =
    PTX_HEAD ".visible .entry k(.param .u64 in, .param .u64 out) {\n" REGISTERS
             "ld.param.u64 %A, [in];\nld.param.u64 %B, [out];\nmad.wide.u32 %A, %i, 16, %A;\nmad.wide.u32 "
             "%B, %i, 16, %B;\n"
             "createpolicy.fractional.L2::evict_first.b64 %C, 1.0;\n"
             "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %D, 0.5;\n"
             "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %D, [%A], 16, 32;\n"
             "ld.global.L1::evict_last.L2::cache_hint.v2.b32 {%a, %b}, [%A], %C;\n"
             "ld.global.L1::evict_first.L2::cache_hint.b32 %c, [%A+8], %D;\n"
             "ld.global.nc.L1::no_allocate.L2::128B.b32 %d, [%A+12];\n"
             "st.global.L1::evict_first.L2::cache_hint.v4.b32 [%B], {%d, %c, %b, %a}, %C;\nret;\n}\n";

static void test_hints(void **state)
{
    (void)state;
    struct sc_module *module = ptx_load(hinted);
    uint32_t *in = ptx_allocate(100 * 16, SC_RANGE_DEVICE), *out = ptx_allocate(100 * 16, SC_RANGE_DEVICE);
    for (uint32_t i = 0; i < 400; i++) in[i] = i * 7 + 1;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 100}, (void *[]){&in, &out});
    for (uint32_t i = 0; i < 400; i++) assert_int_equal(out[i], in[i / 4 * 4 + 3 - i % 4]);
    sc_module_unload(module);
    ptx_reset();
}

/* out[i] = in[order[i]], through shared memory and through the stack */
static const char spaces[] = PTX_HEAD
    ".visible .const .align 4 .u32 table[4] = {10, 20, 30, 40};\n"
    ".visible .global .align 8 .u64 where = generic(numbers)+4;\n"
    ".visible .global .align 4 .b32 numbers[3] = {7, 8, 0f3F800000};\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry k(.param .align 8 .b8 all[24]) {\n"
    ".shared .align 4 .b8 fixed[512];\n.local .align 8 .b8 stack[16];\n.reg .b64 %SP;\n" REGISTERS
    "mov.u32 %i, %tid.x;\nld.param.u64 %A, [all];\nld.param.u64 %B, [all+8];\nld.param.u32 %n, [all+16];\n"
    "mul.wide.u32 %C, %i, 4;\nadd.s64 %A, %A, %C;\nadd.s64 %B, %B, %C;\n"
    "shl.b32 %a, %i, 2;\nmov.u32 %b, fixed;\nadd.s32 %b, %b, %a;\nst.shared.u32 [%b], %i;\n"
    "mov.u32 %c, dynamic;\nadd.s32 %c, %c, %a;\nadd.s32 %d, %i, 1000;\nst.shared.u32 [%c], %d;\nbar.sync 0;\n"
    "xor.b32 %d, %i, %n;\nshl.b32 %d, %d, 2;\nmov.u32 %b, fixed;\nadd.s32 %b, %b, %d;\nld.shared.u32 %a, "
    "[%b];\n"
    "mov.u64 %D, dynamic;\ncvta.shared.u64 %D, %D;\ncvt.u64.u32 %C, %d;\nadd.s64 %D, %D, %C;\nld.u32 %c, "
    "[%D];\n"
    "add.s32 %a, %a, %c;\n" /* (i ^ n) + (i ^ n) + 1000 */
    "mov.u64 %SP, stack;\ncvta.local.u64 %SP, %SP;\nand.b32 %d, %i, 3;\nmul.wide.u32 %C, %d, 4;\n"
    "add.s64 %SP, %SP, %C;\nst.u32 [%SP], %a;\nld.local.u32 %a, [%SP];\n"
    "mov.u64 %D, table;\nadd.s64 %D, %D, %C;\nld.const.u32 %b, [%D];\nadd.s32 %a, %a, %b;\n"
    "ld.global.u64 %D, [where];\nld.u32 %b, [%D];\nadd.s32 %a, %a, %b;\n"
    "ld.global.u32 %b, [%A];\nadd.s32 %a, %a, %b;\nst.global.u32 [%B], %a;\nret;\n}\n";

static void test_spaces(void **state)
{
    (void)state;
    struct sc_module *module = ptx_load(spaces);
    struct {
        uint32_t *in, *out;
        uint32_t n, pad;
    } all = {ptx_allocate(128 * 4, SC_RANGE_DEVICE), ptx_allocate(128 * 4, SC_RANGE_HOST), 5, 0};
    struct sc_function_info info;
    uint64_t address;
    size_t bytes;
    for (uint32_t i = 0; i < 128; i++) all.in[i] = i * i;
    sc_function_info(sc_module_function(module, "k"), &info);
    assert_int_equal(info.static_shared_bytes, 512);
    assert_int_equal(info.local_bytes, 16);
    assert_int_equal(info.constant_bytes, 16);
    assert_int_equal(info.parameter_bytes, 24);
    assert_true(sc_module_variable(module, "numbers", &address, &bytes));
    assert_int_equal(bytes, 12);
    assert_int_equal(((uint32_t *)(uintptr_t)address)[2], 0x3f800000);
    assert_false(sc_module_variable(module, "missing", &address, &bytes));
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 128, .shared = 512}, (void *[]){&all});
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(all.out[i], 2 * (i ^ 5) + 1000 + 10 * (i % 4 + 1) + 8 + i * i);
    sc_module_unload(module);
    ptx_reset();
}

static const char atomics[] =
    PTX_HEAD ".visible .entry k(.param .u64 to, .param .u64 old) {\n.shared .align 4 .u32 sum;\n" REGISTERS
             "ld.param.u64 %A, [to];\nld.param.u64 %B, [old];\nmul.wide.u32 %C, %i, 4;\nadd.s64 %B, %B, %C;\n"
             "red.global.add.u32 [%A], %i;\nred.global.max.s32 [%A+4], %i;\nred.global.or.b32 [%A+8], %i;\n"
             "cvt.rn.f32.u32 %a, %i;\nred.global.add.f32 [%A+12], %a;\n"
             "atom.global.inc.u32 %b, [%A+16], 6;\nst.global.u32 [%B], %b;\n"
             "atom.global.cas.b32 %c, [%A+20], 0, %i;\ncvt.u64.u32 %D, %i;\n"
             "red.global.add.u64 [%A+24], %D;\natom.global.exch.b32 %d, [%A+32], %i;\n"
             "mov.u32 %c, 1;\nsetp.ne.s32 %p, %i, 0;\n@!%p st.shared.u32 [sum], 0;\nbar.sync 0;\n"
             "@%p atom.shared.add.u32 %d, [sum], %c;\nbar.sync 0;\nld.shared.u32 %d, [sum];\n"
             "@!%p st.global.u32 [%A+36], %d;\nret;\n}\n";

static void test_atomics(void **state)
{
    (void)state;
    struct sc_module *module = ptx_load(atomics);
    uint32_t *to = ptx_allocate(64, SC_RANGE_DEVICE), *old = ptx_allocate(600 * 4, SC_RANGE_DEVICE);
    uint64_t wide;
    float sum = 0, got;
    to[1] = (uint32_t)-5;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .grid = 3, .block = 200, .workers = 2},
             (void *[]){&to, &old});
    for (int i = 0; i < 600; i++) sum += (float)i;
    memcpy(&wide, to + 6, 8);
    memcpy(&got, to + 3, 4);
    assert_int_equal(to[0], 600 * 599 / 2);
    assert_int_equal(to[1], 599);
    assert_int_equal(to[2], 1023);
    assert_true(got == sum);
    assert_int_equal(to[4], 600 % 7);
    for (uint32_t i = 0; i < 600; i++) assert_int_equal(old[i], i % 7);
    assert_int_equal(to[5], 1); /* thread 0 wrote 0, and thread 1 found 0 again */
    assert_int_equal(wide, 600 * 599 / 2);
    assert_int_equal(to[8], 599);
    assert_int_equal(to[9], 199);
    sc_module_unload(module);
    ptx_reset();
}

/* One address for all lanes, but one of the two registers differs between lanes later on. */
static const char pair[] =
    PTX_HEAD ".visible .entry k(.param .u64 in, .param .u64 out) {\n" REGISTERS
             "ld.param.u64 %A, [in];\nld.param.u64 %B, [out];\nmul.wide.u32 %C, %i, 4;\nadd.s64 %B, %B, %C;\n"
             "ld.global.v2.u32 {%a, %b}, [%A];\nand.b32 %c, %i, 1;\nsetp.eq.s32 %p, %c, 0;\n@%p bra OVER;\n"
             "add.s32 %b, %b, %i;\nOVER: add.s32 %b, %b, %a;\nst.global.u32 [%B], %b;\nret;\n}\n";

static void test_a_pair_of_which_one_is_uniform(void **state)
{
    (void)state;
    struct sc_module *module = ptx_load(pair);
    uint32_t *in = ptx_allocate(8, SC_RANGE_DEVICE), *out = ptx_allocate(200 * 4, SC_RANGE_DEVICE);
    in[0] = 1000, in[1] = 7;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 200}, (void *[]){&in, &out});
    for (uint32_t i = 0; i < 200; i++) assert_int_equal(out[i], 1007 + (i & 1 ? i : 0));
    sc_module_unload(module);
    ptx_reset();
}

static const char copies[] =
    PTX_HEAD ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 stride) {\n" REGISTERS
             "ld.param.u64 %A, [in];\nld.param.u64 %B, [out];\nld.param.u32 %n, [stride];\n"
             "mul.lo.s32 %b, %i, %n;\nmul.wide.u32 %C, %b, 4;\nadd.s64 %A, %A, %C;\nmul.wide.u32 %C, %i, 4;\n"
             "add.s64 %B, %B, %C;\nld.global.u32 %a, [%A];\nst.global.u32 [%B], %a;\nret;\n}\n";
#define LOAD_LINE 21u /* of ld.global in `copies` */
#define STORE_LINE 22u

static void expect_fault(uint32_t stride, size_t in_bytes, size_t out_bytes, size_t skew,
                         enum sc_fault_kind kind, uint32_t line, uint32_t block, uint32_t thread)
{
    for (uint32_t workers = 1; workers < 4; workers++) {
        struct sc_module *module = ptx_load(copies);
        char *in = ptx_allocate(in_bytes, SC_RANGE_DEVICE), *out = ptx_allocate(out_bytes, SC_RANGE_DEVICE);
        char *from = in + skew;
        struct sc_fault fault = {0};
        struct sc_cost cost;
        struct ptx_launch launch = {.kernel = "k", .grid = 40, .block = 128, .workers = workers};
        assert_int_equal(ptx_launch(module, &launch, (void *[]){&from, &out, &stride}, &cost, &fault),
                         SC_ENGINE_FAULT);
        sc_cost_free(&cost);
        assert_int_equal(fault.kind, kind);
        assert_int_equal(fault.line, line);
        assert_int_equal(fault.block[0], block);
        assert_int_equal(fault.thread[0], thread);
        uint64_t lane = (uint64_t)block * 128 + thread;
        uint64_t expected = line == LOAD_LINE ? (uint64_t)(uintptr_t)from + lane * stride * 4
                                              : (uint64_t)(uintptr_t)out + lane * 4;
        assert_int_equal(fault.address, expected);
        sc_module_unload(module);
        ptx_reset();
    }
}

static void test_faults_name_the_thread(void **state)
{
    (void)state;
    expect_fault(1, 1000 * 4, 5120 * 4, 0, SC_FAULT_ILLEGAL_ADDRESS, LOAD_LINE, 7, 104);
    expect_fault(1, 5120 * 4, 130 * 4, 0, SC_FAULT_ILLEGAL_ADDRESS, STORE_LINE, 1, 2);
    expect_fault(3, 1000 * 4, 5120 * 4, 0, SC_FAULT_ILLEGAL_ADDRESS, LOAD_LINE, 2, 78);
    expect_fault(1, 5121 * 4, 5120 * 4, 2, SC_FAULT_MISALIGNED, LOAD_LINE, 0, 0);
    expect_fault(1, 1000 * 4 + 2, 5120 * 4, 0, SC_FAULT_ILLEGAL_ADDRESS, LOAD_LINE, 7,
                 104); /* half an element inside */
}

static void test_faults_on_chip(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u32 at) {\n.shared .align 4 .b8 s[64];\n.local .align 4 .b8 l[16];\n"
        ".reg .b32 %a;\n.reg .b64 %A;\nld.param.u32 %a, [at];\nst.shared.u32 [%a], %a;\n"
        "mov.u64 %A, l;\ncvta.local.u64 %A, %A;\nst.local.u32 [%A+0x100000], %a;\nret;\n}\n";
    struct sc_fault fault;
    struct sc_cost cost;
    uint32_t at = 64;
    (void)state;
    struct sc_module *module = ptx_load(text);
    assert_int_equal(ptx_launch(module, &(struct ptx_launch){.kernel = "k"}, (void *[]){&at}, &cost, &fault),
                     SC_ENGINE_FAULT);
    sc_cost_free(&cost);
    assert_int_equal(fault.line, 10);
    assert_int_equal(fault.address, 64);
    at = 60;
    assert_int_equal(ptx_launch(module, &(struct ptx_launch){.kernel = "k"}, (void *[]){&at}, &cost, &fault),
                     SC_ENGINE_FAULT);
    sc_cost_free(&cost);
    assert_int_equal(fault.line, 13);
    sc_module_unload(module);
    ptx_reset();
}

/* Contiguous lanes count once each, scattered ones 32 bytes; by 2 MiB block only where the link is. */
static void test_traffic(void **state)
{
    const size_t big = (size_t)6 << 20;
    uint32_t one = 1, far = 100;
    struct sc_cost cost;
    struct sc_fault fault;
    (void)state;
    struct sc_module *module = ptx_load(copies);
    char *in = ptx_allocate(big, SC_RANGE_MANAGED), *out = ptx_allocate(big, SC_RANGE_DEVICE);
    char *from =
        (char *)(((uintptr_t)in + (2u << 20)) / (2u << 20) * (2u << 20)) - 2048; /* straddles two blocks */
    struct ptx_launch launch = {.kernel = "k", .grid = 8, .block = 128};
    assert_true(from >= in);
    assert_int_equal(ptx_launch(module, &launch, (void *[]){&from, &out, &one}, &cost, &fault), SC_ENGINE_OK);
    assert_int_equal(cost.bytes_read, 4096);
    assert_int_equal(cost.bytes_written, 4096);
    assert_int_equal(cost.block_count, 2);
    assert_int_equal(cost.blocks[0].block, (uint64_t)(uintptr_t)from >> 21);
    assert_int_equal(cost.blocks[1].block, ((uint64_t)(uintptr_t)from >> 21) + 1);
    assert_int_equal(cost.blocks[0].bytes_read, 2048);
    assert_int_equal(cost.blocks[1].bytes_read, 2048);
    assert_int_equal(cost.blocks[0].bytes_written, 0);
    assert_int_equal(cost.instructions, 8 * 128 * 15);
    sc_cost_free(&cost);
    assert_int_equal(ptx_launch(module, &launch, (void *[]){&in, &out, &far}, &cost, &fault), SC_ENGINE_OK);
    assert_int_equal(cost.bytes_read, 1024 * 32);
    sc_cost_free(&cost);
    sc_module_unload(module);
    ptx_reset();
}

/* Sixteen lanes that read what the sixteen before them read, and some that only seem to: the register of the
 * address then holds data already, and that data are the next lanes' addresses. */
static void test_repeated_pattern(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 out) {\n.shared .align 16 .b8 s[1024];\n"
        ".reg .pred %p;\n.reg .b32 %t, %a, %b, %c, %d, %e;\n.reg .b64 %out, %A;\n"
        "ld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\nmad.lo.u32 %b, %t, 16, 256;\nmul.lo.u32 %c, %t, 3;\n"
        "mul.lo.u32 %d, %t, 5;\nmov.u32 %e, s;\nmad.lo.u32 %a, %t, 16, %e;\n"
        "st.shared.v4.u32 [%a], {%b, %t, %c, %d};\nbar.sync 0;\n"
        "and.b32 %a, %t, 15;\nmul.lo.u32 %a, %a, 16;\nand.b32 %b, %t, 48;\nsetp.eq.u32 %p, %b, 16;\n"
        "@%p add.u32 %a, %a, 256;\nld.shared.v4.u32 {%a, %b, %c, %d}, [%a];\n"
        "mul.wide.u32 %A, %t, 16;\nadd.u64 %A, %A, %out;\nst.global.v4.u32 [%A], {%a, %b, %c, "
        "%d};\nret;\n}\n";
    (void)state;
    struct sc_module *module = ptx_load(text);
    uint32_t *out = ptx_allocate(64 * 16, SC_RANGE_DEVICE);
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 64}, (void *[]){&out});
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t from = t % 16 + (t / 16 == 1 ? 16 : 0);
        assert_int_equal(out[4 * t], from * 16 + 256);
        assert_int_equal(out[4 * t + 1], from);
        assert_int_equal(out[4 * t + 2], from * 3);
        assert_int_equal(out[4 * t + 3], from * 5);
    }
    sc_module_unload(module);
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_faults_name_the_thread),
        cmocka_unit_test(test_faults_on_chip),
        cmocka_unit_test(test_a_pair_of_which_one_is_uniform),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_repeated_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
