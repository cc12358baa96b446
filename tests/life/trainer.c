#include "trainer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDS 4096 /* of each block that are added to */

static const char ptx[] = ".version 7.0\n"
                          ".target sm_70\n"
                          ".address_size 64\n"
                          ".visible .entry add(.param .u64 data, .param .u32 value)\n"
                          "{\n"
                          "  .reg .u32 %r<7>; .reg .u64 %rd<4>;\n"
                          "  ld.param.u64 %rd1, [data];\n"
                          "  ld.param.u32 %r2, [value];\n"
                          "  mov.u32 %r3, %ctaid.x;\n"
                          "  mov.u32 %r4, %ntid.x;\n"
                          "  mov.u32 %r5, %tid.x;\n"
                          "  mad.lo.u32 %r3, %r3, %r4, %r5;\n"
                          "  mul.wide.u32 %rd2, %r3, 4;\n"
                          "  add.u64 %rd1, %rd1, %rd2;\n"
                          "  ld.global.u32 %r6, [%rd1];\n"
                          "  add.u32 %r6, %r6, %r2;\n"
                          "  st.global.u32 [%rd1], %r6;\n"
                          "  ret;\n"
                          "}\n";

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        CUresult result_ = (call);                                                                           \
        if (result_ != CUDA_SUCCESS) return result_;                                                         \
    } while (0)

CUresult trainer_start(struct trainer *trainer)
{
    CUdevice device;
    memset(trainer, 0, sizeof *trainer);
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&trainer->context, device));
    TRY(cuCtxSetCurrent(trainer->context));
    TRY(cuModuleLoadData(&trainer->module, ptx));
    TRY(cuModuleGetFunction(&trainer->add, trainer->module, "add"));
    TRY(cuStreamCreate(&trainer->stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < TRAINER_BLOCKS; i++) {
        TRY(cuMemAlloc(&trainer->blocks[i], TRAINER_BLOCK_BYTES));
        TRY(cuMemsetD8(trainer->blocks[i], 0, TRAINER_BLOCK_BYTES));
    }
    return cuCtxSynchronize();
}

CUresult trainer_enter(const struct trainer *trainer)
{
    return cuCtxSetCurrent(trainer->context);
}

CUresult trainer_steps(struct trainer *trainer, int steps)
{
    for (int step = 0; step < steps; step++)
        for (uint32_t i = 0; i < TRAINER_BLOCKS; i++) {
            uint32_t value = i + 1;
            void *parameters[] = {&trainer->blocks[i], &value};
            TRY(cuLaunchKernel(trainer->add, WORDS / 256, 1, 1, 256, 1, 1, 0, trainer->stream, parameters,
                               NULL));
            trainer->expected[i] += value;
        }
    return CUDA_SUCCESS;
}

CUresult trainer_check(struct trainer *trainer)
{
    uint32_t words[64];
    TRY(cuStreamSynchronize(trainer->stream));
    for (int i = 0; i < TRAINER_BLOCKS; i++) {
        TRY(cuMemcpyDtoH(words, trainer->blocks[i] + 4 * (WORDS - 64), sizeof words));
        for (int w = 0; w < 64; w++)
            if (words[w] != trainer->expected[i]) return CUDA_ERROR_ASSERT;
    }
    return CUDA_SUCCESS;
}

CUresult trainer_stop(struct trainer *trainer)
{
    for (int i = 0; i < TRAINER_BLOCKS; i++) TRY(cuMemFree(trainer->blocks[i]));
    TRY(cuStreamDestroy(trainer->stream));
    return cuModuleUnload(trainer->module);
}

CUresult trainer_run(int steps)
{
    struct trainer trainer;
    TRY(trainer_start(&trainer));
    TRY(trainer_steps(&trainer, steps));
    TRY(trainer_check(&trainer));
    return trainer_stop(&trainer);
}

void must_be(bool holds, const char *what, int line)
{
    char text[256];
    if (holds) return;
    int length = snprintf(text, sizeof text, "line %d: %s\n", line, what);
    if (write(STDERR_FILENO, text, (size_t)length) < 0) _exit(3);
    _exit(2);
}
