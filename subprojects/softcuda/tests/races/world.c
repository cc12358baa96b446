#include "world.h"

static const char text[] = ".version 7.0\n"
                           ".target sm_75\n"
                           ".address_size 64\n"
                           ".extern .func (.param .b64 func_retval0) malloc(.param .b64 malloc_param_0);\n"
                           ".extern .func free(.param .b64 free_param_0);\n"
                           ".visible .entry copy(.param .u64 out, .param .u64 in)\n"
                           "{\n"
                           "  .reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
                           "  ld.param.u64 %rd1, [out];\n"
                           "  ld.param.u64 %rd2, [in];\n"
                           "  mov.u32 %r1, %tid.x;\n"
                           "  mul.wide.u32 %rd3, %r1, 4;\n"
                           "  add.s64 %rd4, %rd2, %rd3;\n"
                           "  ld.global.u32 %r2, [%rd4];\n"
                           "  add.s64 %rd5, %rd1, %rd3;\n"
                           "  st.global.u32 [%rd5], %r2;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry bytes(.param .u64 at)\n"
                           "{\n"
                           "  .reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  mov.u32 %r1, %tid.x;\n"
                           "  mov.u32 %r2, 1;\n"
                           "  mul.wide.u32 %rd3, %r1, 2;\n"
                           "  add.s64 %rd4, %rd1, %rd3;\n"
                           "  st.global.u8 [%rd4], %r2;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry count(.param .u64 at)\n"
                           "{\n"
                           "  .reg .b64 %rd<2>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  red.global.add.u32 [%rd1], 1;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry raise(.param .u64 at)\n"
                           "{\n"
                           "  .reg .b64 %rd<2>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  st.volatile.global.u32 [%rd1], 1;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry look(.param .u64 out, .param .u64 at)\n"
                           "{\n"
                           "  .reg .b32 %r<2>; .reg .b64 %rd<3>;\n"
                           "  ld.param.u64 %rd1, [out];\n"
                           "  ld.param.u64 %rd2, [at];\n"
                           "  ld.volatile.global.u32 %r1, [%rd2];\n"
                           "  st.global.u32 [%rd1], %r1;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry shuffle(.param .u64 at)\n"
                           "{\n"
                           "  .reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  mov.u32 %r1, %tid.x;\n"
                           "  mul.wide.u32 %rd3, %r1, 4;\n"
                           "  add.s64 %rd4, %rd1, %rd3;\n"
                           "  st.global.u32 [%rd4], %r1;\n"
                           "  bar.sync 0;\n"
                           "  xor.b32 %r2, %r1, 1;\n"
                           "  mul.wide.u32 %rd3, %r2, 4;\n"
                           "  add.s64 %rd4, %rd1, %rd3;\n"
                           "  ld.global.u32 %r2, [%rd4];\n"
                           "  bar.sync 0;\n"
                           "  st.global.u32 [%rd4], %r2;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry borrow()\n"
                           "{\n"
                           "  .reg .b64 %rd<3>;\n"
                           "  .param .b64 bytes, result, address;\n"
                           "  mov.u64 %rd1, 64;\n"
                           "  st.param.b64 [bytes], %rd1;\n"
                           "  call (result), malloc, (bytes);\n"
                           "  ld.param.b64 %rd2, [result];\n"
                           "  st.u64 [%rd2], %rd1;\n"
                           "  st.param.b64 [address], %rd2;\n"
                           "  call free, (address);\n"
                           "  ret;\n"
                           "}\n";

static void launch(CUfunction function, unsigned threads, CUstream stream, CUdeviceptr first,
                   CUdeviceptr second)
{
    void *parameters[] = {&first, &second};
    OK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters, NULL));
}

void copy_words(struct world *w, CUdeviceptr out, CUdeviceptr in, CUstream stream)
{
    launch(w->copy, COUNT, stream, out, in);
}

void write_every_other(struct world *w, CUdeviceptr at, CUstream stream)
{
    launch(w->bytes, 512, stream, at, 0);
}

void count_up(struct world *w, CUdeviceptr at, CUstream stream)
{
    launch(w->count, 64, stream, at, 0);
}

void raise_flag(struct world *w, CUdeviceptr at, CUstream stream)
{
    launch(w->raise, 1, stream, at, 0);
}

void look_at_flag(struct world *w, CUdeviceptr out, CUdeviceptr at, CUstream stream)
{
    launch(w->look, 1, stream, out, at);
}

void borrow(struct world *w, CUstream stream)
{
    launch(w->borrow, 1, stream, 0, 0);
}

void shuffle(struct world *w, CUdeviceptr at, CUstream stream)
{
    launch(w->shuffle, COUNT, stream, at, 0);
}

void let_wait(struct world *w, CUstream first, CUstream second)
{
    OK(cuEventRecord(w->event, first));
    OK(cuStreamWaitEvent(second, w->event, 0));
}

void discard(struct world *w, CUdeviceptr at, CUstream stream)
{
    (void)w;
    size_t bytes = MANAGED_BYTES;
    OK(cuMemDiscardBatchAsync(&at, &bytes, 1, 0, stream));
}

void prefetch(struct world *w, CUdeviceptr at, CUmemLocationType to, CUstream stream)
{
    (void)w;
    OK(cuMemPrefetchAsync(at, MANAGED_BYTES, (CUmemLocation){.type = to}, 0, stream));
}

void discard_and_prefetch(struct world *w, CUdeviceptr at, CUstream stream)
{
    (void)w;
    size_t bytes = MANAGED_BYTES, index = 0;
    CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    OK(cuMemDiscardAndPrefetchBatchAsync(&at, &bytes, 1, &device, &index, 1, 0, stream));
}

void advise(CUdeviceptr at, size_t bytes, CUmem_advise advice)
{
    OK(cuMemAdvise(at, bytes, advice, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}));
}

CUdeviceptr allocate(CUstream stream)
{
    CUdeviceptr address;
    OK(cuMemAllocAsync(&address, BYTES, stream));
    return address;
}

static void open_world(struct world *w)
{
    CUmodule module;
    start();
    OK(cuCtxGetCurrent(&w->context));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&w->copy, module, "copy"));
    OK(cuModuleGetFunction(&w->bytes, module, "bytes"));
    OK(cuModuleGetFunction(&w->count, module, "count"));
    OK(cuModuleGetFunction(&w->raise, module, "raise"));
    OK(cuModuleGetFunction(&w->look, module, "look"));
    OK(cuModuleGetFunction(&w->shuffle, module, "shuffle"));
    OK(cuModuleGetFunction(&w->borrow, module, "borrow"));
    OK(cuStreamCreate(&w->a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&w->b, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&w->blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&w->blocking2, CU_STREAM_DEFAULT));
    OK(cuEventCreate(&w->event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&w->event2, CU_EVENT_DISABLE_TIMING));
    OK(cuMemAlloc(&w->x, BYTES));
    OK(cuMemAlloc(&w->y, BYTES));
    OK(cuMemAlloc(&w->z, BYTES));
    OK(cuMemAllocManaged(&w->managed, MANAGED_BYTES, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc((void **)&w->pinned, BYTES, 0));
    /* Every stream has a past. */
    const CUstream streams[] = {w->a, w->b, w->blocking, w->blocking2};
    for (int i = 0; i < 4; i++) OK(cuEventRecord(w->event2, streams[i]));
    OK(cuMemsetD8(w->x, 0, BYTES));
    OK(cuMemsetD8(w->y, 0, BYTES));
    OK(cuMemsetD8(w->z, 0, BYTES));
    OK(cuMemsetD8(w->managed, 0, MANAGED_BYTES));
    OK(cuCtxSynchronize());
}

int run_samples(const struct sample *samples, size_t count, int argc, char **argv)
{
    struct world world;
    for (size_t i = 0; i < count; i++) {
        if (argc < 2) printf("%s|%s\n", samples[i].name, samples[i].expected ? samples[i].expected : "");
        if (argc < 2 || strcmp(argv[1], samples[i].name)) continue;
        open_world(&world);
        samples[i].run(&world);
        return cuCtxSynchronize() != CUDA_SUCCESS;
    }
    return argc < 2 ? 0 : 2;
}
