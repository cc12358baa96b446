/* Only on softcuda: a process that recorded an interprocess event dies before it gets there. Breaks if
 * whoever waits for it, on the host or in a stream, waits for ever, or if the dead one's memory can still be
 * opened. */
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

struct offer {
    CUipcMemHandle memory;
    CUipcEventHandle event;
};

static void CUDA_CB never_return(void *unused)
{
    (void)unused;
    for (;;) pause();
}

static void record_and_stay(int to)
{
    CUdeviceptr memory;
    CUevent event;
    CUstream stream;
    struct offer offer;
    start();
    OK(cuMemAlloc(&memory, 1 << 20));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(cuIpcGetMemHandle(&offer.memory, memory));
    OK(cuIpcGetEventHandle(&offer.event, event));
    OK(cuLaunchHostFunc(stream, never_return, NULL));
    OK(cuEventRecord(event, stream));
    CHECK(write(to, &offer, sizeof offer) == sizeof offer);
    for (;;) pause();
}

static void kill_and_wait(pid_t child)
{
    CHECK(!kill(child, SIGKILL));
    CHECK(waitpid(child, NULL, 0) == child);
}

int main(int count, char **arguments)
{
    int ends[2];
    struct offer offer;
    CUevent event;
    CUstream stream;
    CUdeviceptr opened, memory;
    bool in_stream = count > 1 && !strcmp(arguments[1], "stream");
    CHECK(!pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) record_and_stay(ends[1]);
    close(ends[1]);
    CUdevice device = start();
    only_in_software(device);
    CHECK(read(ends[0], &offer, sizeof offer) == sizeof offer);
    OK(cuIpcOpenEventHandle(&event, offer.event));
    OK(cuIpcOpenMemHandle(&opened, offer.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    if (in_stream) OK(cuStreamWaitEvent(stream, event, 0));
    kill_and_wait(child);
    if (in_stream)
        FAILS(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_TIMEOUT);
    else
        FAILS(cuEventSynchronize(event), CUDA_ERROR_LAUNCH_TIMEOUT);
    if (in_stream) return 0; /* the context is lost with it */
    /* What is open stays; what is not cannot be opened any more. */
    OK(cuMemsetD8(opened, 1, 1 << 20));
    OK(cuCtxSynchronize());
    OK(cuIpcCloseMemHandle(opened));
    FAILS(cuIpcOpenMemHandle(&memory, offer.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuEventDestroy(event));
    finish(device);
    return 0;
}
