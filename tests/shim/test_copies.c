/* Every form of copy and set, into and out of our memory, against the same done on the host. The device is a
 * tenth of what is allocated, so that most of it is somewhere else when it is wanted. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK (2 * MIB)
#define BLOCKS 40

static CUdeviceptr blocks[BLOCKS];
static unsigned char *expected, *seen;

static int allocate(void **state)
{
    if (use_device(state)) return -1;
    expected = calloc(BLOCKS, BLOCK);
    seen = malloc(BLOCKS * BLOCK);
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemAlloc(&blocks[i], BLOCK) || cuMemsetD8(blocks[i], 0, BLOCK)) return -1;
    return expected && seen ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        if (cuMemFree(blocks[i])) return -1;
    free(expected);
    free(seen);
    return 0;
}

static unsigned char *host(int block)
{
    return expected + (size_t)block * BLOCK;
}

static void compare(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        ok(cuMemcpyDtoH(seen, blocks[i], BLOCK));
        assert_memory_equal(seen, host(i), BLOCK);
    }
}

static void fill(unsigned char *to, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) to[i] = (unsigned char)((i * 2654435761u + seed * 40503u) >> 13);
}

static void straight_copies(void **state)
{
    (void)state;
    CUstream stream;
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < BLOCKS; i++) {
        fill(host(i), BLOCK, (unsigned)i);
        if (i % 4 == 0)
            ok(cuMemcpyHtoD(blocks[i], host(i), BLOCK));
        else if (i % 4 == 1)
            ok(cuMemcpyHtoDAsync(blocks[i], host(i), BLOCK, stream));
        else if (i % 4 == 2)
            ok(cuMemcpy(blocks[i], (CUdeviceptr)(uintptr_t)host(i), BLOCK));
        else
            ok(cuMemcpyAsync(blocks[i], (CUdeviceptr)(uintptr_t)host(i), BLOCK, stream));
    }
    ok(cuStreamSynchronize(stream));
    for (int i = 0; i + 1 < BLOCKS; i += 2) {
        memcpy(host(i + 1) + 100, host(i) + 37, 5000);
        if (i % 4)
            ok(cuMemcpyDtoD(blocks[i + 1] + 100, blocks[i] + 37, 5000));
        else
            ok(cuMemcpyDtoDAsync(blocks[i + 1] + 100, blocks[i] + 37, 5000, stream));
    }
    ok(cuStreamSynchronize(stream));
    ok(cuStreamDestroy(stream));
    compare();
}

static void sets(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++) {
        uint16_t *halves = (uint16_t *)(host(i) + 4096);
        uint32_t *words = (uint32_t *)(host(i) + 65536);
        memset(host(i) + 1, i, 1000);
        for (int k = 0; k < 700; k++) halves[k] = (uint16_t)(i * 257 + 3);
        for (int k = 0; k < 900; k++) words[k] = (uint32_t)i * 65537u + 9;
        ok(cuMemsetD8(blocks[i] + 1, (unsigned char)i, 1000));
        ok(cuMemsetD16(blocks[i] + 4096, (unsigned short)(i * 257 + 3), 700));
        if (i % 2)
            ok(cuMemsetD32(blocks[i] + 65536, (unsigned)i * 65537u + 9, 900));
        else
            ok(cuMemsetD32Async(blocks[i] + 65536, (unsigned)i * 65537u + 9, 900, NULL));
    }
    ok(cuCtxSynchronize());
    compare();
}

static void sets_of_rows(void **state)
{
    (void)state;
    const size_t pitch = 4096, width = 100, height = 50;
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t row = 0; row < height; row++) memset(host(i) + 8192 + row * pitch, 5 + i, width);
        if (i % 2)
            ok(cuMemsetD2D8(blocks[i] + 8192, pitch, (unsigned char)(5 + i), width, height));
        else
            ok(cuMemsetD2D8Async(blocks[i] + 8192, pitch, (unsigned char)(5 + i), width, height, NULL));
    }
    ok(cuCtxSynchronize());
    compare();
}

static void copies_of_rows(void **state)
{
    (void)state;
    for (int i = 0; i + 1 < BLOCKS; i++) {
        CUDA_MEMCPY2D copy = {.srcXInBytes = 16,
                              .srcY = 2,
                              .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = blocks[i],
                              .srcPitch = 1024,
                              .dstXInBytes = 32,
                              .dstY = 1,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = blocks[i + 1],
                              .dstPitch = 2048,
                              .WidthInBytes = 200,
                              .Height = 20};
        for (size_t row = 0; row < 20; row++)
            memcpy(host(i + 1) + (row + 1) * 2048 + 32, host(i) + (row + 2) * 1024 + 16, 200);
        if (i % 2)
            ok(cuMemcpy2D(&copy));
        else
            ok(cuMemcpy2DAsync(&copy, NULL));
    }
    ok(cuCtxSynchronize());
    compare();
}

/* A small copy may carry pointers and is looked at; its source may be memory that only the driver can read.
 */
static void small_copies_from_anywhere(void **state)
{
    (void)state;
    CUdeviceptr managed;
    uint64_t table[4] = {blocks[1], blocks[2] + 64, 0, 1};
    ok(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemcpyHtoD(managed, table, sizeof(table)));
    ok(cuMemcpy(blocks[0], managed, sizeof(table)));
    ok(cuMemcpyHtoD(blocks[0] + 64, table, sizeof(table)));
    memcpy(host(0), table, sizeof(table));
    memcpy(host(0) + 64, table, sizeof(table));
    ok(cuMemFree(managed));
    compare();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_copies),
        cmocka_unit_test(sets),
        cmocka_unit_test(sets_of_rows),
        cmocka_unit_test(copies_of_rows),
        cmocka_unit_test(small_copies_from_anywhere),
    };
    return cmocka_run_group_tests(tests, allocate, release);
}
