/* Carry chains, bytes, bits and selections of integers against plain C. */
#include "reference.h"

#include <stdio.h>

typedef unsigned __int128 wide;

static struct reference_cases cases;

static wide extended(uint64_t a, unsigned bits, bool is_signed)
{
    wide cut = a & ((1ull << bits) - 1);
    return is_signed && cut >> (bits - 1) & 1 ? cut - ((wide)1 << bits) : cut;
}

/* Whole instructions, or several, with their result from the cases' bits */
struct special {
    const char *text;
    char result;
    uint64_t (*compute)(uint64_t a, uint64_t b, uint64_t c);
};

static uint64_t right_special(const struct ptx_case *in, const void *what, bool *open)
{
    (void)open;
    return ((const struct special *)what)->compute(in->a, in->b, in->c);
}

#define SPECIAL(name, ...)                                                                                   \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c)                                                 \
    {                                                                                                        \
        (void)a, (void)b, (void)c;                                                                           \
        __VA_ARGS__                                                                                          \
    }

#define LOW(x) ((uint64_t)(uint32_t)(x))

/* Carry chains: the low halves of A and B and their upper halves are the limbs of 64-bit numbers. */
SPECIAL(chain_add, return a + b;)
SPECIAL(chain_sub, return a - b;)
SPECIAL(carry_add, return (LOW(a) + LOW(b)) >> 32;)
SPECIAL(carry_add_c, uint64_t carry = (LOW(b) + LOW(c)) >> 32; return (LOW(a) + LOW(b) + carry) >> 32;)
SPECIAL(borrow_sub, return LOW(c - (LOW(a) < LOW(b)));)
SPECIAL(borrow_sub_c, uint64_t borrow = LOW(b) < LOW(c);
        return LOW(0 - (uint64_t)(LOW(a) < LOW(b) + borrow));)
SPECIAL(carry_add_64, return c + (uint64_t)(((wide)a + b) >> 64);)
SPECIAL(borrow_sub_64, return c - (a < b);)
SPECIAL(carry_mad, uint64_t first = LOW(a) * LOW(b) + LOW(c); return LOW((first >> 32) + c);)
SPECIAL(carry_mad_signed, uint64_t carry = (LOW(LOW(a) * LOW(b)) + LOW(c)) >> 32,
        product = (uint64_t)((int64_t)(int32_t)a * (int32_t)b) >> 32;
        return LOW(product + c + carry);)
SPECIAL(carry_mad_hi, uint64_t carry = ((LOW(a) * LOW(b) >> 32) + LOW(c)) >> 32; return LOW(c + carry);)
SPECIAL(carry_mad_64, return (uint64_t)(((wide)a * b + c) >> 64) + c;)
SPECIAL(carry_madc, uint64_t carry = (LOW(a) + LOW(b)) >> 32;
        return (LOW(LOW(b) * LOW(c)) + LOW(a) + carry) >> 32;)

static const struct special chains[] = {
    {"cvt.u32.u64 %d, %A;\nshr.u64 %A, %A, 32;\ncvt.u32.u64 %e, %A;\nshr.u64 %E, %B, 32;\ncvt.u32.u64 %a, "
     "%E;\n"
     "add.cc.u32 %d, %d, %b;\naddc.u32 %e, %e, %a;\nmov.b64 %D, {%d, %e};",
     'D', chain_add},
    {"cvt.u32.u64 %d, %A;\nshr.u64 %A, %A, 32;\ncvt.u32.u64 %e, %A;\nshr.u64 %E, %B, 32;\ncvt.u32.u64 %a, "
     "%E;\n"
     "sub.cc.s32 %d, %d, %b;\nsubc.s32 %e, %e, %a;\nmov.b64 %D, {%d, %e};",
     'D', chain_sub},
    {"add.cc.u32 %e, %a, %b;\naddc.u32 %d, 0, 0;", 'd', carry_add},
    {"add.cc.s32 %e, %b, %c;\naddc.cc.s32 %e, %a, %b;\naddc.s32 %d, 0, 0;", 'd', carry_add_c},
    {"sub.cc.u32 %e, %a, %b;\nsubc.u32 %d, %c, 0;", 'd', borrow_sub},
    {"sub.cc.u32 %e, %b, %c;\nsubc.cc.u32 %e, %a, %b;\nsubc.u32 %d, 0, 0;", 'd', borrow_sub_c},
    {"add.cc.u64 %E, %A, %B;\naddc.u64 %D, %C, 0;", 'D', carry_add_64},
    {"sub.cc.u64 %E, %A, %B;\nsubc.u64 %D, %C, 0;", 'D', borrow_sub_64},
    {"mad.lo.cc.u32 %e, %a, %b, %c;\nmadc.hi.u32 %d, %a, %b, %c;", 'd', carry_mad},
    {"mad.lo.cc.s32 %e, %a, %b, %c;\nmadc.hi.s32 %d, %a, %b, %c;", 'd', carry_mad_signed},
    {"mad.hi.cc.u32 %e, %a, %b, %c;\naddc.u32 %d, %c, 0;", 'd', carry_mad_hi},
    {"mad.lo.cc.u64 %E, %A, %B, %C;\nmadc.hi.u64 %D, %A, %B, %C;", 'D', carry_mad_64},
    {"add.cc.u32 %e, %a, %b;\nmadc.lo.cc.u32 %e, %b, %c, %a;\naddc.u32 %d, 0, 0;", 'd', carry_madc},
    /* Results written over operands */
    {"add.cc.u32 %a, %a, %b;\naddc.u32 %d, 0, 0;", 'd', carry_add},
    {"sub.cc.u32 %b, %a, %b;\nsubc.u32 %d, %c, 0;", 'd', borrow_sub},
};

static void test_chains(void **state)
{
    (void)state;
    reference_fill_integers(&cases);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        reference_check(&cases, chains[i].text, chains[i].result, right_special, &chains[i]);
    reference_end();
}

static uint32_t permute(uint32_t a, uint32_t b, const uint8_t select[4])
{
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t byte = (select[i] & 4 ? b : a) >> (select[i] & 3) * 8 & 255;
        if (select[i] & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}

SPECIAL(prmt, const uint8_t s[4] = {c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15};
        return permute((uint32_t)a, (uint32_t)b, s);)
#define PRMT_MODE(name, ...)                                                                                 \
    SPECIAL(prmt_##name, static const uint8_t select[4][4] = __VA_ARGS__;                                    \
            return permute((uint32_t)a, (uint32_t)b, select[c & 3]);)
PRMT_MODE(f4e, {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}})
PRMT_MODE(b4e, {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}})
PRMT_MODE(rc8, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}})
PRMT_MODE(ecl, {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}})
PRMT_MODE(ecr, {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}})
PRMT_MODE(rc16, {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}})

static uint32_t dot(uint64_t a, uint64_t b, unsigned a_bits, unsigned parts, bool a_signed, bool b_signed)
{
    wide sum = 0;
    for (unsigned i = 0; i < parts; i++)
        sum += extended(a >> i * a_bits, a_bits, a_signed) * extended(b >> i * 8, 8, b_signed);
    return (uint32_t)sum;
}
SPECIAL(dp4a_uu, return (uint32_t)c + dot(a, b, 8, 4, 0, 0);)
SPECIAL(dp4a_us, return (uint32_t)c + dot(a, b, 8, 4, 0, 1);)
SPECIAL(dp4a_su, return (uint32_t)c + dot(a, b, 8, 4, 1, 0);)
SPECIAL(dp4a_ss, return (uint32_t)c + dot(a, b, 8, 4, 1, 1);)
SPECIAL(dp2a_uu, return (uint32_t)c + dot(a, b, 16, 2, 0, 0);)
SPECIAL(dp2a_su, return (uint32_t)c + dot(a, b, 16, 2, 1, 0);)
SPECIAL(dp2a_us, return (uint32_t)c + dot(a, b >> 16, 16, 2, 0, 1);)
SPECIAL(dp2a_ss, return (uint32_t)c + dot(a, b >> 16, 16, 2, 1, 1);)
SPECIAL(select_32, return (uint32_t)(c & 1 ? a : b);)
SPECIAL(select_64, return c & 1 ? a : b;)
SPECIAL(select_sign, return (uint32_t)((int32_t)c >= 0 ? a : b);)
SPECIAL(select_sign_64, return (int32_t)c >= 0 ? a : b;)
SPECIAL(pack_halves, return (uint32_t)(b << 16 | (a & 0xffff));)
SPECIAL(pack_quarters, return (a & 0xffff) | (b & 0xffff) << 16 | (c & 0xffff) << 32 | a << 48;)
SPECIAL(swap_halves, return (uint32_t)(a << 16 | (a >> 16 & 0xffff));)
SPECIAL(predicate_mix, return (((a & 1) | (b & 1)) ^ (c & 1)) & (~a & 1);)

static const struct special bytes_and_bits[] = {
    {"prmt.b32 %d, %a, %b, %c;", 'd', prmt},
    {"prmt.b32.f4e %d, %a, %b, %c;", 'd', prmt_f4e},
    {"prmt.b32.b4e %d, %a, %b, %c;", 'd', prmt_b4e},
    {"prmt.b32.rc8 %d, %a, %b, %c;", 'd', prmt_rc8},
    {"prmt.b32.ecl %d, %a, %b, %c;", 'd', prmt_ecl},
    {"prmt.b32.ecr %d, %a, %b, %c;", 'd', prmt_ecr},
    {"prmt.b32.rc16 %d, %a, %b, %c;", 'd', prmt_rc16},
    {"dp4a.u32.u32 %d, %a, %b, %c;", 'd', dp4a_uu},
    {"dp4a.u32.s32 %d, %a, %b, %c;", 'd', dp4a_us},
    {"dp4a.s32.u32 %d, %a, %b, %c;", 'd', dp4a_su},
    {"dp4a.s32.s32 %d, %a, %b, %c;", 'd', dp4a_ss},
    {"dp2a.lo.u32.u32 %d, %a, %b, %c;", 'd', dp2a_uu},
    {"dp2a.lo.s32.u32 %d, %a, %b, %c;", 'd', dp2a_su},
    {"dp2a.hi.u32.s32 %d, %a, %b, %c;", 'd', dp2a_us},
    {"dp2a.hi.s32.s32 %d, %a, %b, %c;", 'd', dp2a_ss},
    {"selp.b32 %d, %a, %b, %s;", 'd', select_32},
    {"selp.s64 %D, %A, %B, %s;", 'D', select_64},
    {"slct.u32.s32 %d, %a, %b, %c;", 'd', select_sign},
    {"slct.b64.s32 %D, %A, %B, %c;", 'D', select_sign_64},
    {"mov.b32 %d, {%x, %y};", 'd', pack_halves},
    {"mov.b64 %D, {%x, %y, %z, %x};", 'D', pack_quarters},
    {"mov.b32 {%w, %v}, %a;\nmov.b32 %d, {%v, %w};", 'd', swap_halves},
    {"or.pred %t, %p, %q;\nxor.pred %t, %t, %s;\nnot.pred %q, %p;\nand.pred %t, %t, %q;", 't', predicate_mix},
};

static void test_bytes_and_bits(void **state)
{
    (void)state;
    reference_fill_integers(&cases);
    for (size_t i = 0; i < sizeof bytes_and_bits / sizeof *bytes_and_bits; i++)
        reference_check(&cases, bytes_and_bits[i].text, bytes_and_bits[i].result, right_special,
                        &bytes_and_bits[i]);
    reference_end();
}

static uint64_t right_lop3(const struct ptx_case *in, const void *what, bool *open)
{
    unsigned table = *(const unsigned *)what;
    uint32_t r = 0;
    (void)open;
    for (unsigned i = 0; i < 32; i++)
        r |= (table >> ((in->a >> i & 1) << 2 | (in->b >> i & 1) << 1 | (in->c >> i & 1)) & 1) << i;
    return r;
}

static void test_lop3(void **state)
{
    (void)state;
    reference_fill_integers(&cases);
    for (unsigned table = 0; table < 256; table += table < 8 ? 1 : 13) {
        char text[64];
        snprintf(text, sizeof text, "lop3.b32 %%d, %%a, %%b, %%c, %u;", table);
        reference_check(&cases, text, 'd', right_lop3, &table);
    }
    reference_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_bytes_and_bits),
        cmocka_unit_test(test_lop3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
