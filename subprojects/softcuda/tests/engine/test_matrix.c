/* Matrix instructions of a warp, against products computed element by element from the layouts that the PTX
 * manual gives for mma. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

/* A kernel that loads registers of 32 bits, runs an instruction and stores its results: thread t's register r
 * is word 32 r + t of its array. */
static void run_registers(const char *instruction, unsigned results, unsigned sources, const uint32_t *in,
                          uint32_t *out)
{
    char *text = malloc(16384), *at = text;
    at += sprintf(at, PTX_HEAD
                  ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b32 %%d<9>, %%s<25>, %%t;\n"
                  ".reg .b64 %%i, %%o;\nld.param.u64 %%i, [in];\nld.param.u64 %%o, [out];\n"
                  "mov.u32 %%t, %%tid.x;\nmad.wide.u32 %%i, %%t, 4, %%i;\nmad.wide.u32 %%o, %%t, 4, %%o;\n");
    for (unsigned r = 0; r < sources; r++) at += sprintf(at, "ld.global.u32 %%s%u, [%%i+%u];\n", r, r * 128);
    at += sprintf(at, "%s\n", instruction);
    for (unsigned r = 0; r < results; r++) at += sprintf(at, "st.global.u32 [%%o+%u], %%d%u;\n", r * 128, r);
    sprintf(at, "ret;\n}\n");
    struct sc_module *module = ptx_load(text);
    uint32_t *device_in = ptx_allocate(sources * 128 + 128, SC_RANGE_DEVICE);
    uint32_t *device_out = ptx_allocate(results * 128 + 128, SC_RANGE_DEVICE);
    memcpy(device_in, in, sources * 128);
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 32}, (void *[]){&device_in, &device_out});
    memcpy(out, device_out, results * 128);
    sc_module_unload(module);
    ptx_reset();
    free(text);
}

static float half(uint32_t h)
{
    _Float16 x;
    uint16_t bits = (uint16_t)h;
    memcpy(&x, &bits, 2);
    return (float)x;
}

static uint16_t small_half(uint64_t r)
{
    _Float16 x = (_Float16)((int)(r % 17) - 8);
    uint16_t bits;
    memcpy(&bits, &x, 2);
    return bits;
}

static void test_half_m16n8k16(void **state)
{
    uint32_t in[10 * 32], out[4 * 32];
    uint64_t random = 17;
    (void)state;
    for (int i = 0; i < 6 * 32; i++)
        in[i] = small_half(next_random(&random)) | (uint32_t)small_half(next_random(&random)) << 16;
    for (int i = 6 * 32; i < 10 * 32; i++) in[i] = bits_of((float)(next_random(&random) % 100));
    run_registers(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%s0, %s1, %s2, %s3}, "
        "{%s4, %s5}, {%s6, %s7, %s8, %s9};",
        4, 10, in, out);
    float a[16][16], b[16][8], c[16][8];
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, in_group = lane & 3;
        for (int i = 0; i < 8; i++) {
            int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
            int column = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
            a[row][column] = half(in[i / 2 * 32 + lane] >> (i % 2 * 16));
        }
        for (int i = 0; i < 4; i++) {
            int row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
            b[row][group] = half(in[(4 + i / 2) * 32 + lane] >> (i % 2 * 16));
            c[i < 2 ? group : group + 8][in_group * 2 + (i & 1)] = float_of(in[(6 + i) * 32 + lane]);
        }
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), column = (lane & 3) * 2 + (i & 1);
            float sum = c[row][column];
            for (int k = 0; k < 16; k++) sum += a[row][k] * b[k][column];
            assert_int_equal(out[i * 32 + lane], bits_of(sum)); /* small integers: exact */
        }
}

static void test_bytes_m16n8k32(void **state)
{
    uint32_t in[10 * 32], out[4 * 32];
    uint64_t random = 23;
    (void)state;
    for (int i = 0; i < 10 * 32; i++) in[i] = (uint32_t)next_random(&random);
    run_registers(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%d0, %d1, %d2, %d3}, {%s0, %s1, %s2, %s3}, "
        "{%s4, %s5}, {%s6, %s7, %s8, %s9};",
        4, 10, in, out);
    int a[16][32], b[32][8];
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, in_group = lane & 3;
        for (int i = 0; i < 16; i++) {
            int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
            a[row][in_group * 4 + (i & 3) + (i >= 8 ? 16 : 0)] =
                (int8_t)(in[i / 4 * 32 + lane] >> (i % 4 * 8));
        }
        for (int i = 0; i < 8; i++)
            b[in_group * 4 + (i & 3) + (i >= 4 ? 16 : 0)][group] =
                (uint8_t)(in[(4 + i / 4) * 32 + lane] >> (i % 4 * 8));
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), column = (lane & 3) * 2 + (i & 1);
            uint32_t sum = in[(6 + i) * 32 + lane];
            for (int k = 0; k < 32; k++) sum += (uint32_t)(a[row][k] * b[k][column]);
            assert_int_equal(out[i * 32 + lane], sum);
        }
}

static void test_bits_m16n8k256(void **state)
{
    uint32_t in[10 * 32], out[4 * 32];
    uint64_t random = 29;
    (void)state;
    for (int i = 0; i < 10 * 32; i++) in[i] = (uint32_t)next_random(&random);
    run_registers("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%d0, %d1, %d2, %d3}, "
                  "{%s0, %s1, %s2, %s3}, {%s4, %s5}, {%s6, %s7, %s8, %s9};",
                  4, 10, in, out);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row = (lane >> 2) + (i < 2 ? 0 : 8), column = (lane & 3) * 2 + (i & 1);
            uint32_t sum = in[(6 + i) * 32 + lane];
            for (int k = 0; k < 256; k += 32) { /* lane k / 32 % 4 of the row's group holds them */
                uint32_t x = in[((row >= 8) + (k >= 128) * 2) * 32 + row % 8 * 4 + k / 32 % 4];
                uint32_t y = in[(4 + (k >= 128)) * 32 + column * 4 + k / 32 % 4];
                sum += (uint32_t)__builtin_popcount(x ^ y);
            }
            assert_int_equal(out[i * 32 + lane], sum);
        }
}

/* The largest and smallest that saturate, and rounding of a sum to a half */
static void test_ends(void **state)
{
    uint32_t in[10 * 32], out[4 * 32];
    (void)state;
    for (int i = 0; i < 10 * 32; i++) in[i] = i < 6 * 32 ? 0x7f7f7f7f : INT32_MAX;
    run_registers("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%d0, %d1, %d2, %d3}, "
                  "{%s0, %s1, %s2, %s3}, {%s4, %s5}, {%s6, %s7, %s8, %s9};",
                  4, 10, in, out);
    assert_int_equal(out[5], INT32_MAX);
    for (int i = 0; i < 10 * 32; i++)
        in[i] = i < 6 * 32 ? 0x3c003c00 : 0x68006800; /* 16 products of 1, and 2048 */
    run_registers("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d0, %d1}, {%s0, %s1, %s2, %s3}, "
                  "{%s4, %s5}, {%s6, %s7};",
                  2, 8, in, out);
    assert_int_equal(out[7], 0x68086808);
    for (int i = 0; i < 6 * 32; i++) in[i] = 0x7c007c00;
    run_registers(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%s0, %s1, %s2, %s3}, "
        "{%s4, %s5}, {%s6, %s7, %s8, %s9};",
        4, 10, in, out);
    assert_int_equal(out[0], 0x7f800000);
}

/* One warp: A and B from global memory, D back to it, every shape, type and order */
static void check_wmma(int m, int n, int k, const char *type, int bytes, const char *sum_type, bool a_column,
                       bool b_column)
{
    char *text = malloc(16384), *at = text, fragment[3][128];
    bool real = type[0] != 's' && type[0] != 'u', wide = !strcmp(type, "f64"), tf = !strcmp(type, "tf32");
    int each = 4 / bytes ? 4 / bytes : 1, repeat = !strcmp(type, "f16");
    int counts[3] = {m * k / 32 / each, k * n / 32 / each, m * n / 32};
    if (repeat) counts[0] = counts[1] = 8;
    for (int f = 0; f < 3; f++) {
        char *to = fragment[f];
        to += sprintf(to, "{");
        for (int i = 0; i < counts[f]; i++) to += sprintf(to, "%s%%%c%d", i ? ", " : "", "abc"[f], i);
        sprintf(to, "}");
    }
    char shape[32], types[64];
    sprintf(shape, "m%dn%dk%d", m, n, k);
    if (repeat)
        sprintf(types, "%s.%s", sum_type, sum_type);
    else
        sprintf(types, "%s.%s.%s.%s", sum_type, type, type, sum_type);
    const char *register_type = wide ? "b64" : "b32";
    at += sprintf(at,
                  PTX_HEAD ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {\n"
                           ".reg .%s %%a<9>, %%b<9>, %%c<9>;\n.reg .b64 %%p, %%q, %%r;\n"
                           "ld.param.u64 %%p, [a];\nld.param.u64 %%q, [b];\nld.param.u64 %%r, [c];\n",
                  register_type);
    at += sprintf(at, "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%p];\n", a_column ? "col" : "row",
                  shape, type, fragment[0]);
    at += sprintf(at, "wmma.load.b.sync.aligned.%s.%s.global.%s %s, [%%q];\n", b_column ? "col" : "row",
                  shape, type, fragment[1]);
    at += sprintf(at, "wmma.load.c.sync.aligned.row.%s.global.%s %s, [%%r], %d;\n", shape, sum_type,
                  fragment[2], n);
    at += sprintf(at, "wmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;\n", a_column ? "col" : "row",
                  b_column ? "col" : "row", shape, types, fragment[2], fragment[0], fragment[1], fragment[2]);
    sprintf(at, "wmma.store.d.sync.aligned.col.%s.global.%s [%%r], %s, %d;\nret;\n}\n", shape, sum_type,
            fragment[2], m);
    struct sc_module *module = ptx_load(text);
    int sum_bytes = wide ? 8 : 4;
    unsigned char *a = ptx_allocate((size_t)(m * k * bytes), SC_RANGE_DEVICE);
    unsigned char *b = ptx_allocate((size_t)(k * n * bytes), SC_RANGE_DEVICE);
    unsigned char *c = ptx_allocate((size_t)(m * n * sum_bytes), SC_RANGE_DEVICE);
    int number_a[32 * 32], number_b[32 * 32];
    uint64_t random = 31;
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < (which ? k * n : m * k); i++) {
            int x = (int)(next_random(&random) % 9) - (type[0] == 'u' ? 0 : 4);
            unsigned char *to = (which ? b : a) + i * bytes;
            uint16_t h = small_half(0);
            _Float16 exact = (_Float16)x;
            float single = (float)x;
            double twice = x;
            memcpy(&h, &exact, 2);
            if (!strcmp(type, "bf16")) h = (uint16_t)(bits_of(single) >> 16);
            if (!real)
                memcpy(to, &x, 1);
            else if (bytes == 2)
                memcpy(to, &h, 2);
            else if (tf)
                memcpy(to, &single, 4);
            else
                memcpy(to, &twice, 8);
            (which ? number_b : number_a)[i] = x;
        }
    for (int i = 0; i < m * n; i++) {
        float single = (float)i;
        double twice = i;
        memcpy(c + i * sum_bytes,
               wide   ? (void *)&twice
               : real ? (void *)&single
                      : (void *)&i,
               (size_t)sum_bytes);
    }
    struct sc_cost cost;
    struct sc_fault fault;
    assert_int_equal(ptx_launch(module, &(struct ptx_launch){.kernel = "k", .block = 32},
                                (void *[]){&a, &b, &c}, &cost, &fault),
                     SC_ENGINE_OK);
    assert_int_equal(cost.flops, 2 * m * n * k);
    assert_int_equal(cost.bytes_written, m * n * sum_bytes);
    sc_cost_free(&cost);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int sum = i * n + j, got;
            for (int l = 0; l < k; l++)
                sum +=
                    number_a[a_column ? l * m + i : i * k + l] * number_b[b_column ? j * k + l : l * n + j];
            const unsigned char *from = c + (j * m + i) * sum_bytes;
            float single;
            double twice;
            memcpy(&single, from, 4);
            if (wide) memcpy(&twice, from, 8);
            memcpy(&got, from, 4);
            if (real) got = wide ? (int)twice : (int)single;
            if (got != sum) fail_msg("%s %s: element %d, %d is %d, not %d", shape, type, i, j, got, sum);
        }
    sc_module_unload(module);
    ptx_reset();
    free(text);
}

static void test_wmma(void **state)
{
    static const int shapes[3][3] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
    (void)state;
    for (int order = 0; order < 4; order++) {
        for (int s = 0; s < 3; s++) {
            check_wmma(shapes[s][0], shapes[s][1], 16, "f16", 2, "f32", order & 1, order >> 1);
            check_wmma(shapes[s][0], shapes[s][1], 16, "bf16", 2, "f32", order & 1, order >> 1);
            check_wmma(shapes[s][0], shapes[s][1], 16, "s8", 1, "s32", order & 1, order >> 1);
            check_wmma(shapes[s][0], shapes[s][1], 16, "u8", 1, "s32", order & 1, order >> 1);
        }
        check_wmma(16, 16, 8, "tf32", 4, "f32", order & 1, order >> 1);
        check_wmma(8, 8, 4, "f64", 8, "f64", order & 1, order >> 1);
    }
}

static void test_rows(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 out) {\n.shared .align 16 .b8 s[512];\n.reg .b32 %a, %b, %c, %d, %t, "
        "%p, %w;\n"
        ".reg .b64 %o;\nld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %o, %t, 4, %o;\nmov.u32 "
        "%p, s;\n"
        "mad.lo.u32 %w, %t, 4, %p;\nmul.lo.u32 %a, %t, 0x00020002;\nadd.u32 %a, %a, 0x00010000;\n" /* halves
                                                                                                      count */
        "st.shared.u32 [%w], %a;\nadd.u32 %a, %a, 0x00400040;\nst.shared.u32 [%w+128], %a;\n"
        "add.u32 %a, %a, 0x00400040;\nst.shared.u32 [%w+256], %a;\nadd.u32 %a, %a, 0x00400040;\n"
        "st.shared.u32 [%w+384], %a;\nbar.sync 0;\nmad.lo.u32 %w, %t, 16, %p;\n"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a, %b, %c, %d}, [%w];\n"
        "st.global.u32 [%o], %a;\nst.global.u32 [%o+128], %d;\n"
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%a, %b}, [%w];\nst.global.u32 [%o+256], %b;\n"
        "movmatrix.sync.aligned.m8n8.trans.b16 %c, %b;\nst.global.u32 [%o+384], %c;\n"
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%w], {%b};\nbar.sync 0;\nmad.lo.u32 %w, %t, 4, %p;\n"
        "ld.shared.u32 %a, [%w];\nst.global.u32 [%o+512], %a;\nret;\n}\n";
    struct sc_module *module = ptx_load(text);
    uint32_t *out = ptx_allocate(5 * 128, SC_RANGE_DEVICE);
    (void)state;
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 32}, (void *[]){&out});
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t y = lane / 4, x = lane % 4 * 2, straight = (y * 8 + x) | (y * 8 + x + 1) << 16;
        assert_int_equal(out[lane], straight);
        assert_int_equal(out[32 + lane], straight + 192 * 0x10001u);
        assert_int_equal(out[64 + lane], ((x * 8 + y) | ((x + 1) * 8 + y) << 16) + 64 * 0x10001u);
        assert_int_equal(out[96 + lane], straight + 64 * 0x10001u);
        assert_int_equal(out[128 + lane], straight + 64 * 0x10001u);
    }
    sc_module_unload(module);
    ptx_reset();
}

static void test_what_is_not_a_matrix(void **state)
{
    static const char *const bad[] = {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%a, %b}, {%a, %b, %a, %b}, {%a, %b}, {%a, %b, "
        "%a, %b};",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%a, %b, %a, %b}, {%a, %b, %a, %b}, {%a, %b}, "
        "{%a, %b, %a, %b};",
        "mma.sync.aligned.m16n8k16.row.col.s32.f16.f16.s32 {%a, %b, %a, %b}, {%a, %b, %a, %b}, {%a, %b}, "
        "{%a, %b, %a, %b};",
        "mma.sync.aligned.m24n8k16.row.col.f32.f16.f16.f32 {%a, %b, %a, %b}, {%a, %b, %a, %b}, {%a, %b}, "
        "{%a, %b, %a, %b};",
        "mma.sync.aligned.m16n8k4096.row.col.f32.f16.f16.f32 {%a}, {%a}, {%a}, {%a};",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a, %b}, [%a];",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%a}, [%a], 16;",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        struct sc_diagnostic diagnostic;
        snprintf(text, sizeof text, PTX_HEAD ".visible .entry k() {\n.reg .b32 %%a, %%b;\n%s\nret;\n}\n",
                 bad[i]);
        assert_int_equal(ptx_try(text, &diagnostic), SC_ENGINE_INVALID_PTX);
        assert_int_equal(diagnostic.line, 6);
    }
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_m16n8k16),
        cmocka_unit_test(test_bytes_m16n8k32),
        cmocka_unit_test(test_bits_m16n8k256),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_wmma),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_what_is_not_a_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
