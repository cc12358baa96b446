/* Only on softcuda, while kernels need not be executed: a cubin (tests/cudart/coded.cu), loaded from its file
 * and from memory. Breaks if its kernels, parameters or variables cannot be asked for, if a damaged one is
 * loaded, or if a module's tables are gone before its last launch. Argument: the cubin. */
#include "check.h"

#include <stdint.h>

static void tells_parameters(CUfunction function)
{
    static const size_t wanted[][2] = {{0, 8}, {8, 1}, {16, 8}, {24, 8}};
    size_t offset, bytes;
    for (size_t i = 0; i < 4; i++) {
        OK(cuFuncGetParamInfo(function, i, &offset, &bytes));
        CHECK(offset == wanted[i][0] && bytes == wanted[i][1]);
    }
    FAILS(cuFuncGetParamInfo(function, 4, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    int value;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    CHECK(value == 1200);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 49152 - 1200);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
    CHECK(value == 90);
}

static void has_variables(CUmodule module)
{
    CUdeviceptr address;
    size_t bytes;
    float factors[5] = {0};
    int counter = 0;
    OK(cuModuleGetGlobal(&address, &bytes, module, "factors"));
    CHECK(bytes == sizeof factors);
    OK(cuMemcpyDtoH(factors, address, bytes));
    for (int i = 0; i < 5; i++) CHECK(factors[i] == (float)(i + 1));
    OK(cuModuleGetGlobal(&address, &bytes, module, "counter"));
    OK(cuMemcpyDtoH(&counter, address, sizeof counter));
    CHECK(counter == 7);
    FAILS(cuModuleGetGlobal(&address, &bytes, module, "mixed"), CUDA_ERROR_NOT_FOUND);
}

static CUresult launch(CUfunction function, CUdeviceptr memory)
{
    char choice = 1;
    double factor = 2;
    void *parameters[] = {&memory, &choice, &factor, &memory};
    return cuLaunchKernel(function, 1000, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
}

static void from_a_file(const char *path, CUdeviceptr memory)
{
    CUmodule module;
    CUfunction function;
    unsigned count;
    OK(cuModuleLoad(&module, path));
    OK(cuModuleGetFunctionCount(&count, module));
    CHECK(count == 4);
    OK(cuModuleGetFunction(&function, module, "mixed"));
    FAILS(cuModuleGetFunction(&function, module, "counter"), CUDA_ERROR_NOT_FOUND);
    tells_parameters(function);
    has_variables(module);
    OK(launch(function, memory));
    OK(launch(function, 1)); /* no address of anything: nothing is accessed */
    OK(cuModuleGetFunction(&function, module, "wide"));
    FAILS(cuLaunchKernel(function, 1, 1, 1, 257, 1, 1, 0, NULL, NULL, NULL),
          CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    OK(cuModuleUnload(module));
    OK(cuCtxSynchronize());
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    CHECK(file && !fseek(file, 0, SEEK_END));
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*bytes);
    CHECK(data && fread(data, 1, *bytes, file) == *bytes);
    fclose(file);
    return data;
}

/* A library's managed variables are there once, whatever loads it. */
static void from_memory(char *data, CUdeviceptr memory)
{
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr managed;
    size_t bytes;
    OK(cuLibraryLoadData(&library, data, NULL, NULL, 0, NULL, NULL, 0));
    memset(data, 0, 64); /* it was copied */
    OK(cuLibraryGetKernel(&kernel, library, "mixed"));
    OK(launch((CUfunction)kernel, memory));
    OK(cuLibraryGetManaged(&managed, &bytes, library, "shared_counter"));
    CHECK(bytes == sizeof(int) && *(int *)(uintptr_t)managed == 3);
    OK(cuLibraryUnload(library));
    OK(cuCtxSynchronize());
}

static void damaged(char *data)
{
    CUmodule module;
    uint64_t sections, far;
    memcpy(&sections, data + 40, sizeof sections);
    far = sections + (UINT64_C(1) << 40);
    memcpy(data + 40, &far, sizeof far);
    FAILS(cuModuleLoadData(&module, data), CUDA_ERROR_INVALID_IMAGE);
    memcpy(data + 40, &sections, sizeof sections);
    data[18] = 62; /* a program of the CPU */
    FAILS(cuModuleLoadData(&module, data), CUDA_ERROR_INVALID_IMAGE);
    data[18] = (char)190;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    only_in_software(start());
    CUdeviceptr memory;
    size_t bytes;
    OK(cuMemAlloc(&memory, 1 << 20));
    from_a_file(argv[1], memory);
    char *data = read_file(argv[1], &bytes);
    damaged(data);
    from_memory(data, memory);
    free(data);
    OK(cuMemFree(memory));
    return 0;
}
