/* Ranks that are killed, or leave, while others wait for them: at many places, among them before all have
 * come. Breaks if a survivor waits for ever or goes on as if nothing had happened, or if anything of an ended
 * communicator stays in /dev/shm.
 *
 * Usage: deaths TURNS */
#include "ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

#define RANKS 3
#define PREFIX "softcuda-nccl-"

static unsigned turn; /* decides who dies, and when */

/* Segments that nobody uses: those of other programs are locked by their ranks. */
static unsigned segments(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/dev/shm");
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX))) continue;
        int file = openat(dirfd(folder), entry->d_name, O_RDWR);
        count += file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
        if (file >= 0) close(file);
    }
    if (folder) closedir(folder);
    return count;
}

/* After so many sums this rank dies. */
static int last_sum(const struct rank *rank)
{
    return rank->rank == (int)(turn % RANKS) ? (int)(turn / RANKS % 7) : -1;
}

static void die(void)
{
    raise(SIGKILL);
}

/* A thread that kills the process in the middle of a transfer. */
static void *die_later(void *loops)
{
    for (volatile unsigned i = 0; i < *(unsigned *)loops; i++) continue;
    die();
    return NULL;
}

/* Sums until one fails, which one must. `turn` decides whether the program aborts then, or sees its device
 * fault. */
static void sum_until_error(struct rank *rank, int count)
{
    enum { SUMS = 400, INTS = 200000 };
    CUdeviceptr memory;
    pthread_t thread;
    static unsigned loops;
    loops = turn * 7919 % 997 * 20000;
    make_comms(rank, count);
    OK(cuMemAlloc(&memory, INTS * sizeof(int)));
    int last = last_sum(rank);
    if (last == 6) CHECK(!pthread_create(&thread, NULL, die_later, &loops));
    ncclResult_t error = ncclSuccess;
    for (int i = 0; !error; i++) {
        if (i == last && last != 6) die();
        error =
            ncclAllReduce((void *)memory, (void *)memory, INTS, ncclInt32, ncclSum, rank->comm, rank->stream);
        while (!error && cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY)
            NCCL(ncclCommGetAsyncError(rank->comm, &error));
        if (!error && cuStreamQuery(rank->stream)) error = ncclUnhandledCudaError;
    }
    if (turn & 1) {
        CUresult result = cuStreamSynchronize(rank->stream);
        CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_LAUNCH_TIMEOUT);
        NCCL(ncclCommGetAsyncError(rank->comm, &error));
        NCCL_IS(error, ncclRemoteError);
        NCCL_IS(
            ncclAllReduce((void *)memory, (void *)memory, 1, ncclInt32, ncclSum, rank->comm, rank->stream),
            ncclRemoteError);
    }
    NCCL(ncclCommAbort(rank->comm));
}

static int come[2]; /* a pipe: rank 1 is there */

/* Of three ranks the last never comes. The first dies when the second is there, which gets an error then. */
static void dies_before_all_come(struct rank *rank, int count)
{
    (void)count;
    char byte = 0;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t error = ncclInProgress;
    config.blocking = 0;
    if (rank->rank == 2) exit(0);
    use_device(rank);
    NCCL_IS(ncclCommInitRankConfig(&rank->comm, RANKS, rank->id, rank->rank, &config), ncclInProgress);
    if (rank->rank == 0) {
        CHECK(read(come[0], &byte, 1) == 1);
        die();
    }
    CHECK(write(come[1], &byte, 1) == 1);
    while (error == ncclInProgress) NCCL(ncclCommGetAsyncError(rank->comm, &error));
    NCCL_IS(error, ncclRemoteError);
    NCCL_IS(ncclBcast(NULL, 1, ncclInt32, 0, rank->comm, NULL), ncclRemoteError);
    NCCL(ncclCommAbort(rank->comm));
}

/* A rank destroys its communicator and ends while the others still send to each other: they never notice. */
static void leaves_early(struct rank *rank, int count)
{
    enum { INTS = 100000 };
    CUdeviceptr memory;
    ncclResult_t error;
    make_comms(rank, count);
    OK(cuMemAlloc(&memory, INTS * sizeof(int)));
    NCCL(ncclBcast((void *)memory, INTS, ncclInt32, 0, rank->comm, rank->stream));
    OK(cuStreamSynchronize(rank->stream));
    if (rank->rank == 0 && turn & 1) exit(0); /* without a word */
    for (int i = 0; i < 20 && rank->rank; i++) {
        if ((rank->rank == 1) == (i & 1))
            NCCL(ncclSend((void *)memory, INTS, ncclInt32, 3 - rank->rank, rank->comm, rank->stream));
        else
            NCCL(ncclRecv((void *)memory, INTS, ncclInt32, 3 - rank->rank, rank->comm, rank->stream));
        OK(cuStreamSynchronize(rank->stream));
        NCCL(ncclCommGetAsyncError(rank->comm, &error));
        NCCL(error);
    }
    destroy_comms(rank, count);
}

/* Whoever was killed ended by that signal; the others are content. */
static void check(const pid_t *children, int killed)
{
    for (int i = 0; i < RANKS; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        if (i == killed)
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    unsigned turns = (unsigned)atoi(argv[1]);
    pid_t children[RANKS];
    alarm(100);
    for (turn = 0; turn < turns; turn++) {
        start_processes(RANKS, sum_until_error, children);
        check(children, (int)(turn % RANKS));
        CHECK(segments() == 0);
    }
    /* What they leave behind is removed when the next communicator comes about. */
    CHECK(!pipe(come));
    start_processes(RANKS, dies_before_all_come, children);
    check(children, 0);
    CHECK(segments() <= 1);
    for (turn = 0; turn < 4; turn++) {
        start_processes(RANKS, leaves_early, children);
        check(children, -1);
        CHECK(segments() == 0);
    }
    return 0;
}
