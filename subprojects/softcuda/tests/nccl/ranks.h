/* For test programs of NCCL: starts ranks as processes, as threads of one process, or as devices of one
 * thread. They know nothing of softcuda, so that the same binaries run on GPUs, one a rank. */
#ifndef RANKS_H
#define RANKS_H

#include "../driver/check.h"

#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define NCCL(call) expect_nccl(call, ncclSuccess, #call, __FILE__, __LINE__)
#define NCCL_IS(call, wanted) expect_nccl(call, wanted, #call, __FILE__, __LINE__)

static inline void expect_nccl(ncclResult_t result, ncclResult_t wanted, const char *call, const char *file,
                               int line)
{
    if (result == wanted) return;
    fprintf(stderr, "%s:%d: %s returned %d (%s), not %d\n", file, line, call, result,
            ncclGetErrorString(result), wanted);
    exit(1);
}

/* One rank, as the test sees it. */
struct rank {
    int rank, ranks;
    ncclUniqueId id;
    CUcontext context;
    ncclComm_t comm;
    CUstream stream;
};

/* What a test does with those ranks that one thread has. Without communicators unless `make_comms` is called.
 */
typedef void work_of_ranks(struct rank *ranks, int count);

static inline void use_device(struct rank *rank)
{
    int devices;
    CUdevice device;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    OK(cuDeviceGet(&device, rank->rank % devices));
    OK(cuDevicePrimaryCtxRetain(&rank->context, device));
    OK(cuCtxSetCurrent(rank->context));
}

static inline void make_comms(struct rank *ranks, int count)
{
    NCCL(ncclGroupStart());
    for (int i = 0; i < count; i++) {
        use_device(&ranks[i]);
        OK(cuStreamCreate(&ranks[i].stream, CU_STREAM_NON_BLOCKING));
        NCCL(ncclCommInitRank(&ranks[i].comm, ranks[i].ranks, ranks[i].id, ranks[i].rank));
    }
    NCCL(ncclGroupEnd());
}

static inline void destroy_comms(struct rank *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        OK(cuCtxSetCurrent(ranks[i].context));
        OK(cuStreamSynchronize(ranks[i].stream));
        NCCL(ncclCommDestroy(ranks[i].comm));
        OK(cuStreamDestroy(ranks[i].stream));
    }
}

struct thread_of_rank {
    pthread_t thread;
    struct rank rank;
    work_of_ranks *work;
};

static inline void *run_thread(void *argument)
{
    struct thread_of_rank *self = argument;
    self->work(&self->rank, 1);
    return NULL;
}

#define MOST_RANKS 8

/* Ranks of one process need a device each: on one, cuMemFree of the first would wait for the second's kernel.
 */
static inline void need_devices(int ranks)
{
    int devices;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    if (devices < ranks) exit(77);
}

static inline void run_threads(int ranks, work_of_ranks *work)
{
    struct thread_of_rank threads[MOST_RANKS];
    ncclUniqueId id;
    need_devices(ranks);
    NCCL(ncclGetUniqueId(&id));
    for (int i = 0; i < ranks; i++) {
        threads[i] = (struct thread_of_rank){.rank = {.rank = i, .ranks = ranks, .id = id}, .work = work};
        CHECK(!pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]));
    }
    for (int i = 0; i < ranks; i++) pthread_join(threads[i].thread, NULL);
}

static inline void run_devices(int ranks, work_of_ranks *work)
{
    struct rank all[MOST_RANKS];
    ncclUniqueId id;
    need_devices(ranks);
    NCCL(ncclGetUniqueId(&id));
    for (int i = 0; i < ranks; i++) all[i] = (struct rank){.rank = i, .ranks = ranks, .id = id};
    work(all, ranks);
}

/* Starts a rank's process, which does not touch CUDA before the id has come through a pipe. Rank 0 makes it.
 */
static inline pid_t start_process(int rank, int ranks, int pipes[][2], work_of_ranks *work)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child) return child;
    struct rank self = {.rank = rank, .ranks = ranks};
    if (rank == 0) {
        NCCL(ncclGetUniqueId(&self.id));
        for (int i = 1; i < ranks; i++) CHECK(write(pipes[i][1], &self.id, sizeof self.id) == sizeof self.id);
    } else {
        CHECK(read(pipes[rank][0], &self.id, sizeof self.id) == sizeof self.id);
    }
    work(&self, 1);
    exit(0);
}

static inline void start_processes(int ranks, work_of_ranks *work, pid_t *children)
{
    int pipes[MOST_RANKS][2];
    for (int i = 0; i < ranks; i++) CHECK(!pipe(pipes[i]));
    for (int i = 0; i < ranks; i++) children[i] = start_process(i, ranks, pipes, work);
    for (int i = 0; i < ranks; i++) close(pipes[i][0]), close(pipes[i][1]);
}

/* 0 if all ended well. */
static inline int await_processes(const pid_t *children, int ranks)
{
    int worst = 0;
    for (int i = 0; i < ranks; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (!WIFEXITED(status)) fprintf(stderr, "rank %d ended by signal %d\n", i, WTERMSIG(status));
        if (!worst) worst = code;
    }
    return worst;
}

/* `mode`: processes, threads or devices. The program ends by an alarm if nothing goes on any more. */
static inline int run_ranks(const char *mode, int ranks, work_of_ranks *work)
{
    pid_t children[MOST_RANKS];
    alarm(100);
    CHECK(ranks <= MOST_RANKS);
    if (!strcmp(mode, "threads")) {
        run_threads(ranks, work);
    } else if (!strcmp(mode, "devices")) {
        run_devices(ranks, work);
    } else {
        start_processes(ranks, work, children);
        return await_processes(children, ranks);
    }
    return 0;
}

#endif
