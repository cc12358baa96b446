/* One call of the driver in a steady program, in a function of its own: what callgrind counts of it is what
 * the call walks through (see walks.py).
 *
 * usage: walk launch | allocation | free | steps
 *
 * steps: only the program, for what happens in it now and then. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "must.h"

enum { TENSORS = 16, TENSOR_BYTES = 2 << 20, TEMPORARY_BYTES = 1 << 20, STEPS = 40, POINTERS = 4 };

static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry four(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }\n";

static CUfunction function;
static CUdeviceptr tensors[TENSORS], temporary;

/* The counted calls. */

__attribute__((noinline)) static void walk_launch(void **parameters)
{
    must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

__attribute__((noinline)) static void walk_allocation(void)
{
    must(cuMemAlloc(&temporary, TEMPORARY_BYTES));
}

__attribute__((noinline)) static void walk_free(void)
{
    must(cuMemFree(temporary));
}

static void step(const char *counted)
{
    if (!strcmp(counted, "allocation"))
        walk_allocation();
    else
        must(cuMemAlloc(&temporary, TEMPORARY_BYTES));
    for (int i = 0; i < TENSORS; i++) {
        void *parameters[POINTERS] = {&temporary};
        for (int p = 1; p < POINTERS; p++) parameters[p] = &tensors[(i + p) % TENSORS];
        if (!strcmp(counted, "launch") && i == TENSORS / 2)
            walk_launch(parameters);
        else
            must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    }
    if (!strcmp(counted, "free"))
        walk_free();
    else
        must(cuMemFree(temporary));
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    if (argc != 2) return 2;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, ptx));
    must(cuModuleGetFunction(&function, module, "four"));
    for (int t = 0; t < TENSORS; t++) must(cuMemAlloc(&tensors[t], TENSOR_BYTES));
    for (int i = 0; i < STEPS; i++) step("");
    step(argv[1]);
    must(cuCtxSynchronize());
    return 0;
}
