/* Processes on one device: what one has allocated the others cannot have, and see as taken; what a process
 * had that was killed is free again. The program starts itself for the others: `dN` allocates N MiB of device
 * memory, `mN` has so much managed memory there; it says so, and waits to be killed. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

static CUdeviceptr hold(size_t bytes)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory, bytes));
    return memory;
}

static size_t free_bytes(void)
{
    size_t available, total;
    OK(cuMemGetInfo(&available, &total));
    return available;
}

static pid_t start_holder(const char *program, const char *bytes)
{
    int said[2];
    char byte;
    CHECK(pipe(said) == 0);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* where a check fails */
        dup2(said[1], STDOUT_FILENO);
        execl(program, program, bytes, (char *)NULL);
        _exit(1);
    }
    close(said[1]);
    CHECK(read(said[0], &byte, 1) == 1);
    close(said[0]);
    return child;
}

/* Managed memory on the device. */
static void hold_managed(size_t bytes)
{
    CUdeviceptr memory;
    OK(cuMemFree(hold(512)));
    OK(cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemPrefetchAsync(memory, bytes, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, 0,
                          NULL));
    OK(cuCtxSynchronize());
}

int main(int count, char **arguments)
{
    if (count > 1) {
        size_t bytes = (size_t)atol(arguments[1] + 1) * MIB;
        if (*arguments[1] == 'm')
            hold_managed(bytes);
        else
            hold(bytes);
        CHECK(write(STDOUT_FILENO, "x", 1) == 1);
        for (;;) pause();
    }
    CUdeviceptr memory = hold(8 * MIB), more;
    size_t alone = free_bytes();
    pid_t other = start_holder(arguments[0], "d40");
    size_t beside = free_bytes();
    printf("%zu MiB free, %zu beside another\n", alone / MIB, beside / MIB);
    CHECK(beside <= alone - 40 * MIB);
    FAILS(cuMemAlloc(&more, beside + 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&more, beside - 2 * MIB));
    OK(cuMemFree(more));
    pid_t third = start_holder(arguments[0], "m4");
    CHECK(free_bytes() <= beside - 4 * MIB);
    CHECK(kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other);
    OK(cuMemAlloc(&more, beside + 2 * MIB)); /* at once, though nobody has asked what is free */
    CHECK(kill(third, SIGKILL) == 0 && waitpid(third, NULL, 0) == third);
    OK(cuMemFree(more));
    CHECK(free_bytes() == alone);
    OK(cuMemFree(memory));
    return 0;
}
