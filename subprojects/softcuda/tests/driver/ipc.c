/* Memory and events between processes. Breaks if another process sees other bytes, or too early; if a wait
 * for another process's record needs a host thread of that process to wait; or if what is freed, closed,
 * forged or left by a dead process is anything but an error. */
#include "check.h"

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL_BYTES 1000 /* several lie on one page */
#define LARGE_BYTES ((size_t)3 << 20)
#define ROUNDS 20

struct offer {
    CUipcMemHandle small, large;
    CUipcEventHandle event;
};

static int ends[2];

static void tell(int side, const void *what, size_t bytes)
{
    CHECK(write(ends[side], what, bytes) == (ssize_t)bytes);
}

static void hear(int side, void *what, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        ssize_t more = read(ends[side], (char *)what + got, bytes - got);
        if (!more) _exit(1); /* the other one has failed, and said so */
        CHECK(more > 0);
        got += (size_t)more;
    }
}

static unsigned char look(CUdeviceptr at, CUstream stream)
{
    unsigned char byte;
    OK(cuMemcpyDtoHAsync(&byte, at, 1, stream));
    OK(cuStreamSynchronize(stream));
    return byte;
}

static sem_t gate;

static void CUDA_CB wait_at_gate(void *unused)
{
    (void)unused;
    while (sem_wait(&gate)) {
    }
}

/* What is no handle of a living process's memory. */
static void forged(const struct offer *offer)
{
    CUdeviceptr at;
    CUevent event;
    CUipcMemHandle wrong = offer->large;
    CUipcEventHandle wrong_event = offer->event;
    memset(&wrong, 0, sizeof wrong);
    memset(&wrong_event, 0xff, sizeof wrong_event);
    CHECK(cuIpcOpenMemHandle(&at, wrong, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
    CHECK(cuIpcOpenEventHandle(&event, wrong_event) != CUDA_SUCCESS);
    FAILS(cuIpcOpenMemHandle(NULL, offer->large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuIpcCloseMemHandle(1 << 12), CUDA_ERROR_INVALID_VALUE);
}

/* Opens what it is offered, and answers in kind. */
static void import(void)
{
    struct offer offer;
    CUdeviceptr small, large, again;
    CUevent event;
    CUstream stream;
    CUdevice device = start();
    hear(1, &offer, sizeof offer);
    OK(cuIpcOpenMemHandle(&small, offer.small, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenMemHandle(&large, offer.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenMemHandle(&again, offer.large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(again == large);
    OK(cuIpcCloseMemHandle(again)); /* one of two */
    OK(cuIpcOpenEventHandle(&event, offer.event));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < ROUNDS; round++) {
        char go;
        hear(1, &go, 1);
        OK(cuStreamWaitEvent(stream, event, 0));
        FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY); /* the other one's gate is closed */
        FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        tell(1, &go, 1);
        CHECK(look(small + SMALL_BYTES - 1, stream) == 2 * round);
        CHECK(look(large + LARGE_BYTES - 1, stream) == 2 * round);
        OK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
        OK(cuMemsetD8Async(small, (unsigned char)(2 * round + 1), SMALL_BYTES, stream));
        OK(cuMemsetD8Async(large, (unsigned char)(2 * round + 1), LARGE_BYTES, stream));
        OK(cuEventRecord(event, stream)); /* its own turn: nobody waits for it here */
        tell(1, &go, 1);
        hear(1, &go, 1);
        CHECK(!sem_post(&gate));
    }
    forged(&offer);
    char go;
    hear(1, &go, 1);
    if (is_software(device)) CHECK(look(large + LARGE_BYTES / 2, stream) != 7); /* it was freed there */
    FAILS(cuMemFree(large), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcCloseMemHandle(small));
    OK(cuIpcCloseMemHandle(large));
    FAILS(cuIpcCloseMemHandle(large), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(stream));
    finish(device);
    tell(1, &go, 1);
}

static void offered(CUdeviceptr small, CUdeviceptr large, CUevent event, struct offer *offer)
{
    CUdeviceptr at;
    CUevent opened, plain;
    OK(cuIpcGetMemHandle(&offer->small, small));
    OK(cuIpcGetMemHandle(&offer->large, large));
    OK(cuIpcGetEventHandle(&offer->event, event));
    /* Not in the process itself. */
    CHECK(cuIpcOpenMemHandle(&at, offer->large, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
    CHECK(cuIpcOpenEventHandle(&opened, offer->event) != CUDA_SUCCESS);
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    CHECK(cuIpcGetEventHandle(&offer->event, plain) != CUDA_SUCCESS);
    OK(cuIpcGetEventHandle(&offer->event, event));
    OK(cuEventDestroy(plain));
    CHECK(cuEventCreate(&plain, CU_EVENT_INTERPROCESS) != CUDA_SUCCESS); /* it would be timed */
}

static void neighbours_kept(const CUdeviceptr *pieces, int count, int but)
{
    for (int i = 0; i < count; i++)
        if (i != but)
            CHECK(look(pieces[i], NULL) == 100 + i && look(pieces[i] + SMALL_BYTES - 1, NULL) == 100 + i);
}

/* Offers one of several pieces of a page, and a large one; each writes in turn. */
static void export(void)
{
    CUdevice device = start();
    CUdeviceptr pieces[5], large;
    CUevent event;
    CUstream stream;
    struct offer offer;
    for (int i = 0; i < 5; i++) {
        OK(cuMemAlloc(&pieces[i], SMALL_BYTES));
        OK(cuMemsetD8(pieces[i], (unsigned char)(100 + i), SMALL_BYTES));
    }
    OK(cuMemAlloc(&large, LARGE_BYTES));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    offered(pieces[2], large, event, &offer);
    neighbours_kept(pieces, 5, -1);
    tell(0, &offer, sizeof offer);
    for (int round = 0; round < ROUNDS; round++) {
        char go = 'g';
        OK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
        OK(cuMemsetD8Async(large, (unsigned char)(2 * round), LARGE_BYTES, stream));
        OK(cuMemsetD8Async(pieces[2], (unsigned char)(2 * round), SMALL_BYTES, stream));
        OK(cuEventRecord(event, stream)); /* and no wait for the device before the other one has answered */
        tell(0, &go, 1);
        hear(0, &go, 1);
        CHECK(!sem_post(&gate));
        hear(0, &go, 1);
        FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY); /* now the other one's is */
        if (round % 2) OK(cuStreamWaitEvent(stream, event, 0));
        tell(0, &go, 1);
        if (round % 2 == 0) {
            OK(cuEventSynchronize(event));
            OK(cuEventQuery(event));
        }
        CHECK(look(pieces[2] + SMALL_BYTES / 2, stream) == 2 * round + 1);
        CHECK(look(large + LARGE_BYTES / 2, stream) == 2 * round + 1);
    }
    neighbours_kept(pieces, 5, 2);
    bool early = is_software(device); /* others promise nothing where it is freed before it is closed */
    char go = 'g';
    if (!early) tell(0, &go, 1);
    if (!early) hear(0, &go, 1);
    OK(cuMemFree(pieces[2]));
    OK(cuMemFree(large));
    OK(cuMemAlloc(&large, LARGE_BYTES)); /* the same place, and nobody else's */
    OK(cuMemsetD8(large, 7, LARGE_BYTES));
    CHECK(look(large + LARGE_BYTES - 1, NULL) == 7);
    if (early) tell(0, &go, 1);
    if (early) hear(0, &go, 1);
    neighbours_kept(pieces, 5, 2);
    for (int i = 0; i < 5; i++)
        if (i != 2) OK(cuMemFree(pieces[i]));
    OK(cuMemFree(large));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(stream));
    finish(device);
}

int main(void)
{
    CHECK(!sem_init(&gate, 0, 0));
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pid_t child = fork();
    CHECK(child >= 0);
    close(ends[child ? 1 : 0]);
    if (!child) {
        import();
        return 0;
    }
    export();
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
