/* cudaMemset and related functions. */
#include "state.h"

/* A box is one rectangle if its slices are contiguous; otherwise it is filled slice by slice. */
struct box {
    CUdeviceptr address;
    size_t pitch, width, rows, slices, slice_bytes;
};

/* A box that does not end in the address space becomes one that the driver refuses. */
static struct box box_of(struct cudaPitchedPtr pointer, struct cudaExtent extent)
{
    struct box box = {.address = (CUdeviceptr)pointer.ptr,
                      .pitch = pointer.pitch,
                      .width = extent.width,
                      .rows = extent.height,
                      .slices = extent.depth};
    size_t rows, bytes;
    const bool contiguous = pointer.ysize == extent.height;
    if (__builtin_mul_overflow(pointer.pitch, pointer.ysize, &box.slice_bytes) ||
        __builtin_mul_overflow(box.slice_bytes, extent.depth, &bytes) ||
        __builtin_mul_overflow(extent.height, extent.depth, &rows) ||
        (extent.depth > 1 && pointer.ysize < extent.height))
        return (struct box){
            .address = box.address, .pitch = SIZE_MAX, .width = 1, .rows = SIZE_MAX, .slices = 1};
    if (contiguous) {
        box.rows = rows;
        box.slices = box.slices ? 1 : 0;
    }
    return box;
}

static cudaError_t fill(const struct sc_driver *driver, void *address, int value, size_t bytes)
{
    return bytes ? CALL(cuMemsetD8, (CUdeviceptr)address, (unsigned char)value, bytes) : cudaSuccess;
}

static cudaError_t fill_async(const struct sc_driver *driver, void *address, int value, size_t bytes,
                              cudaStream_t stream)
{
    return bytes ? CALL(cuMemsetD8Async, (CUdeviceptr)address, (unsigned char)value, bytes, stream)
                 : cudaSuccess;
}

static cudaError_t fill_box(const struct sc_driver *driver, struct box box, int value)
{
    cudaError_t status = cudaSuccess;
    if (!box.width || !box.rows) return cudaSuccess;
    for (size_t i = 0; i < box.slices && status == cudaSuccess; i++)
        status = CALL(cuMemsetD2D8, box.address + i * box.slice_bytes, box.pitch, (unsigned char)value,
                      box.width, box.rows);
    return status;
}

static cudaError_t fill_box_async(const struct sc_driver *driver, struct box box, int value,
                                  cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    if (!box.width || !box.rows) return cudaSuccess;
    for (size_t i = 0; i < box.slices && status == cudaSuccess; i++)
        status = CALL(cuMemsetD2D8Async, box.address + i * box.slice_bytes, box.pitch, (unsigned char)value,
                      box.width, box.rows, stream);
    return status;
}

#define RECTANGLE                                                                                            \
    ((struct box){                                                                                           \
        .address = (CUdeviceptr)address, .pitch = pitch, .width = width, .rows = height, .slices = 1})

SC_STREAM_API(cudaMemset, _ptds, (void *address, int value, size_t bytes),
              fill(driver, address, value, bytes))
SC_STREAM_API(cudaMemsetAsync, _ptsz, (void *address, int value, size_t bytes, cudaStream_t stream),
              fill_async(driver, address, value, bytes, stream))
SC_STREAM_API(cudaMemset2D, _ptds, (void *address, size_t pitch, int value, size_t width, size_t height),
              fill_box(driver, RECTANGLE, value))
SC_STREAM_API(cudaMemset2DAsync, _ptsz,
              (void *address, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
              fill_box_async(driver, RECTANGLE, value, stream))
SC_STREAM_API(cudaMemset3D, _ptds, (struct cudaPitchedPtr pointer, int value, struct cudaExtent extent),
              fill_box(driver, box_of(pointer, extent), value))
SC_STREAM_API(cudaMemset3DAsync, _ptsz,
              (struct cudaPitchedPtr pointer, int value, struct cudaExtent extent, cudaStream_t stream),
              fill_box_async(driver, box_of(pointer, extent), value, stream))
