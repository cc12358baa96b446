/* Launches of which only some blocks are executed: breaks if what the others would have cost is foretold
 * wrongly, if one whose blocks cannot be foretold is not executed wholly, or if a block is executed twice. */
#include "ptx.h"

#include <stdlib.h>

#define MIB (1u << 20)
#define HEAD                                                                                                 \
    PTX_HEAD                                                                                                 \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 count) {\n"                              \
    ".reg .pred %p, %q;\n.reg .b32 %t, %b, %i, %x, %y, %z, %n, %m, %c;\n.reg .f32 %f, %g;\n"                 \
    ".reg .b64 %in, %out, %A, %B, %C, %D;\n"                                                                 \
    "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u32 %c, [count];\n"                        \
    "mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nmov.u32 %y, %ctaid.y;\nmov.u32 %z, %ctaid.z;\n"             \
    "mov.u32 %n, %ntid.x;\nmad.lo.u32 %i, %b, %n, %t;\n"
#define TAIL "END: ret;\n}\n"
#define AT(pointer, base) "mul.wide.u32 %A, %i, 4;\nadd.u64 " pointer ", " base ", %A;\n"

/* out[i] += in[i], for i < count */
static const char elementwise[] = HEAD "setp.ge.u32 %p, %i, %c;\n@%p bra END;\n" AT("%B", "%in")
    AT("%C", "%out") "ld.global.f32 %f, [%B];\nld.global.f32 %g, [%C];\nadd.f32 %f, %f, %g;\nst.global.f32 "
                     "[%C], %f;\n" TAIL;

/* Rows of `count` elements, of which a block computes 8 by 64; rows are as many as the grid has, times 8. */
static const char tiles[] =
    HEAD "mov.u32 %m, %tid.y;\nmad.lo.u32 %y, %y, 8, %m;\nsetp.ge.u32 %p, %i, %c;\n@%p bra END;\n"
         "mad.lo.u32 %i, %y, %c, %i;\n" AT("%B", "%in")
             AT("%C", "%out") "ld.global.f32 %f, [%B];\nst.global.f32 [%C], %f;\n" TAIL;

/* A block reads the row that in[block] says, of 256 elements. */
static const char gather[] = HEAD
    "mul.wide.u32 %A, %b, 4;\nadd.u64 %B, %in, %A;\nld.global.u32 %x, [%B];\nmad.lo.u32 %i, %x, 256, "
    "%t;\n" AT("%C",
               "%out") "ld.global.f32 %f, [%C];\nadd.f32 %f, %f, 0f3f800000;\nst.global.f32 [%C], %f;\n" TAIL;

/* Block b reads (b mod 64) * 4 rows of 128 elements, as causal attention does. */
static const char triangle[] = HEAD
    "and.b32 %x, %b, 63;\nshl.b32 %x, %x, 2;\nmov.f32 %g, 0f00000000;\nmov.u32 %m, 0;\n"
    "setp.eq.u32 %p, %x, 0;\n@%p bra DONE;\n"
    "LOOP: mad.lo.u32 %i, %m, 128, %t;\nmad.lo.u32 %i, %z, 32768, %i;\n" AT(
        "%B", "%in") "ld.global.f32 %f, [%B];\n"
                     "add.f32 %g, %g, %f;\nadd.u32 %m, %m, 1;\nsetp.lt.u32 %p, %m, %x;\n@%p bra LOOP;\n"
                     "DONE: mad.lo.u32 %i, %b, %n, %t;\n" AT("%C", "%out") "st.global.f32 [%C], %g;\n" TAIL;

/* Batches: in z, 8 MiB apart. */
static const char batches[] =
    HEAD "mul.wide.u32 %D, %z, 8388608;\nadd.u64 %in, %in, %D;\nadd.u64 %out, %out, %D;\n" AT("%B", "%in")
        AT("%C", "%out") "ld.global.f32 %f, [%B];\nst.global.f32 [%C], %f;\n" TAIL;

/* Tickets, as a sort takes them */
static const char tickets[] =
    HEAD AT("%B", "%in") "atom.global.add.u32 %x, [%out], 1;\nst.global.u32 [%B], %x;\n" TAIL;

/* A float's scan: each block waits for the one before. */
static const char scan[] =
    HEAD "mul.wide.u32 %A, %b, 4;\nadd.u64 %C, %out, %A;\n"
         "WAIT: ld.relaxed.gpu.global.f32 %f, [%C];\nsetp.eq.f32 %p, %f, 0f00000000;\n@%p bra WAIT;\n"
         "add.f32 %f, %f, 0f3f800000;\nst.relaxed.gpu.global.f32 [%C+4], %f;\n" TAIL;

/* Float atomics, whose sum depends on the order of blocks */
static const char sum[] =
    HEAD AT("%B", "%in") "ld.global.f32 %f, [%B];\natom.global.add.f32 %g, [%out], %f;\n" TAIL;

/* Takes the lock at out[block], which 0 opens. */
static const char lock[] =
    HEAD "mul.wide.u32 %A, %b, 4;\nadd.u64 %C, %out, %A;\n"
         "WAIT: atom.global.cas.b32 %x, [%C], 0, 7;\nsetp.ne.u32 %p, %x, 7;\n@%p bra WAIT;\n" TAIL;

/* Each thread copies sixteen elements, all of a block side by side. */
static const char sixteen_each[] =
    HEAD "mad.lo.u32 %i, %b, 16384, %t;\nmov.u32 %m, 0;\n"
         "LOOP: " AT("%B", "%in") AT("%C", "%out") "ld.global.f32 %f, [%B];\nst.global.f32 [%C], %f;\n"
                                                   "add.u32 %i, %i, 1024;\nadd.u32 %m, %m, 1;\n"
                                                   "setp.lt.u32 %p, %m, 16;\n@%p bra LOOP;\n" TAIL;

/* Block `count` traps. */
static const char trap[] =
    HEAD "setp.eq.u32 %p, %b, %c;\n@%p trap;\n" AT("%C", "%out") "st.global.u32 [%C], %t;\n" TAIL;

/* Copies a matrix of 64 columns by `count` rows in pieces: each block copies 16 columns of 16 rows, by its
 * number alone. */
static const char permuted[] = HEAD
    "and.b32 %x, %b, 3;\nshr.u32 %y, %b, 2;\nand.b32 %m, %t, 15;\nshr.u32 %n, %t, 4;\n"
    "mad.lo.u32 %x, %x, 16, %m;\nmad.lo.u32 %y, %y, 16, %n;\nmad.lo.u32 %i, %x, %c, %y;\n" AT(
        "%B", "%in") "mad.lo.u32 %i, %y, 64, %x;\n" AT("%C", "%out") "ld.global.f32 %f, [%B];\nst.global.f32 "
                                                                     "[%C], %f;\n" TAIL;

/* Adds 1 to 256 elements at the address that in[block / 50] says, 1 KiB further for each block. */
static const char tables[] = HEAD
    "div.u32 %x, %b, 50;\nmul.wide.u32 %A, %x, 8;\nadd.u64 %B, %in, %A;\nld.global.u64 %C, [%B];\n"
    "mul.lo.u32 %x, %x, 50;\nsub.u32 %x, %b, %x;\nmad.lo.u32 %i, %x, 256, %t;\n" AT(
        "%C", "%C") "ld.global.f32 %f, [%C];\nadd.f32 %f, %f, 0f3f800000;\nst.global.f32 [%C], %f;\n" TAIL;

/* Each block adds 1 to an element of its own, but those from column `count` on; before that it works for a
 * while, as long as in[0] times its number modulo 8. */
static const char once[] = HEAD
    "setp.ge.u32 %p, %b, %c;\n@%p bra END;\nld.global.u32 %x, [%in];\nand.b32 %m, %b, 7;\nmul.lo.u32 %x, %x, "
    "%m;\n"
    "WORK: setp.eq.u32 %p, %x, 0;\n@%p bra DONE;\nsub.u32 %x, %x, 1;\nbra WORK;\nDONE:\n"
    "mov.u32 %n, %nctaid.x;\nmov.u32 %m, %nctaid.y;\nmad.lo.u32 %i, %z, %m, %y;\nmad.lo.u32 %i, %i, %n, "
    "%b;\n" AT("%C", "%out") "ld.global.u32 %x, [%C];\nadd.u32 %x, %x, 1;\nst.global.u32 [%C], %x;\n" TAIL;

struct memory {
    uint32_t *in, *out, count;
};

/* From a block of 2 MiB on: traffic within a block is not told apart. */
static void *allocate_blocks(size_t bytes)
{
    char *at = ptx_allocate(bytes + 2 * MIB, SC_RANGE_MANAGED);
    return at + (-(uintptr_t)at & (2 * MIB - 1));
}

static struct memory allocate(size_t in_bytes, size_t out_bytes, uint32_t count)
{
    return (struct memory){allocate_blocks(in_bytes), allocate_blocks(out_bytes), count};
}

static struct sc_cost run(const char *text, struct memory *memory, struct ptx_launch launch, uint32_t over)
{
    struct sc_fault fault;
    struct sc_cost cost;
    launch.kernel = "k";
    launch.sample_over = over;
    assert_int_equal(ptx_launch(ptx_load(text), &launch,
                                (void *[]){&memory->in, &memory->out, &memory->count}, &cost, &fault),
                     SC_ENGINE_OK);
    return cost;
}

static void assert_near(uint64_t one, uint64_t other, unsigned percent)
{
    uint64_t more = one > other ? one - other : other - one;
    if (more * 100 > other * percent)
        fail_msg("%llu for %llu", (unsigned long long)one, (unsigned long long)other);
}

/* Runs all blocks, and some. Both cost the same within so many percent, and move bytes of the same blocks,
 * each within so many percent. Returns how many blocks were executed. */
static uint64_t cost_alike(const char *text, struct memory *memory, struct ptx_launch launch,
                           unsigned percent, unsigned block_percent)
{
    struct sc_cost all = run(text, memory, launch, 0), some = run(text, memory, launch, 4);
    uint64_t executed = some.executed_blocks;
    assert_int_equal(all.executed_blocks, all.grid_blocks);
    assert_int_equal(some.grid_blocks, all.grid_blocks);
    assert_near(some.instructions, all.instructions, percent);
    assert_near(some.flops, all.flops, percent);
    assert_near(some.bytes_read, all.bytes_read, percent);
    assert_near(some.bytes_written, all.bytes_written, percent);
    assert_int_equal(some.block_count, all.block_count);
    for (size_t i = 0; i < all.block_count; i++) {
        assert_int_equal(some.blocks[i].block, all.blocks[i].block);
        assert_near(some.blocks[i].bytes_read, all.blocks[i].bytes_read, block_percent);
        assert_near(some.blocks[i].bytes_written, all.blocks[i].bytes_written, block_percent);
    }
    sc_cost_free(&all);
    sc_cost_free(&some);
    return executed;
}

static int end(void **state)
{
    (void)state;
    ptx_reset();
    return 0;
}

static void a_grid_whose_last_block_is_cut_short(void **state)
{
    (void)state;
    uint32_t count = 5 * MIB / 4 * 3 + 77;
    struct memory memory = allocate(4 * count, 4 * count, count);
    struct ptx_launch launch = {.grid = (count + 255) / 256, .block = 256};
    assert_in_range(cost_alike(elementwise, &memory, launch, 0, 1), 3, 6);
}

static void a_grid_whose_edges_are_cut_short(void **state)
{
    (void)state;
    uint32_t columns = 1000, rows = 8 * 300;
    struct memory memory = allocate(4 * columns * rows, 4 * columns * rows, columns);
    struct ptx_launch launch = {.grid = 16, .grid_y = 300, .block = 64, .block_y = 8};
    assert_in_range(cost_alike(tiles, &memory, launch, 1, 2), 4, 12);
}

static void batches_far_apart(void **state)
{
    (void)state;
    struct memory memory = allocate(64 * MIB, 64 * MIB, 0);
    struct ptx_launch launch = {.grid = 512, .grid_z = 8, .block = 128};
    assert_in_range(cost_alike(batches, &memory, launch, 0, 1), 4, 8);
}

/* Each costs something else, so the mean of several counts. */
static void blocks_that_do_not_cost_alike(void **state)
{
    (void)state;
    struct memory memory = allocate(128 * 1024 * 4, 64 * 1024 * 4, 0);
    struct ptx_launch launch = {.grid = 512, .block = 128};
    assert_in_range(cost_alike(triangle, &memory, launch, 8, 10), 16, 24);
}

/* All blocks are executed, each once: out[i] counts them. */
static void what_cannot_be_foretold_is_executed(void **state)
{
    (void)state;
    enum { ROWS = 8192, GRID = 300 };
    struct memory memory = allocate(4 * GRID, (size_t)ROWS * 256 * 4, 0);
    struct ptx_launch launch = {.grid = GRID, .block = 256};
    uint32_t times[ROWS] = {0};
    uint64_t seed = 5;
    for (int i = 0; i < GRID; i++) times[memory.in[i] = (uint32_t)(next_random(&seed) % ROWS)]++;
    struct sc_cost cost = run(gather, &memory, launch, 4);
    assert_int_equal(cost.executed_blocks, GRID);
    assert_int_equal(cost.bytes_written, GRID * 256 * 4);
    for (int r = 0; r < ROWS; r++) assert_int_equal(memory.out[r * 256 + 9], bits_of((float)times[r]));
    sc_cost_free(&cost);
}

/* The grid moves as many bytes as there are, so it moves all. */
static void a_permutation(void **state)
{
    (void)state;
    enum { ROWS = 48 * 1024 };
    struct memory memory = allocate(64 * ROWS * 4, 64 * ROWS * 4, ROWS);
    struct ptx_launch launch = {.grid = 4 * ROWS / 16, .block = 256};
    assert_in_range(cost_alike(permuted, &memory, launch, 1, 60), 16, 24);
}

/* As many tensors, each with an address of its own, as the optimizers of frameworks update in one launch. */
static void pieces_of_a_grid(void **state)
{
    (void)state;
    enum { TENSORS = 6, EACH = 50 * 1024 };
    char *all = allocate_blocks(64 * MIB);
    struct memory memory = allocate(8 * TENSORS, 8, 0);
    struct ptx_launch launch = {.grid = 50 * TENSORS, .block = 256};
    static const uint64_t at[TENSORS] = {40, 3, 57, 20, 21, 9};
    for (int t = 0; t < TENSORS; t++) ((char **)(void *)memory.in)[t] = all + at[t] * MIB;
    assert_in_range(cost_alike(tables, &memory, launch, 0, 1), 20, 100);
    for (int t = 0; t < TENSORS; t++)
        for (int b = 0; b < 50; b++) {
            float times = *(float *)(void *)(all + at[t] * MIB + b * 1024);
            assert_true(times == 1 || times == 2); /* once in either launch */
        }
}

static void no_block_of(uint32_t x, uint32_t y, uint32_t z, uint32_t columns, uint32_t work)
{
    uint32_t blocks = x * y * z, written = 0, without = blocks / x * (x - columns);
    struct memory memory = allocate(4, 4 * blocks, columns);
    struct ptx_launch launch = {.grid = x, .grid_y = y, .grid_z = z};
    memory.in[0] = work;
    struct sc_cost cost = run(once, &memory, launch, 1);
    for (uint32_t b = 0; b < blocks; b++) {
        assert_true(memory.out[b] <= 1);
        written += memory.out[b];
    }
    assert_in_range(cost.executed_blocks, written, written + without);
    assert_int_equal(cost.bytes_written, 32 * (blocks - without)); /* a sector for each lane */
    sc_cost_free(&cost);
    ptx_reset();
}

/* Also where blocks that are executed for one reason are wanted for another, too. */
static void no_block_is_executed_twice(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{5, 1, 1}, {2, 2, 2},  {2, 9, 1},  {2, 7, 1}, {1, 1, 90},
                                         {3, 3, 3}, {64, 2, 2}, {2, 1, 64}, {4, 2, 2}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t cut = 0; cut < 2 && cut < shapes[s][0]; cut++)
            no_block_of(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][0] - cut, 0);
    for (uint32_t grid = 60; grid < 130; grid++) no_block_of(grid, 1, 1, grid, 100);
}

static void what_depends_on_the_order_is_executed(void **state)
{
    (void)state;
    enum { GRID = 100 };
    struct memory memory = allocate(4 * GRID * 64, 4 * (GRID + 1), 0);
    struct ptx_launch launch = {.grid = GRID, .block = 64, .watchdog = 1 << 20};
    struct sc_cost cost = run(tickets, &memory, launch, 4);
    assert_int_equal(cost.executed_blocks, GRID);
    assert_int_equal(memory.out[0], GRID * 64);
    sc_cost_free(&cost);
    memory.out[0] = bits_of(1);
    launch.block = 1;
    cost = run(scan, &memory, launch, 4);
    assert_int_equal(cost.executed_blocks, GRID);
    assert_int_equal(memory.out[GRID], bits_of(GRID + 1));
    sc_cost_free(&cost);
}

static void numbers_that_depend_on_the_order_are_not(void **state)
{
    (void)state;
    enum { GRID = 100 };
    struct memory memory = allocate(4 * GRID * 64, 4, 0);
    struct ptx_launch launch = {.grid = GRID, .block = 64, .workers = 2};
    for (int i = 0; i < GRID * 64; i++) memory.in[i] = bits_of(1);
    struct sc_cost cost = run(sum, &memory, launch, 4);
    assert_in_range(cost.executed_blocks, 1, 10);
    assert_int_equal(memory.out[0], bits_of((float)cost.executed_blocks * 64));
    sc_cost_free(&cost);
}

/* The block that would have opened the lock was left out. A lock that is open is not taken by force. */
static void nobody_waits_for_a_lock_forever(void **state)
{
    (void)state;
    struct memory memory = allocate(4, 4 * 2, 0);
    memory.out[0] = 3;
    struct sc_cost cost = run(lock, &memory, (struct ptx_launch){.grid = 2, .block = 1}, 4);
    assert_int_equal(memory.out[0], 7);
    assert_int_equal(memory.out[1], 7);
    assert_in_range(cost.instructions, 1000, 20000);
    sc_cost_free(&cost);
}

static void a_small_grid_is_executed(void **state)
{
    (void)state;
    struct memory memory = allocate(4 * 1024, 4 * 1024, 1024);
    struct ptx_launch launch = {.grid = 4, .block = 256};
    for (int i = 0; i < 1024; i++) memory.in[i] = bits_of(3);
    struct sc_cost cost = run(elementwise, &memory, launch, 4);
    assert_int_equal(cost.executed_blocks, 4);
    for (int i = 0; i < 1024; i++) assert_int_equal(memory.out[i], bits_of(3));
    sc_cost_free(&cost);
}

/* What computes indices is short. */
static void a_short_kernel_is_executed(void **state)
{
    (void)state;
    enum { GRID = 4096 };
    struct memory memory = allocate(4 * GRID * 256, 4 * GRID * 256, GRID * 256);
    struct ptx_launch launch = {.grid = GRID, .block = 256};
    for (int i = 0; i < GRID * 256; i++) memory.in[i] = bits_of(1);
    struct sc_cost cost = run(elementwise, &memory, launch, 4);
    uint64_t instructions = cost.instructions;
    launch.sample_instructions = instructions - 1;
    sc_cost_free(&cost);
    cost = run(elementwise, &memory, launch, 4);
    assert_true(cost.executed_blocks < 8);
    launch.sample_instructions = instructions;
    memset(memory.out, 0, 4 * GRID * 256);
    sc_cost_free(&cost);
    cost = run(elementwise, &memory, launch, 4);
    assert_int_equal(cost.executed_blocks, GRID);
    assert_int_equal(cost.instructions, instructions);
    for (int i = 0; i < GRID * 256; i++) assert_int_equal(memory.out[i], bits_of(1));
    sc_cost_free(&cost);
}

/* The memory of the others stays as it is, and no block is executed twice. */
static void few_blocks_write(void **state)
{
    (void)state;
    enum { GRID = 4096 };
    struct memory memory = allocate(4 * GRID * 256, 4 * GRID * 256, GRID * 256);
    struct ptx_launch launch = {.grid = GRID, .block = 256};
    uint64_t written = 0;
    for (int i = 0; i < GRID * 256; i++) memory.in[i] = bits_of(1);
    struct sc_cost cost = run(elementwise, &memory, launch, 4);
    for (int b = 0; b < GRID; b++) {
        written += memory.out[b * 256] != 0;
        assert_true(memory.out[b * 256] == 0 || memory.out[b * 256] == bits_of(1));
    }
    assert_int_equal(written, cost.executed_blocks);
    assert_true(written < 8);
    sc_cost_free(&cost);
}

static uint64_t scrapped, scrapped_begin;

static void count_scrap(uint64_t address, uint64_t bytes)
{
    scrapped += bytes;
    scrapped_begin = address;
}

/* Blocks of 64 KiB, read by one instruction and written by another; then some of 1 KiB, as each small piece
 * costs a call of the system. */
static void what_executed_blocks_wrote_is_scrap(void **state)
{
    (void)state;
    enum { GRID = 64, WORDS = 16384 };
    struct memory memory = allocate(4 * GRID * WORDS, 4 * GRID * WORDS, 0);
    struct ptx_launch launch = {.grid = GRID, .block = 1024, .scrap = count_scrap};
    struct sc_cost cost = run(sixteen_each, &memory, launch, 4);
    assert_in_range(cost.executed_blocks, 1, 10);
    assert_int_equal(scrapped, cost.executed_blocks * WORDS * 4);
    assert_in_range(scrapped_begin, (uintptr_t)memory.out, (uintptr_t)(memory.out + GRID * WORDS));
    sc_cost_free(&cost);
    scrapped = 0;
    cost = run(sixteen_each, &memory, launch, 0);
    sc_cost_free(&cost);
    memory.count = GRID * 256;
    launch.block = 256;
    cost = run(elementwise, &memory, launch, 4);
    sc_cost_free(&cost);
    assert_int_equal(scrapped, 0);
}

static void a_fault_ends_it(void **state)
{
    (void)state;
    struct memory memory = allocate(4, 4 * 64 * 128, 127);
    struct ptx_launch launch = {.kernel = "k", .grid = 128, .block = 64, .sample_over = 4};
    struct sc_fault fault = {0};
    struct sc_cost cost;
    assert_int_equal(ptx_launch(ptx_load(trap), &launch, (void *[]){&memory.in, &memory.out, &memory.count},
                                &cost, &fault),
                     SC_ENGINE_FAULT);
    assert_int_equal(fault.kind, SC_FAULT_TRAP);
    assert_int_equal(fault.block[0], 127);
    sc_cost_free(&cost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_grid_whose_last_block_is_cut_short, end),
        cmocka_unit_test_teardown(a_grid_whose_edges_are_cut_short, end),
        cmocka_unit_test_teardown(batches_far_apart, end),
        cmocka_unit_test_teardown(blocks_that_do_not_cost_alike, end),
        cmocka_unit_test_teardown(what_cannot_be_foretold_is_executed, end),
        cmocka_unit_test_teardown(a_permutation, end),
        cmocka_unit_test_teardown(pieces_of_a_grid, end),
        cmocka_unit_test_teardown(no_block_is_executed_twice, end),
        cmocka_unit_test_teardown(what_depends_on_the_order_is_executed, end),
        cmocka_unit_test_teardown(numbers_that_depend_on_the_order_are_not, end),
        cmocka_unit_test_teardown(nobody_waits_for_a_lock_forever, end),
        cmocka_unit_test_teardown(a_small_grid_is_executed, end),
        cmocka_unit_test_teardown(a_short_kernel_is_executed, end),
        cmocka_unit_test_teardown(few_blocks_write, end),
        cmocka_unit_test_teardown(what_executed_blocks_wrote_is_scrap, end),
        cmocka_unit_test_teardown(a_fault_ends_it, end),
    };
    sc_engine_note_touches();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
