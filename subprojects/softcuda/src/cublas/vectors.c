/* Vector operations and transfers: convert calls to the parameters of a launch. */
#include <string.h>

#include "handle.h"

#define RESULT_BYTES 64

static bool has_result(enum sc_vector_op op)
{
    return op >= SC_DOT;
}

static bool is_index(enum sc_vector_op op)
{
    return op == SC_IAMAX || op == SC_IAMIN;
}

static bool uses_y(enum sc_vector_op op)
{
    return op == SC_AXPY || op == SC_COPY || op == SC_SWAP || op == SC_DOT;
}

/* Accepts operands of one type; the computation is in single or double precision, depending on the type. */
static bool types_match(const struct sc_vector_call *call, struct sc_vector_shape *shape)
{
    uint8_t execution;
    if (!sc_type_from_cuda(call->type_x, &shape->type_x)) return false;
    shape->type_y = shape->type_alpha = shape->type_result = shape->type_x;
    if (uses_y(call->op) &&
        (!sc_type_from_cuda(call->type_y, &shape->type_y) || shape->type_y != shape->type_x))
        return false;
    if (call->alpha && (!sc_type_from_cuda(call->type_alpha, &shape->type_alpha) ||
                        (shape->type_alpha == SC_F64) != (shape->type_x == SC_F64)))
        return false;
    if (is_index(call->op)) {
        shape->type_result = call->wide_index ? SC_F64 : SC_F32;
        return true;
    }
    if (has_result(call->op) &&
        (!sc_type_from_cuda(call->type_result, &shape->type_result) || shape->type_result != shape->type_x))
        return false;
    if (call->op == SC_COPY || call->op == SC_SWAP) return true;
    return sc_type_from_cuda(call->execution, &execution) &&
           (shape->type_x == SC_F64 ? execution == SC_F64 : execution == SC_F32);
}

static size_t result_bytes(const struct sc_vector_call *call, const struct sc_vector_shape *shape)
{
    if (is_index(call->op)) return call->wide_index ? 8 : 4;
    return sc_type_bytes(shape->type_result);
}

/* Launches, and waits for a result that the host needs when the call returns. */
static cublasStatus_t launch_and_fetch(cublasHandle_t handle, struct sc_vector *vector, void *result,
                                       size_t bytes)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    pthread_mutex_lock(&handle->lock);
    if (!handle->result) status = sc_gate_allocate(&handle->result, RESULT_BYTES);
    vector->result = (uint64_t)handle->result;
    if (!status) status = sc_gate_launch(SC_KERNEL_VECTOR, handle->stream, vector);
    if (!status) status = sc_gate_synchronize(handle->stream);
    if (!status) memcpy(result, handle->result, bytes);
    pthread_mutex_unlock(&handle->lock);
    return status;
}

cublasStatus_t sc_vector_call(cublasHandle_t handle, const struct sc_vector_call *call)
{
    cublasStatus_t status = sc_handle_check(handle);
    if (status) return status;
    bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    bool needs_alpha = call->op == SC_AXPY || call->op == SC_SCAL;
    if ((needs_alpha && !call->alpha) || (has_result(call->op) && !call->result))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct sc_vector vector = {
        .x = (uint64_t)call->x,
        .y = (uint64_t)call->y,
        .shape = {.n = call->n,
                  .incx = call->incx,
                  .incy = uses_y(call->op) ? call->incy : 1,
                  .op = (uint8_t)call->op},
    };
    if (!types_match(call, &vector.shape))
        return sc_not_supported(call->function, "this combination of types");
    /* Reductions of one vector with a stride of 0 or less process no elements; their result is 0. */
    bool alone = has_result(call->op) && call->op != SC_DOT;
    if (call->n <= 0 || (alone && call->incx <= 0)) vector.shape.n = 0;
    if (!vector.shape.n && !has_result(call->op)) return CUBLAS_STATUS_SUCCESS;
    if (call->op == SC_SCAL && call->incx <= 0) return CUBLAS_STATUS_SUCCESS;
    if (call->alpha && on_device) vector.alpha = (uint64_t)call->alpha;
    if (call->alpha && !on_device) vector.shape.alpha = sc_load_one(vector.shape.type_alpha, call->alpha);
    if (has_result(call->op) && !on_device) {
        size_t bytes = result_bytes(call, &vector.shape);
        if (vector.shape.n) return launch_and_fetch(handle, &vector, call->result, bytes);
        memset(call->result, 0, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    vector.result = (uint64_t)call->result;
    return sc_gate_launch(SC_KERNEL_VECTOR, handle->stream, &vector);
}

cublasStatus_t sc_transfer(const struct sc_transfer *transfer)
{
    int64_t width = transfer->rows * transfer->bytes;
    if (transfer->rows < 0 || transfer->columns < 0 || transfer->bytes <= 0 || transfer->from_ld <= 0 ||
        transfer->to_ld <= 0 || transfer->from_ld < transfer->rows || transfer->to_ld < transfer->rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!transfer->rows || !transfer->columns) return CUBLAS_STATUS_SUCCESS;
    cublasStatus_t status = sc_gate_open();
    if (status) return status;
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = transfer->to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .dstMemoryType = transfer->to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .srcHost = transfer->from,
        .srcDevice = (CUdeviceptr)transfer->from,
        .dstHost = transfer->to,
        .dstDevice = (CUdeviceptr)transfer->to,
        .srcPitch = (size_t)(transfer->from_ld * transfer->bytes),
        .dstPitch = (size_t)(transfer->to_ld * transfer->bytes),
        .WidthInBytes = (size_t)width,
        .Height = (size_t)transfer->columns,
    };
    return sc_gate_copy(&copy, transfer->asynchronous, transfer->stream);
}
