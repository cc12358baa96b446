/* Spends known processor time between launches: in a thread that launches kernels, in one that does not, and
 * in a kernel. */
#include <pthread.h>
#include <time.h>

#include "check.h"

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry turns(.param .u32 count) { .reg .b32 %r; .reg .pred %q; ld.param.u32 %r, [count];\n"
    "AGAIN: sub.u32 %r, %r, 1; setp.ne.u32 %q, %r, 0; @%q bra AGAIN; ret; }\n";

static CUfunction function;
static CUcontext context;

static void work(double seconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
}

static void launch(unsigned count)
{
    void *parameters[] = {&count};
    OK(cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    OK(cuCtxSynchronize());
}

static void *without_launches(void *unused)
{
    CUdevice device;
    OK(cuCtxSetCurrent(context));
    OK(cuCtxGetDevice(&device));
    work(1);
    OK(cuCtxGetDevice(&device));
    return unused;
}

int main(void)
{
    CUdevice device = start();
    CUmodule module;
    pthread_t thread;
    OK(cuCtxGetCurrent(&context));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, "turns"));
    launch(1);
    CHECK(!pthread_create(&thread, NULL, without_launches, NULL));
    launch(4000000); /* takes the device longer than that */
    work(0.5);
    launch(1);
    CHECK(!pthread_join(thread, NULL));
    finish(device);
    return 0;
}
