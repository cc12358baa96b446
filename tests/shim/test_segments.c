/* Virtual memory management as PyTorch's expandable segments use it, over memory that is several times the
 * budget: a segment is a range of addresses that grows and shrinks at its end, tensors lie across its pieces.
 * The results are compared, and the software device's own statistics show at exit whether a kernel had to
 * read any of it in place, and whether the device ever held more than the budget (check_launches.py).
 */
#include "adder.h"

#include <stdlib.h>

#define MOST_PIECES 64
#define MOST_TENSORS 16
#define ROUNDS 6

static CUmodule module;
static CUfunction add;

struct tensor {
    CUdeviceptr address;
    uint32_t words, expected;
};

struct segment {
    CUdeviceptr base;
    size_t bytes, piece_bytes, used_bytes;
    CUmemGenericAllocationHandle handles[MOST_PIECES];
    size_t pieces;
    struct tensor tensors[MOST_TENSORS];
    size_t count;
};

static int load(void **state)
{
    return use_device(state) || cuModuleLoadData(&module, adder_ptx) ||
                   cuModuleGetFunction(&add, module, "add")
               ? -1
               : 0;
}

static void reserve(struct segment *segment, size_t piece_bytes)
{
    size_t total;
    ok(cuDeviceTotalMem(&total, 0));
    *segment = (struct segment){.piece_bytes = piece_bytes};
    segment->bytes = (total + total / 8) / (2 * MIB) * 2 * MIB;
    ok(cuMemAddressReserve(&segment->base, segment->bytes, 0, 0, 0));
}

static void grow(struct segment *segment, size_t bytes)
{
    static const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                   .requestedHandleTypes =
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    static const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t first = segment->pieces, size = segment->piece_bytes;
    while (segment->pieces * size < bytes) {
        size_t i = segment->pieces++;
        assert_in_range(i, 0, MOST_PIECES - 1);
        ok(cuMemCreate(&segment->handles[i], size, &properties, 0));
        ok(cuMemMap(segment->base + i * size, size, 0, segment->handles[i], 0));
    }
    if (segment->pieces > first)
        ok(cuMemSetAccess(segment->base + first * size, (segment->pieces - first) * size, &access, 1));
}

static void shrink(struct segment *segment, size_t bytes)
{
    ok(cuCtxSynchronize());
    while (segment->pieces && (segment->pieces - 1) * segment->piece_bytes >= bytes) {
        size_t i = --segment->pieces;
        ok(cuMemUnmap(segment->base + i * segment->piece_bytes, segment->piece_bytes));
        ok(cuMemRelease(segment->handles[i]));
    }
}

static void allocate(struct segment *segment, size_t bytes, uint32_t value)
{
    struct tensor *tensor = &segment->tensors[segment->count++];
    grow(segment, segment->used_bytes + bytes);
    *tensor = (struct tensor){segment->base + segment->used_bytes, (uint32_t)(bytes / 4), value};
    segment->used_bytes += bytes;
    ok(cuMemsetD32Async(tensor->address, value, tensor->words, NULL));
}

/* The last `count` tensors, and the pieces in which nothing lies any more. */
static void give_back(struct segment *segment, size_t count)
{
    segment->count -= count;
    segment->used_bytes = segment->tensors[segment->count].address - segment->base;
    shrink(segment, segment->used_bytes);
}

static void use(struct segment *segment)
{
    for (size_t i = 0; i < segment->count; i++) {
        struct tensor *tensor = &segment->tensors[i];
        uint32_t value = (uint32_t)i + 3;
        void *parameters[] = {&tensor->address, &tensor->words, &value};
        ok(cuLaunchKernel(add, (tensor->words + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
        tensor->expected += value;
    }
}

static void compare(const struct segment *segment)
{
    for (size_t i = 0; i < segment->count; i++) {
        const struct tensor *tensor = &segment->tensors[i];
        uint32_t *host = malloc(tensor->words * sizeof *host);
        assert_non_null(host);
        ok(cuMemcpyDtoH(host, tensor->address, tensor->words * sizeof *host));
        for (uint32_t w = 0; w < tensor->words; w++) assert_int_equal(host[w], tensor->expected);
        free(host);
    }
}

static void end(struct segment *segment)
{
    shrink(segment, 0);
    ok(cuMemAddressFree(segment->base, segment->bytes));
}

/* Sizes of no common measure, so that tensors begin and end anywhere in pieces. */
static void allocate_some(struct segment *segment, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        allocate(segment, 3 * MIB + 512 * ((i * 977 + seed * 101) % 4000), seed + (uint32_t)i);
}

static void a_segment_grows_and_shrinks(void **state)
{
    struct segment segment;
    (void)state;
    for (size_t piece_bytes = 2 * MIB; piece_bytes <= 6 * MIB; piece_bytes += 2 * MIB) {
        reserve(&segment, piece_bytes);
        allocate_some(&segment, 10, 1);
        for (int i = 0; i < ROUNDS; i++) use(&segment);
        compare(&segment);
        for (uint32_t round = 0; round < 3; round++) {
            give_back(&segment, 6);
            allocate_some(&segment, 6, 10 + round);
            for (int i = 0; i < ROUNDS; i++) use(&segment);
        }
        compare(&segment);
        end(&segment);
    }
}

static void two_segments_side_by_side(void **state)
{
    struct segment small, large;
    (void)state;
    reserve(&small, 2 * MIB);
    reserve(&large, 6 * MIB);
    assert_true(small.base + small.bytes <= large.base || large.base + large.bytes <= small.base);
    for (uint32_t i = 0; i < 8; i++) {
        allocate(&large, 3 * MIB + 1024 * i, i);
        allocate(&small, 4096 + 512 * i, 100 + i);
        use(&small);
        use(&large);
    }
    compare(&small);
    compare(&large);
    end(&small);
    for (int i = 0; i < ROUNDS; i++) use(&large);
    compare(&large);
    end(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_grows_and_shrinks),
        cmocka_unit_test(two_segments_side_by_side),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
