/* Breaks if PTX texts given to the linker do not become one module, or if it accepts what does not fit
 * together. */
#include "check.h"

#include <string.h>

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char user[] = HEAD
    ".extern .func (.param .b32 r) twice(.param .b32 a);\n.extern .global .align 4 .u32 cell;\n"
    ".visible .entry k(.param .u32 x)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [x];\n"
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r2, [b]; }\n"
    "st.global.u32 [cell], %r2;\nret;\n}\n";
static const char maker[] =
    HEAD ".visible .global .align 4 .u32 cell;\n"
         ".visible .func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [a];\n"
         "add.u32 %r1, %r1, %r1;\nst.param.b32 [r], %r1;\nret;\n}\n";

static void link_and_run(void)
{
    CUlinkState state;
    CUmodule module;
    CUfunction function;
    CUdeviceptr cell;
    void *image, *parameters[1];
    size_t bytes = 0;
    unsigned x = 21, got = 0;
    OK(cuLinkCreate(0, NULL, NULL, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)user, sizeof user, "user", 0, NULL, NULL));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)maker, sizeof maker, "maker", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &bytes));
    CHECK(bytes > 0);
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(state));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuModuleGetGlobal(&cell, NULL, module, "cell"));
    parameters[0] = &x;
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(&got, cell, sizeof got));
    CHECK(got == 42);
    OK(cuModuleUnload(module));
}

static void link_what_is_missing(void)
{
    CUlinkState state;
    char log[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log}, *image = NULL;
    size_t bytes;
    OK(cuLinkCreate(2, options, values, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)user, sizeof user, "user", 0, NULL, NULL));
    CHECK(cuLinkComplete(state, &image, &bytes) != CUDA_SUCCESS);
    CHECK(strstr(log, "twice") != NULL);
    OK(cuLinkDestroy(state));
    FAILS(cuLinkAddFile(NULL, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLinkCreate(0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUdevice device = start();
    link_and_run();
    link_what_is_missing();
    finish(device);
    return 0;
}
