/* cp.async, mbarrier: copies are executed immediately, so groups of copies are always complete. */
#include "async.h"
#include "build.h"

#include <stdio.h>
#include <string.h>

static const char *const ignored[] = {
    "ca",
    "cg",
    "async",
    "global",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::cache_hint",
    "shared",
    "shared::cta",
    "b64",
    "relaxed",
    "release",
    "acquire",
    "cta",
    "cluster",
    "noComplete",
    "sem",
    "shared::cluster",
};

static void skip_modifiers(struct sc_build *build)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) sc_has(build, ignored[i]);
}

/* cp.async.ca.shared.global [to], [from], bytes[, bytes to read | predicate that disables reading] */
static bool copy(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    struct sc_access access = {.space = SC_SPACE_SHARED}, from_access = {.space = SC_SPACE_GLOBAL};
    uint32_t to, from, size = 0;
    if (now->count < 3 || now->operand[2].kind != SC_OPERAND_LITERAL)
        return sc_fail(build, now->line, "cp.async not understood");
    uint64_t bytes = now->operand[2].bits;
    if (bytes != 4 && bytes != 8 && bytes != 16) return sc_fail(build, now->line, "bad size of a copy");
    if (!sc_wide_address_in(build, &now->operand[0], &access, &to) ||
        !sc_wide_address_in(build, &now->operand[1], &from_access, &from))
        return false;
    size = sc_constant(build, 4, bytes);
    if (now->count > 3) {
        size = sc_source(build, &now->operand[3], 4, 'b');
        bool hint = sc_has(build, "L2::cache_hint") && now->count == 4;
        if (hint) size = sc_constant(build, 4, bytes);
    }
    struct sc_ir *ir = sc_emit(build, SC_OP_COPY);
    if (!ir) return false;
    ir->access = access;
    ir->access.element_bytes = (uint8_t)bytes;
    ir->access.operation = from_access.address_bytes;
    ir->source[0] = to, ir->source[1] = from, ir->source[2] = size;
    ir->source_count = 3;
    return true;
}

static bool emit_barrier(struct sc_build *build, enum sc_mbarrier operation, const struct sc_operand *address,
                         uint32_t amount, uint32_t result)
{
    struct sc_access access = {.space = SC_SPACE_SHARED, .operation = (uint8_t)operation};
    uint32_t base;
    bool generic =
        !sc_has(build, "shared") && !sc_has(build, "shared::cta") && !sc_has(build, "shared::cluster");
    if (generic) access.space = SC_SPACE_GENERIC;
    if (!sc_wide_address_in(build, address, &access, &base)) return false;
    struct sc_ir *ir = sc_emit(build, SC_OP_MBARRIER);
    if (!ir) return false;
    ir->access = access;
    ir->access.element_bytes = amount ? build->ir.values.at[amount].bytes : 0;
    ir->source[0] = base, ir->source[1] = amount, ir->source_count = amount ? 2 : 1;
    ir->result[0] = result, ir->result_count = result != 0;
    if (result) ir->access.result_bytes = build->ir.values.at[result].bytes;
    return true;
}

static bool select_cp(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    if (!sc_has(build, "async")) return false;
    if (sc_has(build, "bulk")) return sc_fail(build, now->line, "bulk copies are not built");
    if (sc_has(build, "mbarrier")) {
        bool arrives = sc_has(build, "noinc");
        sc_has(build, "arrive");
        bool ok = now->count == 1;
        /* Without .noinc the pending count is first incremented by one and then the copy arrives: no net
         * change. */
        if (ok && arrives)
            ok = emit_barrier(build, SC_MBARRIER_ARRIVE, &now->operand[0], sc_constant(build, 4, 1), 0);
        skip_modifiers(build);
        return ok;
    }
    if (sc_has(build, "commit_group") || sc_has(build, "wait_group") || sc_has(build, "wait_all"))
        return build->status == SC_ENGINE_OK;
    bool ok = copy(build);
    skip_modifiers(build);
    return ok;
}

static uint32_t amount_of(struct sc_build *build, unsigned operand, uint64_t otherwise)
{
    struct sc_instruction *now = build->now;
    return now->count > operand ? sc_source(build, &now->operand[operand], 4, 'b')
                                : sc_constant(build, 4, otherwise);
}

static bool select_mbarrier(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    struct sc_operand *operand = now->operand;
    bool ok = false, drop = sc_has(build, "arrive_drop"), expect = sc_has(build, "expect_tx");
    if (sc_has(build, "init") && now->count == 2) {
        ok = emit_barrier(build, SC_MBARRIER_INIT, &operand[0], amount_of(build, 1, 1), 0);
    } else if (sc_has(build, "inval") && now->count == 1) {
        ok = emit_barrier(build, SC_MBARRIER_INVALIDATE, &operand[0], 0, 0);
    } else if ((sc_has(build, "test_wait") || sc_has(build, "try_wait")) && now->count >= 3) {
        bool parity = sc_has(build, "parity"); /* an optional time limit never expires */
        uint32_t wanted = sc_source(build, &operand[2], parity ? 4 : 8, 'b');
        ok = emit_barrier(build, parity ? SC_MBARRIER_TEST_PARITY : SC_MBARRIER_TEST, &operand[1], wanted,
                          sc_target(build, &operand[0], 4));
    } else if (sc_has(build, "pending_count") && now->count == 2) {
        uint32_t low = sc_new_value(build, 4);
        sc_emit_row(build, "cvt_u32_u64", low, sc_source(build, &operand[1], 8, 'b'), 0, 0, 0);
        ok = sc_emit_row(build, "and_b32", sc_target(build, &operand[0], 4), low,
                         sc_constant(build, 4, SC_MBARRIER_COUNT_MAX), 0, 0);
    } else if (sc_has(build, "complete_tx") && now->count == 2) {
        ok = emit_barrier(build, SC_MBARRIER_COMPLETE, &operand[0], amount_of(build, 1, 0), 0);
    } else if ((sc_has(build, "arrive") || drop) && now->count >= 1) {
        bool result = operand[0].kind != SC_OPERAND_ADDRESS;
        uint32_t state = result && operand[0].kind != SC_OPERAND_SINK ? sc_target(build, &operand[0], 8) : 0;
        uint32_t amount = amount_of(build, result + 1u, expect ? 0 : 1), one = sc_constant(build, 4, 1);
        ok = now->count > result;
        if (ok && expect) ok = emit_barrier(build, SC_MBARRIER_EXPECT, &operand[result], amount, 0);
        ok = ok && emit_barrier(build, drop ? SC_MBARRIER_DROP : SC_MBARRIER_ARRIVE, &operand[result],
                                expect ? one : amount, state);
    } else if (expect && now->count == 2) {
        ok = emit_barrier(build, SC_MBARRIER_EXPECT, &operand[0], amount_of(build, 1, 0), 0);
    }
    skip_modifiers(build);
    return ok;
}

const struct sc_selector_entry sc_select_async[] = {
    {"cp", select_cp},
    {"mbarrier", select_mbarrier},
    {NULL, NULL},
};
