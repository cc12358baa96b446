/* Instructions in which the lanes of a warp look at each other, whole warps and parts. */
#include "ptx.h"

#include <stdio.h>

#define LANES 96

static struct ptx_case cases[LANES];
static uint64_t out[LANES];

/* c is the lane; a and b whatever the test needs */
static void number(void)
{
    for (uint64_t i = 0; i < LANES; i++) cases[i] = (struct ptx_case){i * 3 + 1, i % 5 == 0, i};
}

static void test_shuffles(void **state)
{
    static const struct {
        const char *mode;
        uint32_t clamp;
    } modes[] = {{"up", 0}, {"down", 31}, {"bfly", 31}, {"idx", 31}};
    static const uint32_t widths[] = {32, 16, 8};
    (void)state;
    number();
    for (int m = 0; m < 4; m++)
        for (int w = 0; w < 3; w++)
            for (uint32_t shift = 0; shift < 32; shift += 5) {
                char text[160];
                uint32_t segment = (32 - widths[w]) << 8 | modes[m].clamp;
                snprintf(text, sizeof text,
                         "shfl.sync.%s.b32 %%d|%%t, %%a, %u, %u, 0xffffffff; selp.b32 %%e, 1000, 0, %%t; "
                         "add.s32 %%d, %%d, %%e;",
                         modes[m].mode, shift, segment);
                ptx_run(text, 'd', cases, LANES, out);
                for (uint32_t i = 0; i < LANES; i++) {
                    uint32_t lane = i % 32, width = widths[w], begin = lane / width * width, from = lane;
                    bool inside;
                    switch (m) {
                    case 0:
                        from = lane - shift, inside = lane >= begin + shift;
                        break;
                    case 1:
                        from = lane + shift, inside = from < begin + width;
                        break;
                    case 2:
                        from = lane ^ shift, inside = from < begin + width;
                        break;
                    default:
                        from = begin + shift % width, inside = true;
                        break;
                    }
                    if (!inside) from = lane;
                    uint64_t expected = (i - lane + from) * 3 + 1 + (inside ? 1000 : 0);
                    if (out[i] != expected) fail_msg("%s lane %u: %llu", text, i, (unsigned long long)out[i]);
                }
            }
}

static void test_shuffle_by_lane(void **state)
{
    (void)state;
    number();
    ptx_run("xor.b32 %e, %c, 7; shfl.sync.idx.b32 %d, %a, %e, 31, -1;", 'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], (i ^ 7) * 3 + 1);
}

static uint32_t ballot_of(uint32_t warp, uint32_t count)
{
    uint32_t ballot = 0;
    for (uint32_t i = 0; i < 32 && warp * 32 + i < count; i++)
        ballot |= (uint32_t)cases[warp * 32 + i].b << i;
    return ballot;
}

static void test_votes(void **state)
{
    static const size_t counts[] = {LANES, 70, 5};
    (void)state;
    number();
    for (int k = 0; k < 3; k++) {
        size_t count = counts[k];
        ptx_run("vote.sync.ballot.b32 %d, %q, 0xffffffff;", 'd', cases, count, out);
        for (uint32_t i = 0; i < count; i++) assert_int_equal(out[i], ballot_of(i / 32, (uint32_t)count));
        ptx_run("vote.sync.any.pred %t, %q, 0xffffffff;", 't', cases, count, out);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(out[i], ballot_of(i / 32, (uint32_t)count) != 0);
        ptx_run("vote.sync.all.pred %t, !%q, 0xffffffff;", 't', cases, count, out);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(out[i], ballot_of(i / 32, (uint32_t)count) == 0);
        ptx_run("activemask.b32 %d;", 'd', cases, count, out);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t here = (uint32_t)count - i / 32 * 32;
            assert_int_equal(out[i], here >= 32 ? UINT32_MAX : (1u << here) - 1);
        }
    }
}

static void test_match_and_redux(void **state)
{
    (void)state;
    number();
    ptx_run("rem.u32 %e, %c, 3; match.any.sync.b32 %d, %e, 0xffffffff;", 'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t expected = 0;
        for (uint32_t k = 0; k < 32; k++) expected |= (uint32_t)((i / 32 * 32 + k) % 3 == i % 3) << k;
        assert_int_equal(out[i], expected);
    }
    ptx_run("shr.u32 %e, %c, 6; match.all.sync.b32 %d|%t, %e, 0xffffffff;", 'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], UINT32_MAX);
    ptx_run("match.all.sync.b32 %d|%t, %c, 0xffffffff;", 't', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], 0);
    ptx_run("redux.sync.add.s32 %d, %c, 0xffffffff;", 'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], (i / 32 * 32) * 32 + 31 * 16);
    ptx_run("sub.s32 %e, 40, %c; redux.sync.min.s32 %d, %e, 0xffffffff;", 'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal((int32_t)out[i], 40 - (int32_t)(i / 32 * 32 + 31));
}

static void test_lane_registers(void **state)
{
    (void)state;
    number();
    ptx_run("mov.u32 %d, %laneid; mov.u32 %e, %lanemask_lt; add.s32 %d, %d, %e;", 'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], i % 32 + (1u << i % 32) - 1);
    ptx_run("mov.u32 %d, %lanemask_ge; mov.u32 %e, %lanemask_le; and.b32 %d, %d, %e; mov.u32 %e, "
            "%lanemask_gt; or.b32 %d, %d, %e;",
            'd', cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], (uint32_t)(UINT64_MAX << i % 32));
}

/* Only lanes that run the instruction take part. */
static void test_parts_of_a_warp(void **state)
{
    (void)state;
    number();
    ptx_run("mov.b32 %d, 0; @!%q bra OVER; vote.sync.ballot.b32 %d, 1, 0x42108421;\nOVER:", 'd', cases, 32,
            out);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(out[i], i % 5 ? 0 : 0x42108421);
}

/* Lanes with different masks make up groups of their own, even if they come together. */
static void test_member_masks(void **state)
{
    static const uint32_t thirds[] = {0x49249249, 0x92492492, 0x24924924};
    (void)state;
    number();
    ptx_run("rem.u32 %d, %laneid, 3; shl.b32 %d, 0x49249249, %d; redux.sync.max.s32 %d, %c, %d;", 'd', cases,
            LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], i / 32 * 32 + 29 + (i % 32 % 3 + 1) % 3);
    ptx_run("rem.u32 %d, %laneid, 3; shl.b32 %d, 0x49249249, %d; vote.sync.ballot.b32 %d, %q, %d;", 'd',
            cases, LANES, out);
    for (uint32_t i = 0; i < LANES; i++)
        assert_int_equal(out[i], ballot_of(i / 32, LANES) & thirds[i % 32 % 3]);
    ptx_run("rem.u32 %d, %laneid, 3; shl.b32 %d, 0x49249249, %d; match.all.sync.b32 %d, 7, %d;", 'd', cases,
            LANES, out);
    for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], thirds[i % 32 % 3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffles),       cmocka_unit_test(test_shuffle_by_lane),
        cmocka_unit_test(test_votes),          cmocka_unit_test(test_match_and_redux),
        cmocka_unit_test(test_lane_registers), cmocka_unit_test(test_parts_of_a_warp),
        cmocka_unit_test(test_member_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
