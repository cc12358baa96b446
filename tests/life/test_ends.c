/* The ends that a training program can come to while data is on its way and its other threads are in the
 * middle of calls. test-ends END: comes to that end. test-ends END TIMES: runs itself so often; each time the
 * status must be the end's own, and nothing may be written. */
#include "trainer.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_STATUS = 7, LONGEST_S = 120, SPARES = 2 };

static struct trainer trainer;
static CUdeviceptr spare[SPARES]; /* freed after the end; no other thread uses them */
static int spares;
static sem_t busy; /* posted by each thread that has gone round once */

/* --- what other threads do meanwhile: round and round, until a call fails because the driver has ended */

static CUresult launch(CUstream stream)
{
    (void)stream;
    CUresult result = trainer_steps(&trainer, 4);
    return result ? result : cuStreamSynchronize(trainer.stream);
}

static CUresult allocate(CUstream stream)
{
    CUdeviceptr plain, ordered;
    CUresult result = cuMemAlloc(&plain, 5 << 20);
    if (!result) result = cuMemAllocAsync(&ordered, 3 << 20, stream);
    if (!result) result = cuMemsetD32Async(ordered, 1, 1024, stream);
    if (!result) result = cuMemsetD32Async(plain, 1, 1024, stream);
    if (!result) result = cuMemFreeAsync(ordered, stream);
    return result ? result : cuMemFree(plain);
}

static CUresult wait_for_it(CUstream stream)
{
    CUresult result = cuMemsetD32Async(trainer.blocks[0] + (1 << 20), 2, 1024, stream);
    return result ? result : cuStreamSynchronize(stream);
}

static CUresult capture(CUstream stream)
{
    CUgraph graph;
    CUgraphExec executable;
    CUresult result = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (!result) result = cuMemsetD32Async(trainer.blocks[1] + (1 << 20), 3, 1024, stream);
    if (!result) result = cuStreamEndCapture(stream, &graph);
    if (!result) result = cuGraphInstantiate(&executable, graph, 0);
    if (!result) result = cuGraphLaunch(executable, stream);
    if (!result) result = cuGraphExecDestroy(executable);
    return result ? result : cuGraphDestroy(graph);
}

static void call_back(void *unused)
{
    (void)unused;
}

static CUresult ask(CUstream stream)
{
    size_t available, total;
    CUdeviceptr begin;
    CUresult result = cuMemGetInfo(&available, &total);
    if (!result) result = cuMemGetAddressRange(&begin, &total, trainer.blocks[2]);
    if (!result) result = cuLaunchHostFunc(stream, call_back, NULL);
    /* Else this thread's functions, which take no time to submit, are nearly all that the device does. */
    return result ? result : cuStreamSynchronize(stream);
}

static CUresult (*const rounds[])(CUstream) = {launch, allocate, wait_for_it, capture, ask};
enum { THREADS = sizeof rounds / sizeof *rounds };

static void *go_round(void *argument)
{
    CUresult (*round)(CUstream) = *(CUresult(*const *)(CUstream))argument;
    CUstream stream;
    must(!trainer_enter(&trainer) && !cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) && !round(stream));
    must(!sem_post(&busy));
    while (!round(stream)) {
    }
    for (;;) pause();
    return NULL;
}

static void start(void *(*body)(void *), const void *argument)
{
    pthread_t thread;
    must(!pthread_create(&thread, NULL, body, (void *)argument) && !pthread_detach(thread));
}

static void keep_busy(void)
{
    must(!sem_init(&busy, 0, 0));
    for (int i = 0; i < THREADS; i++) start(go_round, &rounds[i]);
    for (int i = 0; i < THREADS; i++)
        while (sem_wait(&busy)) must(errno == EINTR);
    must(!trainer_steps(&trainer, 2));
}

/* --- the ends, in the main thread */

static void in_main(void)
{
    exit(OWN_STATUS);
}

static void return_from_main(void) {}

static void quickly(void)
{
    quick_exit(OWN_STATUS);
}

static void at_once(void)
{
    _exit(OWN_STATUS);
}

static void *exit_here(void *unused)
{
    (void)unused;
    exit(OWN_STATUS);
}

static void in_another_thread(void)
{
    start(exit_here, NULL);
    while (trainer_steps(&trainer, 1) == CUDA_SUCCESS) {
    }
    for (;;) pause();
}

/* The process goes on without its main thread. */
static void without_main(void)
{
    start(exit_here, NULL);
    pthread_exit(NULL);
}

static void by_a_signal(void)
{
    must(!kill(getpid(), SIGTERM));
    for (;;) trainer_steps(&trainer, 1);
}

static void handle(int signal)
{
    (void)signal;
    _exit(OWN_STATUS);
}

static void *interrupt(void *thread)
{
    must(!pthread_kill(*(const pthread_t *)thread, SIGUSR1));
    for (;;) pause();
    return NULL;
}

static void in_a_handler(void)
{
    pthread_t self = pthread_self();
    must(signal(SIGUSR1, handle) != SIG_ERR);
    start(interrupt, &self);
    for (;;) trainer_steps(&trainer, 1);
}

static void by_abort(void)
{
    must(!setrlimit(RLIMIT_CORE, &(struct rlimit){0}));
    abort();
}

static void as_another_program(void)
{
    unsetenv("LD_PRELOAD");
    execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
}

static const struct end {
    const char *name;
    void (*come)(void);
    int status, signal;
} ends[] = {
    {"exit", in_main, OWN_STATUS, 0},
    {"return", return_from_main, OWN_STATUS, 0},
    {"quick-exit", quickly, OWN_STATUS, 0},
    {"underscore-exit", at_once, OWN_STATUS, 0},
    {"thread", in_another_thread, OWN_STATUS, 0},
    {"without-main", without_main, OWN_STATUS, 0},
    {"signal", by_a_signal, 0, SIGTERM},
    {"handler", in_a_handler, OWN_STATUS, 0},
    {"abort", by_abort, 0, SIGABRT},
    {"exec", as_another_program, OWN_STATUS, 0},
};

/* --- after the end */

static void free_block(void)
{
    cuMemFree(spare[--spares]);
}

static void train_more(void)
{
    trainer_steps(&trainer, 2);
}

__attribute__((destructor)) static void last_of_all(void)
{
    if (!trainer.context) return;
    trainer_steps(&trainer, 1);
    free_block();
}

static int come_to(const struct end *end)
{
    alarm(LONGEST_S);
    atexit(free_block); /* runs after what the driver registered, */
    must(!trainer_start(&trainer));
    for (; spares < SPARES; spares++) must(!cuMemAlloc(&spare[spares], 1 << 20));
    atexit(train_more); /* and this before */
    keep_busy();
    end->come();
    return OWN_STATUS;
}

/* False: with a line on stderr. */
static bool comes_as_it_should(const struct end *end)
{
    char *arguments[] = {"test-ends", (char *)end->name, NULL}, text[4096] = "";
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status, said = memfd_create("said", MFD_CLOEXEC);
    must(said >= 0 && !posix_spawn_file_actions_init(&actions) &&
         !posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO) &&
         !posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ) &&
         waitpid(child, &status, 0) == child);
    posix_spawn_file_actions_destroy(&actions);
    ssize_t length = pread(said, text, sizeof text - 1, 0);
    close(said);
    bool as_it_should = end->signal ? WIFSIGNALED(status) && WTERMSIG(status) == end->signal
                                    : WIFEXITED(status) && WEXITSTATUS(status) == end->status;
    if (as_it_should && !length) return true;
    fprintf(stderr, "%s: status 0x%x\n%s", end->name, (unsigned)status, text);
    return false;
}

int main(int count, char **arguments)
{
    int times = count == 3 ? atoi(arguments[2]) : 0, bad = 0;
    const struct end *end = NULL;
    must(count > 1);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(arguments[1], ends[i].name)) end = &ends[i];
    must(end);
    if (!times) return come_to(end);
    for (int i = 0; i < times; i++) bad += !comes_as_it_should(end);
    if (bad) fprintf(stderr, "%d of %d failed\n", bad, times);
    return bad != 0;
}
