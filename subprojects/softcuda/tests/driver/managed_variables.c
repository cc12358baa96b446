/* Breaks if the managed variables of a module are not managed memory with their initial values, or if a
 * library's are not the same ones in every context. */
#include "check.h"

static const char text[] = ".version 7.0\n"
                           ".target sm_75\n"
                           ".address_size 64\n"
                           ".visible .global .align 4 .u32 plain = 6;\n"
                           ".visible .global .attribute(.managed) .align 4 .u32 number = 5;\n"
                           ".visible .global .attribute(.managed) .align 8 .b8 large[5000000];\n"
                           ".visible .entry step()\n"
                           "{\n"
                           "  .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
                           "  ld.global.u32 %r1, [number];\n"
                           "  ld.global.u32 %r2, [plain];\n"
                           "  add.u32 %r1, %r1, %r2;\n"
                           "  st.global.u32 [number], %r1;\n"
                           "  mov.u64 %rd1, large;\n"
                           "  st.global.u32 [%rd1+4999996], %r1;\n"
                           "  ret;\n"
                           "}\n";

static void expect_managed(CUdeviceptr address)
{
    int managed = 0;
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    CHECK(managed == 1);
}

static void run(CUfunction step)
{
    OK(cuLaunchKernel(step, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
}

static void module(void)
{
    CUmodule module;
    CUfunction step;
    CUdeviceptr number, large;
    size_t bytes;
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&step, module, "step"));
    OK(cuModuleGetGlobal(&number, &bytes, module, "number"));
    CHECK(bytes == 4);
    expect_managed(number);
    OK(cuModuleGetGlobal(&large, &bytes, module, "large"));
    CHECK(bytes == 5000000);
    CHECK(*(unsigned *)number == 5);
    run(step);
    CHECK(*(unsigned *)number == 11 && *(unsigned *)(large + 4999996) == 11);
    FAILS(cuMemFree(number), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleUnload(module));
}

static void library(CUdevice device)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction step;
    CUdeviceptr first, second;
    size_t bytes;
    CUcontext other;
    OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "step"));
    OK(cuLibraryGetManaged(&first, &bytes, library, "number"));
    CHECK(bytes == 4);
    expect_managed(first);
    FAILS(cuLibraryGetManaged(&second, &bytes, library, "plain"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuLibraryGetManaged(&second, &bytes, library, "none"), CUDA_ERROR_NOT_FOUND);
    OK(cuKernelGetFunction(&step, kernel));
    run(step);
    OK(cuCtxCreate(&other, NULL, 0, device));
    OK(cuKernelGetFunction(&step, kernel));
    OK(cuLibraryGetManaged(&second, NULL, library, "number"));
    CHECK(second == first && *(unsigned *)first == 11);
    run(step);
    OK(cuCtxDestroy(other));
    CHECK(*(unsigned *)first == 17);
    OK(cuLibraryUnload(library));
}

int main(void)
{
    CUdevice device = start();
    module();
    library(device);
    finish(device);
    return 0;
}
