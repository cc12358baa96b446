/* Integer and bit instructions against plain C on edge values and on values that look random. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

typedef uint64_t reference(uint64_t a, uint64_t b, uint64_t c);

#define U32(name, expression)                                                                                \
    static uint64_t name(uint64_t A, uint64_t B, uint64_t C)                                                 \
    {                                                                                                        \
        uint32_t a = (uint32_t)A, b = (uint32_t)B, c = (uint32_t)C;                                          \
        int32_t sa = (int32_t)a, sb = (int32_t)b, sc = (int32_t)c;                                           \
        (void)a, (void)b, (void)c, (void)sa, (void)sb, (void)sc;                                             \
        return (uint32_t)(expression);                                                                       \
    }
#define U64(name, expression)                                                                                \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                                 \
    {                                                                                                        \
        int64_t sa = (int64_t)a, sb = (int64_t)b, sc = (int64_t)c;                                           \
        (void)a, (void)b, (void)c, (void)sa, (void)sb, (void)sc;                                             \
        return (uint64_t)(expression);                                                                       \
    }
#define U16(name, expression)                                                                                \
    static uint64_t name(uint64_t A, uint64_t B, uint64_t C)                                                 \
    {                                                                                                        \
        uint16_t a = (uint16_t)A, b = (uint16_t)B, c = (uint16_t)C;                                          \
        int16_t sa = (int16_t)a, sb = (int16_t)b;                                                            \
        (void)a, (void)b, (void)c, (void)sa, (void)sb;                                                       \
        return (uint16_t)(expression);                                                                       \
    }

/* One reference after another, without semicolons */
/* clang-format off */
U32(add, a + b) U32(sub, a - b) U32(mul, a *b) U32(mad, a *b + c) U32(neg, -a)
U32(mulhi_u, (uint64_t)a *b >> 32) U32(mulhi_s, (int64_t)sa *sb >> 32)
U32(div_u, a / (b ? b : 1)) U32(rem_u, a % (b ? b : 1))
U32(div_s, sb == 0 ? a : sb == -1 ? -a : (uint32_t)(sa / sb)) U32(rem_s, sb == 0 || sb == -1 ? 0 : sa % sb)
U32(min_s, sa < sb ? sa : sb) U32(max_s, sa > sb ? sa : sb) U32(min_u, a < b ? a : b) U32(max_u, a > b ? a : b)
U32(abs_s, sa < 0 ? -a : a) U32(sad_u, c + (a < b ? b - a : a - b))
U32(sad_s, c + (uint32_t)llabs((long long)sa - sb))
U32(and_, a &b) U32(or_, a | b) U32(xor_, a ^ b) U32(not_, ~a) U32(cnot, a == 0)
U32(shl, b > 31 ? 0 : a << b) U32(shr_u, b > 31 ? 0 : a >> b) U32(shr_s, sa >> (b > 31 ? 31 : b))
U32(popc, __builtin_popcount(a)) U32(clz, a ? __builtin_clz(a) : 32)
U32(mul24, (a & 0xffffff) * (b & 0xffffff))
U32(addsat, (int64_t)sa + sb > INT32_MAX ? INT32_MAX : (int64_t)sa + sb < INT32_MIN ? INT32_MIN : (int64_t)sa + sb)
U64(add64, a + b) U64(sub64, a - b) U64(mul64, a *b) U64(mad64, a *b + c)
U64(mulhi_u64, (unsigned __int128)a *b >> 64) U64(mulhi_s64, (__int128)sa *sb >> 64)
U64(div_u64, a / (b ? b : 1)) U64(rem_s64, sb == 0 || sb == -1 ? 0 : sa % sb)
U64(shl64, (uint32_t)b > 63 ? 0 : a << (uint32_t)b) U64(shr_s64, sa >> ((uint32_t)b > 63 ? 63 : (uint32_t)b))
U64(max_s64, sa > sb ? sa : sb) U64(wide_u, (uint64_t)(uint32_t)a *(uint32_t)b)
U64(wide_s, (int64_t)(int32_t)a *(int32_t)b) U64(madwide, (uint64_t)((int64_t)(int32_t)a * (int32_t)b) + c)
U64(popc64, __builtin_popcountll(a)) U64(clz64, a ? __builtin_clzll(a) : 64)
U16(add16, a + b) U16(mul16, (uint32_t)a *b) U16(mulhi_s16, (sa * sb) >> 16) U16(min_s16, sa < sb ? sa : sb)
U16(shr_s16, sa >> 3) U16(div_u16, a / (b ? b : 1))
U32(wide_u16, (a & 0xffff) * (b & 0xffff)) U32(wide_s16, (int16_t)a *(int16_t)b)

    /* clang-format on */

    static uint32_t prmt(uint32_t a, uint32_t b, uint32_t c)
{
    uint8_t bytes[8];
    uint32_t out = 0;
    memcpy(bytes, &a, 4);
    memcpy(bytes + 4, &b, 4);
    for (int i = 0; i < 4; i++) {
        uint32_t nibble = c >> (4 * i) & 15, byte = bytes[nibble & 7];
        if (nibble & 8) byte = byte & 0x80 ? 255 : 0;
        out |= byte << (8 * i);
    }
    return out;
}
/* clang-format off */
U32(prmt_, prmt(a, b, c))
/* clang-format on */

static uint64_t bfe(uint64_t a, uint32_t position, uint32_t length, unsigned width, bool is_signed)
{
    uint64_t out = 0;
    position &= 255, length &= 255;
    unsigned top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    uint64_t sign = is_signed && length ? a >> top & 1 : 0;
    for (unsigned i = 0; i < width; i++) {
        uint64_t bit = i < length && position + i < width ? a >> (position + i) & 1 : sign;
        out |= bit << i;
    }
    return out;
}
/* clang-format off */
U32(bfe_u, bfe(a, b, c, 32, false)) U32(bfe_s, bfe(a, b, c, 32, true))
U64(bfe_u64, bfe(a, (uint32_t)b, (uint32_t)c, 64, false)) U64(bfe_s64, bfe(a, (uint32_t)b, (uint32_t)c, 64, true))

    /* clang-format on */

    static uint64_t bfi(uint64_t a, uint64_t b, uint32_t position, uint32_t length, unsigned width)
{
    position &= 255, length &= 255;
    for (unsigned i = 0; i < length && position + i < width; i++)
        b = (b & ~(1ull << (position + i))) | ((a >> i & 1) << (position + i));
    return b;
}
/* clang-format off */
U32(bfi_, bfi(a, b, c, 7, 32)) U64(bfi64, bfi(a, b, (uint32_t)c, 40, 64))
U32(bfind_u, a ? 31u - (uint32_t)__builtin_clz(a) : UINT32_MAX)
U32(bfind_s, (sa < 0 ? ~a : a) ? 31 - __builtin_clz(sa < 0 ? ~a : a) : (int)UINT32_MAX)
U32(shiftamt, a ? __builtin_clz(a) : (int)UINT32_MAX)

    /* clang-format on */

    static uint32_t brev(uint32_t a)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; i++) out |= (a >> i & 1) << (31 - i);
    return out;
}
/* clang-format off */
U32(brev_, brev(a))
U32(shf_lw, c % 32 ? (b << c % 32) | (a >> (32 - c % 32)) : b)
U32(shf_rc, c > 31 ? b : c ? (a >> c) | (b << (32 - c)) : a)
U32(lop3, (a & b) | (~a & c))
U32(dp4a, c + (uint32_t)((int8_t)a * (int8_t)b + (int8_t)(a >> 8) * (int8_t)(b >> 8) + (int8_t)(a >> 16) * (int8_t)(b >> 16) +
                         (int8_t)(a >> 24) * (int8_t)(b >> 24)))
U32(dp2a_lo, c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff))
U64(carry_chain, a + b) U64(borrow_chain, a - b)
    /* clang-format on */

    static const struct {
    const char *text;
    char result;
    reference *expected;
    unsigned skip; /* 1: b = 0 is undefined */
} instructions[] = {
    {"add.s32 %d, %a, %b;", 'd', add, 0},
    {"sub.u32 %d, %a, %b;", 'd', sub, 0},
    {"mul.lo.s32 %d, %a, %b;", 'd', mul, 0},
    {"mad.lo.u32 %d, %a, %b, %c;", 'd', mad, 0},
    {"neg.s32 %d, %a;", 'd', neg, 0},
    {"mul.hi.u32 %d, %a, %b;", 'd', mulhi_u, 0},
    {"mul.hi.s32 %d, %a, %b;", 'd', mulhi_s, 0},
    {"div.u32 %d, %a, %b;", 'd', div_u, 1},
    {"rem.u32 %d, %a, %b;", 'd', rem_u, 1},
    {"div.s32 %d, %a, %b;", 'd', div_s, 1},
    {"rem.s32 %d, %a, %b;", 'd', rem_s, 1},
    {"min.s32 %d, %a, %b;", 'd', min_s, 0},
    {"max.s32 %d, %a, %b;", 'd', max_s, 0},
    {"min.u32 %d, %a, %b;", 'd', min_u, 0},
    {"max.u32 %d, %a, %b;", 'd', max_u, 0},
    {"abs.s32 %d, %a;", 'd', abs_s, 0},
    {"sad.u32 %d, %a, %b, %c;", 'd', sad_u, 0},
    {"sad.s32 %d, %a, %b, %c;", 'd', sad_s, 0},
    {"and.b32 %d, %a, %b;", 'd', and_, 0},
    {"or.b32 %d, %a, %b;", 'd', or_, 0},
    {"xor.b32 %d, %a, %b;", 'd', xor_, 0},
    {"not.b32 %d, %a;", 'd', not_, 0},
    {"cnot.b32 %d, %a;", 'd', cnot, 0},
    {"shl.b32 %d, %a, %b;", 'd', shl, 0},
    {"shr.u32 %d, %a, %b;", 'd', shr_u, 0},
    {"shr.s32 %d, %a, %b;", 'd', shr_s, 0},
    {"popc.b32 %d, %a;", 'd', popc, 0},
    {"clz.b32 %d, %a;", 'd', clz, 0},
    {"mul24.lo.u32 %d, %a, %b;", 'd', mul24, 0},
    {"add.sat.s32 %d, %a, %b;", 'd', addsat, 0},
    {"add.s64 %D, %A, %B;", 'D', add64, 0},
    {"sub.s64 %D, %A, %B;", 'D', sub64, 0},
    {"mul.lo.s64 %D, %A, %B;", 'D', mul64, 0},
    {"mad.lo.s64 %D, %A, %B, %C;", 'D', mad64, 0},
    {"mul.hi.u64 %D, %A, %B;", 'D', mulhi_u64, 0},
    {"mul.hi.s64 %D, %A, %B;", 'D', mulhi_s64, 0},
    {"div.u64 %D, %A, %B;", 'D', div_u64, 1},
    {"rem.s64 %D, %A, %B;", 'D', rem_s64, 1},
    {"shl.b64 %D, %A, %b;", 'D', shl64, 0},
    {"shr.s64 %D, %A, %b;", 'D', shr_s64, 0},
    {"max.s64 %D, %A, %B;", 'D', max_s64, 0},
    {"mul.wide.u32 %D, %a, %b;", 'D', wide_u, 0},
    {"mul.wide.s32 %D, %a, %b;", 'D', wide_s, 0},
    {"mad.wide.s32 %D, %a, %b, %C;", 'D', madwide, 0},
    {"popc.b64 %d, %A;", 'd', popc64, 0},
    {"clz.b64 %d, %A;", 'd', clz64, 0},
    {"add.s16 %w, %x, %y;", 'w', add16, 0},
    {"mul.lo.s16 %w, %x, %y;", 'w', mul16, 0},
    {"mul.hi.s16 %w, %x, %y;", 'w', mulhi_s16, 0},
    {"min.s16 %w, %x, %y;", 'w', min_s16, 0},
    {"shr.s16 %w, %x, 3;", 'w', shr_s16, 0},
    {"div.u16 %w, %x, %y;", 'w', div_u16, 1},
    {"mul.wide.u16 %d, %x, %y;", 'd', wide_u16, 0},
    {"mul.wide.s16 %d, %x, %y;", 'd', wide_s16, 0},
    {"prmt.b32 %d, %a, %b, %c;", 'd', prmt_, 0},
    {"bfe.u32 %d, %a, %b, %c;", 'd', bfe_u, 0},
    {"bfe.s32 %d, %a, %b, %c;", 'd', bfe_s, 0},
    {"bfe.u64 %D, %A, %b, %c;", 'D', bfe_u64, 0},
    {"bfe.s64 %D, %A, %b, %c;", 'D', bfe_s64, 0},
    {"bfi.b32 %d, %a, %b, %c, 7;", 'd', bfi_, 0},
    {"bfi.b64 %D, %A, %B, %c, 40;", 'D', bfi64, 0},
    {"bfind.u32 %d, %a;", 'd', bfind_u, 0},
    {"bfind.s32 %d, %a;", 'd', bfind_s, 0},
    {"bfind.shiftamt.u32 %d, %a;", 'd', shiftamt, 0},
    {"brev.b32 %d, %a;", 'd', brev_, 0},
    {"shf.l.wrap.b32 %d, %a, %b, %c;", 'd', shf_lw, 0},
    {"shf.r.clamp.b32 %d, %a, %b, %c;", 'd', shf_rc, 0},
    {"lop3.b32 %d, %a, %b, %c, 0xca;", 'd', lop3, 0},
    {"dp4a.s32.s32 %d, %a, %b, %c;", 'd', dp4a, 0},
    {"dp2a.lo.u32.u32 %d, %a, %b, %c;", 'd', dp2a_lo, 0},
    {"mov.b64 {%a, %d}, %A; mov.b64 {%b, %e}, %B; add.cc.u32 %a, %a, %b; addc.u32 %d, %d, %e; mov.b64 %D, "
     "{%a, %d};",
     'D', carry_chain, 0},
    {"mov.b64 {%a, %d}, %A; mov.b64 {%b, %e}, %B; sub.cc.u32 %a, %a, %b; subc.u32 %d, %d, %e; mov.b64 %D, "
     "{%a, %d};",
     'D', borrow_chain, 0},
};

static const uint64_t edges[] = {
    0,
    1,
    2,
    7,
    31,
    32,
    33,
    63,
    64,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0xffffffff80000000,
};
#define EDGES (sizeof edges / sizeof *edges)
#define CASES (EDGES * EDGES + 500)

static size_t make_cases(struct ptx_case cases[CASES], bool nonzero)
{
    uint64_t state = 88172645463325252ull;
    size_t n = 0;
    for (size_t i = 0; i < EDGES; i++)
        for (size_t k = 0; k < EDGES; k++) {
            struct ptx_case one = {edges[i], edges[k], edges[(i + 3 * k) % EDGES]};
            if (nonzero && (uint16_t)one.b == 0) continue;
            cases[n++] = one;
        }
    for (size_t i = 0; i < 500; i++) {
        cases[n] = (struct ptx_case){next_random(&state), next_random(&state) >> (i % 64),
                                     next_random(&state) >> (i % 61)};
        if (nonzero) cases[n].b |= 1;
        n++;
    }
    return n;
}

static void test_all(void **state)
{
    static struct ptx_case cases[CASES];
    static uint64_t out[CASES];
    (void)state;
    for (size_t t = 0; t < sizeof instructions / sizeof *instructions; t++) {
        size_t n = make_cases(cases, instructions[t].skip);
        ptx_run(instructions[t].text, instructions[t].result, cases, n, out);
        for (size_t i = 0; i < n; i++) {
            uint64_t expected = instructions[t].expected(cases[i].a, cases[i].b, cases[i].c);
            if (out[i] != expected)
                fail_msg("%s on %#llx %#llx %#llx: %#llx, expected %#llx", instructions[t].text,
                         (unsigned long long)cases[i].a, (unsigned long long)cases[i].b,
                         (unsigned long long)cases[i].c, (unsigned long long)out[i],
                         (unsigned long long)expected);
        }
    }
}

static void test_division_by_zero_does_not_trap(void **state)
{
    (void)state;
    ptx_one("div.s32 %d, %a, %b;", 'd', 5, 0, 0);
    ptx_one("rem.u64 %D, %A, %B;", 'D', 5, 0, 0);
    assert_int_equal(ptx_one("div.s32 %d, %a, %b;", 'd', 0x80000000, 0xffffffff, 0), 0x80000000);
    assert_int_equal(ptx_one("rem.s32 %d, %a, %b;", 'd', 0x80000000, 0xffffffff, 0), 0);
}

static bool holds(int which, bool less, bool equal)
{
    const bool answers[6] = {equal, !equal, less, less || equal, !less && !equal, !less};
    return answers[which];
}

static void test_comparisons(void **state)
{
    static const char *const names[6] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static struct ptx_case cases[CASES];
    static uint64_t out[CASES];
    (void)state;
    for (int which = 0; which < 6; which++) {
        char text[80];
        size_t n = make_cases(cases, false);
        snprintf(text, sizeof text, "setp.%s.s32 %%t, %%a, %%b;", names[which]);
        ptx_run(text, 't', cases, n, out);
        for (size_t i = 0; i < n; i++) {
            int32_t a = (int32_t)cases[i].a, b = (int32_t)cases[i].b;
            assert_int_equal(out[i], holds(which, a < b, a == b));
        }
        snprintf(text, sizeof text, "setp.%s.u16 %%t, %%x, %%y;", names[which]);
        ptx_run(text, 't', cases, n, out);
        for (size_t i = 0; i < n; i++) {
            uint16_t a = (uint16_t)cases[i].a, b = (uint16_t)cases[i].b;
            assert_int_equal(out[i], holds(which, a < b, a == b));
        }
        snprintf(text, sizeof text, "setp.%s.and.u64 %%t|%%q, %%A, %%B, %%s;", names[which]);
        ptx_run(text, 't', cases, n, out);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(out[i], holds(which, cases[i].a < cases[i].b, cases[i].a == cases[i].b) &&
                                         (cases[i].c & 1));
    }
}

static void test_both_results_of_setp(void **state)
{
    (void)state;
    for (uint64_t c = 0; c < 2; c++) {
        assert_int_equal(ptx_one("setp.lt.or.s32 %q|%t, %a, %b, %s;", 't', 1, 2, c), c);
        assert_int_equal(ptx_one("setp.lt.xor.s32 %q|%t, %a, %b, !%s;", 't', 3, 2, c), 1 ^ !c);
    }
}

static void test_guards(void **state)
{
    static const struct ptx_case cases[] = {{0, 10, 20}, {1, 10, 20}, {1, 11, 21}, {0, 12, 22}};
    uint64_t out[4];
    (void)state;
    ptx_run("mov.b32 %d, %b; @%p add.s32 %d, %d, %c; @!%p mov.b32 %d, 7;", 'd', cases, 4, out);
    assert_int_equal(out[0], 7);
    assert_int_equal(out[1], 30);
    assert_int_equal(out[2], 32);
    assert_int_equal(out[3], 7);
    ptx_run("mov.b64 %D, %B; @%p mul.wide.u32 %D, %b, %c;", 'D', cases, 4, out);
    assert_int_equal(out[0], 10);
    assert_int_equal(out[2], 11 * 21);
}

static void test_selection_and_sets(void **state)
{
    (void)state;
    assert_int_equal(ptx_one("selp.b32 %d, %a, %b, %s;", 'd', 5, 6, 1), 5);
    assert_int_equal(ptx_one("selp.b64 %D, %A, %B, %s;", 'D', 5, 6, 0), 6);
    assert_int_equal(ptx_one("slct.u32.s32 %d, %a, %b, %c;", 'd', 5, 6, 0x80000000), 6);
    assert_int_equal(ptx_one("slct.u64.f32 %D, %A, %B, %c;", 'D', 5, 6, 0x80000000), 5); /* -0 >= 0 */
    assert_int_equal(ptx_one("set.lt.u32.s32 %d, %a, %b;", 'd', 0xffffffff, 1, 0), 0xffffffff);
    assert_int_equal(ptx_one("set.gt.f32.u32 %d, %a, %b;", 'd', 2, 1, 0), 0x3f800000);
    assert_int_equal(ptx_one("mov.b32 {%x, %y}, %a; mov.b32 %d, {%y, %x};", 'd', 0x12345678, 0, 0),
                     0x56781234);
}

/* SIMD video instructions, number by number */
static void test_video(void **state)
{
    static const char *const operations[] = {"vadd", "vsub", "vmin", "vmax", "vabsdiff", "vavrg"};
    uint64_t random = 41;
    (void)state;
    for (int o = 0; o < 6; o++)
        for (int kind = 0; kind < 8; kind++) {
            int count = kind & 1 ? 4 : 2, bits = 32 / count, is_signed = kind >> 1 & 1, saturate = kind >> 2;
            char text[80], type = is_signed ? 's' : 'u';
            struct ptx_case in[64];
            uint64_t got[64];
            for (int i = 0; i < 64; i++)
                in[i] = (struct ptx_case){next_random(&random), next_random(&random), 0};
            snprintf(text, sizeof text, "%s%d.%c32.%c32.%c32%s %%d, %%a, %%b, %%c;", operations[o], count,
                     type, type, type, saturate ? ".sat" : "");
            ptx_run(text, 'd', in, 64, got);
            for (int i = 0; i < 64; i++)
                for (int n = 0; n < count; n++) {
                    int64_t span = 1ll << bits, x = (int64_t)(in[i].a >> (n * bits)) & (span - 1), r;
                    int64_t y = (int64_t)(in[i].b >> (n * bits)) & (span - 1);
                    if (is_signed && x >= span / 2) x -= span;
                    if (is_signed && y >= span / 2) y -= span;
                    r = o == 0   ? x + y
                        : o == 1 ? x - y
                        : o == 2 ? (x < y ? x : y)
                        : o == 3 ? (x > y ? x : y)
                                 : x - y;
                    if (o == 4 && r < 0) r = -r;
                    if (o == 5) r = (x + y + (x + y >= 0)) >> 1;
                    int64_t low = is_signed ? -span / 2 : 0, high = low + span - 1;
                    if (saturate) r = r < low ? low : r > high ? high : r;
                    if (((got[i] >> (n * bits)) & (uint64_t)(span - 1)) !=
                        ((uint64_t)r & (uint64_t)(span - 1)))
                        fail_msg("%s: %llx, %llx gives %llx", text, (unsigned long long)in[i].a,
                                 (unsigned long long)in[i].b, (unsigned long long)got[i]);
                }
        }
    assert_int_equal(ptx_one("vset4.u32.u32.gt %d, %a, %b, %c;", 'd', 0x05060708, 0x04070608, 0), 0x01000100);
    assert_int_equal(ptx_one("vset2.s32.s32.le.add %d, %a, %b, %c;", 'd', 0x80000001, 0x00000001, 10), 12);
    assert_int_equal(ptx_one("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", 'd', 0x01020304, 0x04030201, 100),
                     108);
}

static void test_masks(void **state)
{
    (void)state;
    assert_int_equal(ptx_one("bmsk.clamp.b32 %d, %a, %b;", 'd', 4, 8, 0), 0xff0);
    assert_int_equal(ptx_one("bmsk.clamp.b32 %d, %a, %b;", 'd', 4, 33, 0), 0xfffffff0);
    assert_int_equal(ptx_one("bmsk.wrap.b32 %d, %a, %b;", 'd', 36, 40, 0), 0xff0);
    assert_int_equal(ptx_one("bmsk.clamp.b32 %d, %a, %b;", 'd', 32, 1, 0), 0);
    assert_int_equal(ptx_one("szext.clamp.s32 %d, %a, %b;", 'd', 0xff, 8, 0), 0xffffffff);
    assert_int_equal(ptx_one("szext.wrap.s32 %d, %a, %b;", 'd', 0xff, 41, 0), 0xff);
    assert_int_equal(ptx_one("szext.clamp.u32 %d, %a, %b;", 'd', 0xabcd, 8, 0), 0xcd);
    assert_int_equal(ptx_one("szext.clamp.u32 %d, %a, %b;", 'd', 0xabcd, 0, 0), 0);
    assert_int_equal(ptx_one("szext.clamp.s32 %d, %a, %b;", 'd', 0x8000abcd, 99, 0), 0x8000abcd);
    assert_int_equal(ptx_one("fns.b32 %d, %a, 0, 3;", 'd', 0xb2, 0, 0), 5);
    assert_int_equal(ptx_one("fns.b32 %d, %a, 6, -2;", 'd', 0xb2, 0, 0), 4);
    assert_int_equal(ptx_one("fns.b32 %d, %a, 2, 0;", 'd', 0xb2, 0, 0), 0xffffffff);
    assert_int_equal(ptx_one("fns.b32 %d, %a, 0, 9;", 'd', 0xb2, 0, 0), 0xffffffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_video),       cmocka_unit_test(test_masks),
        cmocka_unit_test(test_all),         cmocka_unit_test(test_division_by_zero_does_not_trap),
        cmocka_unit_test(test_comparisons), cmocka_unit_test(test_both_results_of_setp),
        cmocka_unit_test(test_guards),      cmocka_unit_test(test_selection_and_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
