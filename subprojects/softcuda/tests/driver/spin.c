/* Only on softcuda: a block that waits for what no other block can do is ended after SOFTCUDA_WATCHDOG
 * instructions, however the kernel waits. */
#include "check.h"

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* until somebody writes to p */
    ".visible .entry loads(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; .reg .pred %q; ld.param.u64 %d, "
    "[p];\n"
    "AGAIN: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra AGAIN; ret; }\n"
    /* a lock that is never given back */
    ".visible .entry locks(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; .reg .pred %q; ld.param.u64 %d, "
    "[p];\n"
    "AGAIN: atom.global.cas.b32 %r, [%d], 0, 1; setp.ne.u32 %q, %r, 0; @%q bra AGAIN; ret; }\n"
    /* nothing at all */
    ".visible .entry turns(.param .u64 p) { AGAIN: bra AGAIN; }\n";

static void expect_timeout(CUdevice device, const char *kernel)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory, more;
    OK(cuCtxCreate(&context, NULL, 0, device));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, kernel));
    OK(cuMemAlloc(&memory, 4));
    OK(cuMemsetD32(memory, 0, 1));
    void *parameters[] = {&memory};
    OK(cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
    FAILS(cuMemAlloc(&more, 4), CUDA_ERROR_LAUNCH_TIMEOUT);
    OK(cuCtxDestroy(context));
}

int main(void)
{
    CUdevice device = start();
    only_in_software(device);
    expect_timeout(device, "loads");
    expect_timeout(device, "locks");
    expect_timeout(device, "turns");
    finish(device);
    return 0;
}
