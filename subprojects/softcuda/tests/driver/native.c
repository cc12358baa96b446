/* Only on softcuda: kernels written in C, as softcuda's own libraries bring them. Breaks if they are run from
 * an image that nobody announced, if a launch reaches memory that is not there, if their parameters cannot be
 * asked for, or if pieces are lost between the workers. */
#include "check.h"
#include "native.h"

#include <stddef.h>

struct add {
    uint64_t to, from;
    uint32_t count, amount;
};

static const struct sc_parameter add_parameters[] = {
    {offsetof(struct add, to), 8},
    {offsetof(struct add, from), 8},
    {offsetof(struct add, count), 4},
    {offsetof(struct add, amount), 4},
};

static bool add_describe(struct sc_native_launch *launch)
{
    const struct add *add = launch->parameters;
    uint64_t bytes = add->count * sizeof(uint32_t);
    launch->flops += add->count;
    struct sc_native_access to = {add->to, bytes, bytes, 1, .writes = true};
    struct sc_native_access from = {add->from, sizeof(uint32_t), sizeof(uint32_t), add->count, .reads = true};
    return launch->touch(launch, &to) && launch->touch(launch, &from);
}

static void add_one(void *context, uint32_t index)
{
    const struct add *add = context;
    ((uint32_t *)add->to)[index] = ((const uint32_t *)add->from)[index] + add->amount;
}

static bool add_run(struct sc_native_launch *launch)
{
    const struct add *add = launch->parameters;
    launch->parallel(launch, add->count, add_one, (void *)add);
    return true;
}

static const struct sc_native_kernel kernel_list[] = {
    {"add", add_parameters, 4, sizeof(struct add), add_describe, add_run},
};
/* Bytes that a reader of fat binaries may look at follow the one that nobody announces. */
static const struct {
    struct sc_native_image image;
    char rest[4096];
} stranger = {{SC_NATIVE_MAGIC, kernel_list, 1}, ""};
static const struct sc_native_image image = {SC_NATIVE_MAGIC, kernel_list, 1};

#define COUNT 5000

static CUresult launch(CUfunction function, CUdeviceptr to, CUdeviceptr from, uint32_t count)
{
    uint32_t amount = 7;
    void *parameters[] = {&to, &from, &count, &amount};
    CUresult result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    return result ? result : cuCtxSynchronize();
}

static void adds(CUfunction function, CUdeviceptr to, CUdeviceptr from)
{
    uint32_t numbers[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i * i;
    OK(cuMemcpyHtoD(from, numbers, sizeof numbers));
    OK(launch(function, to, from, COUNT));
    memset(numbers, 0, sizeof numbers);
    OK(cuMemcpyDtoH(numbers, to, sizeof numbers));
    for (uint32_t i = 0; i < COUNT; i++) CHECK(numbers[i] == i * i + 7);
}

static void tells_parameters(CUfunction function)
{
    size_t offset, bytes;
    const char *name;
    OK(cuFuncGetName(&name, function));
    CHECK(!strcmp(name, "add"));
    OK(cuFuncGetParamInfo(function, 3, &offset, &bytes));
    CHECK(offset == offsetof(struct add, amount) && bytes == 4);
    FAILS(cuFuncGetParamInfo(function, 4, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUdevice device = start();
    only_in_software(device);
    CUuuid id = {.bytes = SC_NATIVE_TABLE_ID};
    const void *found;
    OK(cuGetExportTable(&found, &id));
    const struct sc_native_table *table = found;
    CHECK(table->bytes >= sizeof *table);
    CHECK(table->trust(&image));
    CHECK(!table->trust((const struct sc_native_image *)stranger.rest));

    CUmodule module;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    FAILS(cuModuleLoadData(&module, &stranger), CUDA_ERROR_INVALID_IMAGE);
    OK(cuModuleLoadData(&module, &image));
    OK(cuModuleGetFunction(&function, module, "add"));
    OK(cuLibraryLoadData(&library, &image, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "add"));
    tells_parameters(function);

    CUdeviceptr to, from, managed;
    OK(cuMemAlloc(&to, COUNT * sizeof(uint32_t)));
    OK(cuMemAlloc(&from, COUNT * sizeof(uint32_t)));
    OK(cuMemAllocManaged(&managed, COUNT * sizeof(uint32_t), CU_MEM_ATTACH_GLOBAL));
    adds(function, to, from);
    adds((CUfunction)kernel, managed, from);
    adds(function, to, managed);
    OK(launch(function, 0, 0, 0));
    FAILS(launch(function, to, from, COUNT + 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    return 0;
}
