/* Writes to memory of which read-mostly has made a copy on each side, in the way that the first argument
 * names, waits, takes read-mostly back with preferred location host, and compares what the host then reads:
 * the second argument says whether the write is there ("kept") or not ("lost"). With a third one there is no
 * preferred location. */
#include <stdint.h>

#include "check.h"
#include "native.h"

#define BLOCK ((size_t)2 << 20)
#define BYTES (4 * BLOCK)
enum { OLD = 7, NEW = 9 };

static const char text[] = ".version 7.0\n"
                           ".target sm_75\n"
                           ".address_size 64\n"
                           ".visible .entry look(.param .u64 at, .param .u64 out)\n"
                           "{\n"
                           "  .reg .b32 %r<2>; .reg .b64 %rd<3>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  ld.param.u64 %rd2, [out];\n"
                           "  ld.global.u32 %r1, [%rd1];\n"
                           "  st.global.u32 [%rd2], %r1;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry store(.param .u64 at, .param .u64 out)\n"
                           "{\n"
                           "  .reg .b64 %rd<2>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  st.global.u32 [%rd1], 9;\n"
                           "  ret;\n"
                           "}\n"
                           ".visible .entry count(.param .u64 at, .param .u64 out)\n"
                           "{\n"
                           "  .reg .b64 %rd<2>;\n"
                           "  ld.param.u64 %rd1, [at];\n"
                           "  red.global.add.u32 [%rd1], 2;\n"
                           "  ret;\n"
                           "}\n";

/* A kernel in C. */
struct put {
    uint64_t at, out;
};

static const struct sc_parameter put_parameters[] = {{0, 8}, {8, 8}};

static bool put_describe(struct sc_native_launch *launch)
{
    const struct put *put = launch->parameters;
    return launch->touch(launch, &(struct sc_native_access){put->at, 4, 4, 1, .writes = true});
}

static bool put_run(struct sc_native_launch *launch)
{
    const struct put *put = launch->parameters;
    *(uint32_t *)put->at = NEW;
    return true;
}

static const struct sc_native_kernel put_kernel = {"put",        put_parameters, 2,   sizeof(struct put),
                                                   put_describe, put_run,        NULL};
static const struct sc_native_image image = {SC_NATIVE_MAGIC, &put_kernel, 1};

static CUmodule load_native(void)
{
    CUuuid id = {.bytes = SC_NATIVE_TABLE_ID};
    CUmodule module;
    const void *table;
    OK(cuGetExportTable(&table, &id));
    CHECK(((const struct sc_native_table *)table)->trust(&image));
    OK(cuModuleLoadData(&module, &image));
    return module;
}

static void launch(CUmodule module, const char *name, CUdeviceptr at, CUdeviceptr out, CUstream stream)
{
    CUfunction function;
    void *parameters[] = {&at, &out};
    OK(cuModuleGetFunction(&function, module, name));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static void use(const char *way, CUmodule module, CUdeviceptr at, CUdeviceptr other, CUstream stream)
{
    if (!strcmp(way, "look") || !strcmp(way, "store") || !strcmp(way, "count"))
        launch(module, way, at, other, stream);
    else if (!strcmp(way, "put"))
        launch(load_native(), way, at, other, stream);
    else if (!strcmp(way, "copy"))
        OK(cuMemcpyDtoDAsync(at, other, 4, stream));
    else if (!strcmp(way, "set"))
        OK(cuMemsetD32Async(at, NEW, 1, stream));
    else
        CHECK(!"a known way");
}

static void advise(CUdeviceptr memory, CUmem_advise advice, CUmemLocationType place)
{
    OK(cuMemAdvise(memory, BYTES, advice, (CUmemLocation){.type = place}));
}

int main(int argc, char **argv)
{
    CUdevice device = start();
    CUmodule module;
    CUstream stream, busy;
    CUdeviceptr memory, other;
    only_in_software(device);
    CHECK(argc >= 3);
    OK(cuModuleLoadData(&module, text));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&other, 8));
    OK(cuMemsetD32(other, NEW, 2));
    OK(cuCtxSynchronize());
    OK(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL));
    volatile uint32_t *words = (uint32_t *)memory;
    for (size_t i = 0; i < BYTES / 4; i++) words[i] = OLD;
    OK(cuMemPrefetchAsync(memory, BYTES, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}, 0, stream));
    if (argc == 3) advise(memory, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_LOCATION_TYPE_HOST);
    advise(memory, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuStreamSynchronize(stream));
    advise(memory, CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_LOCATION_TYPE_HOST);
    OK(cuMemPrefetchAsync(memory, BYTES, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE}, 0, stream));
    /* Nobody waits for this one, so a late device has not worked on it when the advice is given. */
    OK(cuMemsetD32Async(other + 4, 0, 1, busy));
    size_t at = BLOCK + 100;
    use(argv[1], module, memory + at, other, stream);
    OK(cuStreamSynchronize(stream));
    advise(memory, CU_MEM_ADVISE_UNSET_READ_MOSTLY, CU_MEM_LOCATION_TYPE_HOST);
    uint32_t expected = strcmp(argv[2], "kept") || !strcmp(argv[1], "look") ? OLD : NEW;
    CHECK(words[at / 4] == expected);
    for (size_t i = 0; i < BYTES / 4; i++) CHECK(i == at / 4 || words[i] == OLD);
    finish(device);
    return 0;
}
