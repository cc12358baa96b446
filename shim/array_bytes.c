#include "array_bytes.h"

#include <stdbool.h>

#ifndef CUDA_ARRAY3D_DEFERRED_MAPPING
#define CUDA_ARRAY3D_DEFERRED_MAPPING 0x80
#endif

/* Bits of one element; for compressed formats with 4 x 4 blocks, the block's bits divided by 16. */
static uint64_t element_bits(CUarray_format format, unsigned channels)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
        return 8u * channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
        return 16u * channels;
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
        return 16;
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
        return 32;
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
        return 64;
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
        return 4;
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
        return 8;
    case CU_AD_FORMAT_NV12:
        return 12;
    default:
        return 32u * channels;
    }
}

static uint64_t at_least_one(uint64_t extent)
{
    return extent ? extent : 1;
}

uint64_t sl_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
    if (shape->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) return 0;
    bool layered = shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    uint64_t bits = element_bits(shape->Format, shape->NumChannels), elements = 0;
    for (unsigned level = 0; level < (levels ? levels : 1) && level < 64; level++) {
        uint64_t depth = layered ? shape->Depth : shape->Depth >> level;
        elements += at_least_one((uint64_t)shape->Width >> level) *
                    at_least_one((uint64_t)shape->Height >> level) * at_least_one(depth);
    }
    return (elements * bits + 7) / 8;
}
