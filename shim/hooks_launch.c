/* Kernel launches, the hot path. core/launch_path.c does the work. */
#include "driver.h"
#include "nccl.h"
#include "work.h"

struct shape {
    uint32_t grid[3], block[3], shared_bytes;
};

/* Precondition: the work counts as seen. `extra`: the packed form of the parameters, which counts if
 * `parameters` is NULL. */
static inline void begin_launch(struct sl_launch *launch, sl_stream stream, CUfunction function,
                                struct shape shape, void **parameters, void **extra)
{
    *launch = (struct sl_launch){.kind = SL_LAUNCH_KERNEL,
                                 .stream = stream,
                                 .function = (uintptr_t)function,
                                 .grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
                                 .block = {shape.block[0], shape.block[1], shape.block[2]},
                                 .shared_bytes = shape.shared_bytes,
                                 .parameters = parameters};
    if (!parameters) sl_work_read_extra(launch, extra);
    sl_nccl_claim(launch);
    sl_runtime_launch_begin(launch);
}

CUresult sl_hook_cuLaunchKernel(struct sl_call call, sl_fn_cuLaunchKernel *real, CUfunction function,
                                unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                                void **parameters, void **extra)
{
    struct sl_work work;
    work.seen = sl_session_on_stream(stream);
    if (work.seen)
        begin_launch(&work.launch, sl_work_stream(call, stream), function,
                     (struct shape){{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                     parameters, extra);
    return sl_work_end(&work, real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                   stream, parameters, extra));
}

CUresult sl_hook_cuLaunchKernelEx(struct sl_call call, sl_fn_cuLaunchKernelEx *real,
                                  const CUlaunchConfig *config, CUfunction function, void **parameters,
                                  void **extra)
{
    struct sl_work work;
    work.seen = config && sl_session_on_stream(config->hStream);
    if (work.seen)
        begin_launch(&work.launch, sl_work_stream(call, config->hStream), function,
                     (struct shape){{config->gridDimX, config->gridDimY, config->gridDimZ},
                                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                                    config->sharedMemBytes},
                     parameters, extra);
    return sl_work_end(&work, real(config, function, parameters, extra));
}

CUresult sl_hook_cuLaunchCooperativeKernel(struct sl_call call, sl_fn_cuLaunchCooperativeKernel *real,
                                           CUfunction function, unsigned grid_x, unsigned grid_y,
                                           unsigned grid_z, unsigned block_x, unsigned block_y,
                                           unsigned block_z, unsigned shared_bytes, CUstream stream,
                                           void **parameters)
{
    struct sl_work work;
    work.seen = sl_session_on_stream(stream);
    if (work.seen)
        begin_launch(&work.launch, sl_work_stream(call, stream), function,
                     (struct shape){{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                     parameters, NULL);
    return sl_work_end(&work, real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                   stream, parameters));
}

/* The oldest launch functions take the block shape and parameters from earlier calls, which are not followed:
 * their memory is used remotely. */
static void begin_old_launch(struct sl_work *work, sl_stream stream, CUfunction function, int width,
                             int height)
{
    work->seen = sl_session_on_stream(stream);
    if (!work->seen) return;
    work->launch = (struct sl_launch){.kind = SL_LAUNCH_KERNEL,
                                      .stream = stream,
                                      .function = (uintptr_t)function,
                                      .grid = {(uint32_t)width, (uint32_t)height, 1},
                                      .block = {1, 1, 1}};
    sl_runtime_launch_begin(&work->launch);
}

CUresult sl_hook_cuLaunch(struct sl_call call, sl_fn_cuLaunch *real, CUfunction function)
{
    struct sl_work work;
    begin_old_launch(&work, call.default_stream, function, 1, 1);
    return sl_work_end(&work, real(function));
}

CUresult sl_hook_cuLaunchGrid(struct sl_call call, sl_fn_cuLaunchGrid *real, CUfunction function, int width,
                              int height)
{
    struct sl_work work;
    begin_old_launch(&work, call.default_stream, function, width, height);
    return sl_work_end(&work, real(function, width, height));
}

CUresult sl_hook_cuLaunchGridAsync(struct sl_call call, sl_fn_cuLaunchGridAsync *real, CUfunction function,
                                   int width, int height, CUstream stream)
{
    struct sl_work work;
    begin_old_launch(&work, sl_work_stream(call, stream), function, width, height);
    return sl_work_end(&work, real(function, width, height, stream));
}
