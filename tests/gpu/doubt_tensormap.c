/* Whether a tensor map, which a kernel takes by value, shows the address that it was made for: then the scan
 * of parameters finds it. No device is needed to make one. */
#include <stdint.h>
#include <string.h>

#include "answer.h"
#include "probe.h"

enum { MAP_BYTES = sizeof(CUtensorMap) };

/* A map of a 64 x 64 matrix of floats at `address`, which no call reads. */
static CUresult encode(CUtensorMap *map, uint64_t address)
{
    const cuuint64_t widths[] = {64, 64}, strides[] = {256};
    const cuuint32_t box[] = {16, 16}, steps[] = {1, 1};
    memset(map, 0, sizeof *map);
    return cu.cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)(uintptr_t)address,
                                     widths, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* Where the 8 bytes of the address stand, or -1. */
static int find_address(const CUtensorMap *map, uint64_t address)
{
    const char *bytes = (const char *)map;
    for (int at = 0; at + (int)sizeof address <= MAP_BYTES; at++)
        if (!memcmp(bytes + at, &address, sizeof address)) return at;
    return -1;
}

static void compare(const CUtensorMap *one, const CUtensorMap *other)
{
    const char *a = (const char *)one, *b = (const char *)other;
    int first = -1, last = -1;
    for (int at = 0; at < MAP_BYTES; at++)
        if (a[at] != b[at]) {
            if (first < 0) first = at;
            last = at;
        }
    answer_number(first, "", "first byte that differs with the address");
    answer_number(last, "", "last byte that differs with the address");
}

void part_tensormap(struct probe *probe)
{
    const uint64_t addresses[] = {0x7f1234567000, 0x302abcde8000};
    CUtensorMap maps[2];
    const char *error = NULL;
    int at[2];
    (void)probe;
    if (!cu.cuTensorMapEncodeTiled) {
        answer_text("not supported: the driver lacks it", "cuTensorMapEncodeTiled");
        return;
    }
    for (int i = 0; i < 2; i++) {
        CUresult result = encode(&maps[i], addresses[i]);
        if (result == CUDA_ERROR_NOT_INITIALIZED && cu.cuInit(0) == CUDA_SUCCESS)
            result = encode(&maps[i], addresses[i]);
        if (result != CUDA_SUCCESS) {
            cu.cuGetErrorName(result, &error);
            answer_text(error ? error : "an unknown error", "not supported: cuTensorMapEncodeTiled");
            return;
        }
        at[i] = find_address(&maps[i], addresses[i]);
    }
    compare(&maps[0], &maps[1]);
    if (at[0] >= 0 && at[0] == at[1]) {
        answer_number(at[0], "", "byte at which the address stands");
        answer_text("yes", "the address is shown");
    } else {
        answer_text("no", "the address is shown");
    }
}
