/* Atomics whose effect depends on the order of blocks: with any number of workers, results and costs are
 * those of one worker, that is of blocks one after the other. Each kernel works for a while, so that the
 * workers do share it. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD                                                                                                 \
    PTX_HEAD                                                                                                 \
    ".global .align 4 .u32 counter;\n"                                                                       \
    ".visible .entry k(.param .u64 cells, .param .u64 in, .param .u64 out) {\n"                              \
    ".reg .pred %p, %q;\n.reg .b32 %t, %b, %i, %x, %y, %z, %n;\n.reg .f32 %f, %g;\n"                         \
    ".reg .b64 %cells, %in, %out, %A, %B, %C, %D, %E;\n.shared .align 4 .b8 flag[4];\n"                      \
    "ld.param.u64 %cells, [cells];\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"                    \
    "mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %i, %b, %n, %t;\n"         \
    "mul.wide.u32 %A, %i, 4;\nadd.u64 %B, %in, %A;\nadd.u64 %C, %out, %A;\n"                                 \
    "ld.global.f32 %f, [%B];\n"

/* Blocks take different times: 200 rounds and more the lower their number is. */
#define WORK                                                                                                 \
    "and.b32 %x, %b, 7;\nsub.u32 %x, 8, %x;\nmul.lo.u32 %x, %x, 100;\nadd.u32 %x, %x, 200;\n"                \
    "WORK: sub.u32 %x, %x, 1;\nsetp.ne.u32 %p, %x, 0;\n@%p bra WORK;\n"

#define TAIL "ret;\n}\n"

enum { GRID = 60, BLOCK = 96, CELLS = 8 };

struct result {
    uint32_t cells[CELLS], out[GRID * BLOCK];
    struct sc_cost cost;
    enum sc_engine_status status;
    struct sc_fault fault;
};

static void run(const struct sc_module *module, uint32_t workers, bool alias, uint32_t grid,
                struct result *result)
{
    uint32_t *cells = ptx_allocate(sizeof result->cells, SC_RANGE_MANAGED);
    float *in = ptx_allocate(sizeof result->out, SC_RANGE_DEVICE);
    uint32_t *out = ptx_allocate(sizeof result->out, SC_RANGE_DEVICE);
    uint64_t seed = 7, bytes;
    size_t size;
    struct ptx_launch launch = {.kernel = "k", .grid = grid, .block = BLOCK, .workers = workers};
    for (unsigned i = 0; i < GRID * BLOCK; i++)
        in[i] = (float)(int64_t)next_random(&seed) * (i % 3 ? 1e-19f : 1e-22f);
    if (alias) memcpy(out, in, sizeof result->out);
    assert_true(sc_module_variable(module, "counter", &bytes, &size));
    memset((void *)(uintptr_t)bytes, 0, size);
    result->status = ptx_launch(module, &launch, (void *[]){alias ? &out : &cells, &in, &out}, &result->cost,
                                &result->fault);
    memcpy(result->cells, cells, sizeof result->cells);
    memcpy(result->out, out, sizeof result->out);
    sc_cost_free(&result->cost);
    result->cost.blocks = NULL;
}

static void same_with_all(const char *text, bool alias, uint32_t grid, enum sc_engine_status status)
{
    static struct result one, many;
    struct sc_module *module = ptx_load(text);
    run(module, 1, alias, grid, &one);
    assert_int_equal(one.status, status);
    for (int round = 0; round < 12; round++) {
        run(module, 2 + (uint32_t)round % 3, alias, grid, &many);
        assert_int_equal(many.status, status);
        if (status == SC_ENGINE_FAULT) {
            assert_int_equal(many.fault.block[0], one.fault.block[0]);
            assert_int_equal(many.fault.line, one.fault.line);
            assert_int_equal(many.fault.thread[0], one.fault.thread[0]);
            continue;
        }
        assert_memory_equal(many.cells, one.cells, sizeof one.cells);
        assert_memory_equal(many.out, one.out, sizeof one.out);
        assert_int_equal(many.cost.instructions, one.cost.instructions);
        assert_int_equal(many.cost.bytes_read, one.cost.bytes_read);
        assert_int_equal(many.cost.bytes_written, one.cost.bytes_written);
    }
    sc_module_unload(module);
    ptx_reset();
}

#define CELL "and.b32 %y, %i, 7;\nmul.wide.u32 %E, %y, 4;\nadd.u64 %D, %cells, %E;\n"

/* Sums in floating point show the order of their terms. */
static void test_sums(void **state)
{
    (void)state;
    same_with_all(HEAD WORK CELL "red.global.add.f32 [%D], %f;\n" TAIL, false, GRID, SC_ENGINE_OK);
    same_with_all(HEAD CELL "red.global.add.f32 [%D], %f;\n" WORK "red.global.add.f32 [%D+0], %f;\n" TAIL,
                  false, GRID, SC_ENGINE_OK);
    same_with_all(HEAD WORK CELL "atom.global.add.f32 %g, [%D], %f;\n" TAIL, false, GRID, SC_ENGINE_OK);
    same_with_all(HEAD WORK CELL "atom.global.add.f32 %g, [%D], %f;\nst.global.f32 [%C], %g;\n" TAIL, false,
                  GRID, SC_ENGINE_OK);
}

/* A sum and an exchange of the same cell must not pass each other, even where the one needs no order by
 * itself. */
static void test_mixed(void **state)
{
    (void)state;
    same_with_all(HEAD WORK CELL "red.global.add.u32 [%D], %i;\nred.global.max.u32 [%D], 77;\n"
                                 "red.global.inc.u32 [%D], 1000000;\nred.global.add.f32 [%D], %f;\n" TAIL,
                  false, GRID, SC_ENGINE_OK);
    same_with_all(HEAD WORK CELL "red.global.add.u32 [%D], %i;\natom.global.exch.b32 %y, [%D], %i;\n"
                                 "st.global.u32 [%C], %y;\n" TAIL,
                  false, GRID, SC_ENGINE_OK);
}

/* Tickets: the order of blocks itself */
static void test_tickets(void **state)
{
    (void)state;
    same_with_all(HEAD "atom.global.add.u32 %y, [counter], 1;\nst.global.u32 [%C], %y;\n" WORK TAIL, false,
                  GRID, SC_ENGINE_OK);
    same_with_all(HEAD WORK "atom.global.inc.u32 %y, [counter], 70;\nst.global.u32 [%C], %y;\n" TAIL, false,
                  GRID, SC_ENGINE_OK);
}

/* The addition that older programs build from a compare-and-swap: how often it goes round must not vary. */
static void test_compare_and_swap(void **state)
{
    (void)state;
    same_with_all(HEAD WORK CELL "ld.global.u32 %y, [%D];\nAGAIN: mov.b32 %g, %y;\nadd.f32 %g, %g, %f;\n"
                                 "mov.b32 %z, %g;\nmov.u32 %x, %y;\natom.global.cas.b32 %y, [%D], %x, %z;\n"
                                 "setp.ne.u32 %p, %x, %y;\n@%p bra AGAIN;\n" TAIL,
                  false, GRID, SC_ENGINE_OK);
}

/* A block sees what it added itself, through whatever parameter it looks. */
static void test_own_log(void **state)
{
    (void)state;
    same_with_all(HEAD WORK "add.u64 %D, %cells, %A;\nred.global.add.f32 [%D], %f;\n"
                            "ld.global.f32 %g, [%C];\nmul.f32 %g, %g, %g;\nst.global.f32 [%C], %g;\n" TAIL,
                  true, GRID, SC_ENGINE_OK);
    same_with_all(HEAD WORK "add.u64 %D, %cells, %A;\nred.global.add.f32 [%D], %f;\n"
                            "setp.gt.f32 %p, %f, 0f00000000;\n@%p st.global.f32 [%C], %f;\n" TAIL,
                  true, GRID, SC_ENGINE_OK);
}

/* The block that comes last adds up what all have stored. */
static void test_last_block(void **state)
{
    (void)state;
    same_with_all(HEAD WORK
                  "st.global.f32 [%C], %f;\nmembar.gl;\nbar.sync 0;\nsetp.ne.u32 %q, %t, 0;\n@%q bra WAIT;\n"
                  "atom.global.add.u32 %y, [counter], 1;\nst.shared.u32 [flag], %y;\n"
                  "WAIT: bar.sync 0;\nld.shared.u32 %y, [flag];\nmov.u32 %z, %nctaid.x;\nsub.u32 %z, %z, 1;\n"
                  "setp.ne.u32 %p, %y, %z;\n@%p bra END;\n@%q bra END;\n"
                  "mov.f32 %g, 0f00000000;\nmul.lo.u32 %x, %n, %y;\nmov.u64 %D, %out;\n"
                  "SUM: ld.volatile.global.f32 %f, [%D];\nadd.f32 %g, %g, %f;\nadd.u64 %D, %D, 4;\n"
                  "sub.u32 %x, %x, 1;\nsetp.ne.u32 %p, %x, 0;\n@%p bra SUM;\n"
                  "st.global.f32 [%cells], %g;\nEND:\n" TAIL,
                  false, GRID, SC_ENGINE_OK);
}

/* Blocks that look at what earlier ones stored; without any atomic, too */
static void test_looking_back(void **state)
{
#define LOOK                                                                                                 \
    "mov.u32 %y, 0;\nsetp.eq.u32 %p, %b, 0;\nmul.wide.u32 %E, %n, 4;\nsub.u64 %D, %C, %E;\n"                 \
    "@!%p ld.volatile.global.u32 %y, [%D];\nadd.u32 %y, %y, 1;\nst.volatile.global.u32 [%C], %y;\n"
    (void)state;
    same_with_all(HEAD WORK LOOK TAIL, false, GRID, SC_ENGINE_OK);
    same_with_all(HEAD WORK LOOK "red.global.add.f32 [%cells], %f;\n" TAIL, false, GRID, SC_ENGINE_OK);
}

/* A log that grows too long: the block waits for its turn instead. */
static void test_long_log(void **state)
{
    (void)state;
    same_with_all(HEAD CELL "mov.u32 %x, 3000;\nAGAIN: red.global.add.f32 [%D], %f;\nsub.u32 %x, %x, 1;\n"
                            "setp.ne.u32 %p, %x, 0;\n@%p bra AGAIN;\n" TAIL,
                  false, 6, SC_ENGINE_OK);
}

/* Of several faults the one of the lowest block is reported; nobody waits for a turn that never comes. */
static void test_faults(void **state)
{
    (void)state;
    same_with_all(HEAD WORK "setp.lt.u32 %p, %b, 5;\n@%p bra OVER;\nmov.u64 %D, 8;\nld.global.u32 %y, [%D];\n"
                            "OVER:\natom.global.add.u32 %y, [counter], 1;\n" TAIL,
                  false, GRID, SC_ENGINE_FAULT);
    same_with_all(HEAD WORK CELL "red.global.add.f32 [%D], %f;\nsetp.ne.u32 %p, %b, 3;\n@%p bra OVER;\n"
                                 "trap;\nOVER:\n" TAIL,
                  false, GRID, SC_ENGINE_FAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),         cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_tickets),      cmocka_unit_test(test_compare_and_swap),
        cmocka_unit_test(test_own_log),      cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_looking_back), cmocka_unit_test(test_long_log),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
