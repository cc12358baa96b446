/* A caching allocator over expandable segments, as PyTorch's: pieces are mapped at the end of a segment,
 * blocks are cut from it and given out again at other places in each step, and each is reported to libc10.so.
 * Results are compared; check_launches.py looks at what the software device says of memory at exit. */
#include "adder.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "c10/c10.h"

#define MOST_PIECES 32
#define PIECE (4 * MIB)
#define BLOCKS 24
#define STEPS 40

static CUmodule module;
static CUfunction add;
static struct c10_told expected;
static c10_reporter *c10_report_here;
static c10_teller *c10_told_here;

struct block {
    CUdeviceptr address;
    size_t bytes;
    uint32_t value;
};

struct segment {
    CUdeviceptr base;
    CUmemGenericAllocationHandle handles[MOST_PIECES];
    size_t pieces;
    struct block blocks[BLOCKS]; /* bytes 0: none */
};

static int load(void **state)
{
    void *library = dlopen(C10_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!library) return -1;
    c10_report_here = (c10_reporter *)dlsym(library, "c10_cuda_report");
    c10_told_here = (c10_teller *)dlsym(library, "c10_cuda_told");
    return use_device(state) || cuModuleLoadData(&module, adder_ptx) ||
                   cuModuleGetFunction(&add, module, "add")
               ? -1
               : 0;
}

static void report(CUdeviceptr address, int64_t bytes)
{
    c10_report_here((void *)address, bytes, 3, 5, (struct c10_device){1, 0});
    expected.count++;
    expected.bytes += (uint64_t)bytes;
    expected.allocated += 3;
    expected.reserved += 5;
    expected.devices += 100;
}

static void begin(struct segment *segment)
{
    *segment = (struct segment){0};
    ok(cuMemAddressReserve(&segment->base, MOST_PIECES * PIECE, 0, 0, 0));
}

static void grow(struct segment *segment, size_t bytes)
{
    static const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    static const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (; segment->pieces * PIECE < bytes; segment->pieces++) {
        assert_true(segment->pieces < MOST_PIECES);
        CUdeviceptr at = segment->base + segment->pieces * PIECE;
        ok(cuMemCreate(&segment->handles[segment->pieces], PIECE, &properties, 0));
        ok(cuMemMap(at, PIECE, 0, segment->handles[segment->pieces], 0));
        ok(cuMemSetAccess(at, PIECE, &access, 1));
    }
}

static void end(struct segment *segment)
{
    ok(cuCtxSynchronize());
    for (size_t i = 0; i < segment->pieces; i++) {
        ok(cuMemUnmap(segment->base + i * PIECE, PIECE));
        ok(cuMemRelease(segment->handles[i]));
    }
    ok(cuMemAddressFree(segment->base, MOST_PIECES * PIECE));
}

/* The end of the first gap of `bytes` from `from` on. */
static CUdeviceptr find_gap(const struct segment *segment, CUdeviceptr from, size_t bytes)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        const struct block *block = &segment->blocks[i];
        if (!block->bytes || block->address >= from + bytes || block->address + block->bytes <= from)
            continue;
        from = block->address + block->bytes;
        i = (size_t)-1;
    }
    return from;
}

static struct block *take(struct segment *segment, size_t number, size_t bytes, size_t from, CUstream stream)
{
    struct block *block = &segment->blocks[number];
    CUdeviceptr at = find_gap(segment, segment->base + from, bytes);
    grow(segment, at + bytes - segment->base);
    *block = (struct block){at, bytes, (uint32_t)number};
    report(at, (int64_t)bytes);
    ok(cuMemsetD32Async(at, block->value, bytes / 4, stream));
    return block;
}

static void give_back(struct block *block)
{
    report(block->address, -(int64_t)block->bytes);
    block->bytes = 0;
}

static void add_to(struct block *block, uint32_t value, CUstream stream)
{
    uint32_t words = (uint32_t)(block->bytes / 4);
    void *parameters[] = {&block->address, &words, &value};
    ok(cuLaunchKernel(add, (words + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void compare(CUdeviceptr address, size_t bytes, uint32_t value)
{
    uint32_t *host = malloc(bytes);
    assert_non_null(host);
    ok(cuMemcpyDtoH(host, address, bytes));
    for (size_t w = 0; w < bytes / 4; w++) assert_int_equal(host[w], value);
    free(host);
}

static size_t size_of(size_t number)
{
    return 1 * MIB + 512 * (number * 977 % 3000);
}

/* Half of the blocks last. The others are taken anew in each step, first fit from ever another place on. */
static void blocks_come_and_go(void **state)
{
    struct segment segment;
    (void)state;
    begin(&segment);
    for (size_t b = 0; b < BLOCKS / 2; b++) take(&segment, b, size_of(b), 0, NULL);
    for (size_t step = 0; step < STEPS; step++) {
        for (size_t b = BLOCKS / 2; b < BLOCKS; b++) {
            take(&segment, b, size_of(b), step % 5 * 3 * MIB + step % 3 * 512, NULL);
            add_to(&segment.blocks[b - BLOCKS / 2], 1, NULL);
            segment.blocks[b - BLOCKS / 2].value++;
        }
        for (size_t b = BLOCKS / 2; b < BLOCKS; b++) {
            add_to(&segment.blocks[b], 7, NULL);
            if (step % 8 == 7) compare(segment.blocks[b].address, segment.blocks[b].bytes, (uint32_t)b + 7);
            give_back(&segment.blocks[b]);
        }
    }
    for (size_t b = 0; b < BLOCKS / 2; b++)
        compare(segment.blocks[b].address, segment.blocks[b].bytes, segment.blocks[b].value);
    end(&segment);
}

/* A graph adds to what it had, though the allocator has it back since the capture ended. */
static void graphs_keep_what_they_were_given(void **state)
{
    struct segment own, common;
    CUstream stream;
    CUgraph graph;
    CUgraphExec executable;
    (void)state;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    begin(&own);
    begin(&common);
    give_back(take(&own, 0, 3 * MIB, 0, stream)); /* as PyTorch warms up */
    ok(cuCtxSynchronize());
    ok(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    struct block *block = &own.blocks[0];
    *block = (struct block){own.base, 3 * MIB, 0};
    report(block->address, (int64_t)block->bytes);
    add_to(block, 5, stream);
    ok(cuStreamEndCapture(stream, &graph));
    CUdeviceptr address = block->address;
    size_t bytes = block->bytes;
    ok(cuGraphInstantiate(&executable, graph, 0));
    ok(cuMemsetD32Async(address, 1, bytes / 4, stream));
    give_back(block);
    ok(cuStreamSynchronize(stream));
    for (uint32_t step = 1; step <= 10; step++) {
        for (size_t b = 0; b < BLOCKS / 2; b++) take(&common, b, size_of(b), 0, NULL);
        for (size_t b = 0; b < BLOCKS / 2; b++) give_back(&common.blocks[b]);
        ok(cuCtxSynchronize());
        ok(cuGraphLaunch(executable, stream));
        ok(cuStreamSynchronize(stream));
        compare(address, bytes, 1 + 5 * step);
    }
    ok(cuGraphExecDestroy(executable));
    ok(cuGraphDestroy(graph));
    end(&own);
    end(&common);
    ok(cuStreamDestroy(stream));
}

/* Those of other devices and of the host, too, and nothing is made of them. */
static void reports_reach_pytorch(void **state)
{
    (void)state;
    int host = 0;
    c10_report_here(&host, 4, 1, 2, (struct c10_device){0, -1});
    c10_report_here(NULL, 0, 0, 0, (struct c10_device){1, 3});
    struct c10_told told = c10_told_here();
    assert_int_equal(told.count, expected.count + 2);
    assert_int_equal(told.bytes, expected.bytes + 4);
    assert_int_equal(told.allocated, expected.allocated + 1);
    assert_int_equal(told.reserved, expected.reserved + 2);
    assert_int_equal(told.devices, expected.devices + 102);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_and_go),
        cmocka_unit_test(graphs_keep_what_they_were_given),
        cmocka_unit_test(reports_reach_pytorch),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
