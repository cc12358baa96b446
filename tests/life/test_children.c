/* Children of a program that trains, made in every way there is, while the object's threads move data. A
 * child never writes the parent's files, never waits for what only the parent has, and a new program trains
 * for itself. */
#include "trainer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__ /* whose memory a fork copies, too */
#define FORKS 6
#else
#define FORKS 30
#endif

static char *train_arguments[] = {"/proc/self/exe", "train", NULL};

static int status_of(pid_t child)
{
    int status;
    must(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t spawned(void)
{
    pid_t child;
    must(!posix_spawn(&child, train_arguments[0], NULL, NULL, train_arguments, environ));
    return child;
}

static pid_t forked_and_executed(void)
{
    pid_t child = fork();
    if (!child) {
        execve(train_arguments[0], train_arguments, environ);
        _exit(99);
    }
    return child;
}

static pid_t vforked(void)
{
    pid_t child = vfork();
    if (!child) {
        execve(train_arguments[0], train_arguments, environ);
        _exit(99);
    }
    return child;
}

/* No fork handler runs. */
static pid_t cloned(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static pid_t cloned_and_executed(void)
{
    pid_t child = cloned();
    if (!child) {
        execve(train_arguments[0], train_arguments, environ);
        _exit(99);
    }
    return child;
}

static void new_programs_train(struct trainer *trainer)
{
    pid_t (*const ways[])(void) = {spawned, forked_and_executed, vforked, cloned_and_executed};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        must(!trainer_steps(trainer, 3));
        pid_t child = ways[way]();
        must(!trainer_steps(trainer, 3));
        must(status_of(child) == 0);
    }
}

static void by_exit(void)
{
    exit(7);
}
static void by_underscore_exit(void)
{
    _exit(7);
}
static void by_quick_exit(void)
{
    quick_exit(7);
}

/* The driver is lost to a child; what it answers is its own, but it must come. */
static void calls_return(const struct trainer *trainer)
{
    CUdeviceptr memory;
    size_t free_bytes, total_bytes;
    cuMemGetInfo(&free_bytes, &total_bytes);
    cuMemAlloc(&memory, 4096);
    cuMemFree(trainer->blocks[0]);
}

static void children_end_in_every_way(struct trainer *trainer, const char *stats)
{
    void (*const ends[])(void) = {by_exit, by_underscore_exit, by_quick_exit, abort};
    const int statuses[] = {7, 7, 7, 128 + SIGABRT};
    for (size_t end = 0; end < 2 * sizeof ends / sizeof *ends; end++) {
        must(!trainer_steps(trainer, 3));
        pid_t child = end % 2 ? cloned() : fork();
        if (!child) {
            calls_return(trainer);
            ends[end / 2]();
        }
        must(status_of(child) == statuses[end / 2]);
        must(access(stats, F_OK) != 0);
    }
}

struct shared {
    struct trainer *trainer;
    bool stop;
};

static void *train_on(void *argument)
{
    struct shared *shared = argument;
    must(!trainer_enter(shared->trainer));
    while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) must(!trainer_steps(shared->trainer, 1));
    return NULL;
}

/* At any moment of a launch in another thread, with its locks held. */
static void forks_beside_launches(struct trainer *trainer)
{
    struct shared shared = {trainer, false};
    pthread_t thread;
    must(!pthread_create(&thread, NULL, train_on, &shared));
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (!child) {
            calls_return(trainer);
            exit(0);
        }
        must(status_of(child) == 0);
    }
    __atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
    must(!pthread_join(thread, NULL));
}

static void *fork_here(void *trainer)
{
    must(!trainer_enter(trainer));
    new_programs_train(trainer);
    return NULL;
}

static void forks_in_another_thread(struct trainer *trainer)
{
    pthread_t thread;
    must(!pthread_create(&thread, NULL, fork_here, trainer));
    must(!pthread_join(thread, NULL));
}

/* The parent has loaded the driver and looked around, but not begun. Children of children, too. */
static void children_before_the_start(void)
{
    int version;
    must(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") && !cuDriverGetVersion(&version));
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (!child) {
            pid_t grandchild = fork();
            if (!grandchild) _exit(trainer_run(5) ? 1 : 0);
            _exit(status_of(grandchild) || trainer_run(5) ? 1 : 0);
        }
        must(status_of(child) == 0);
    }
}

/* Every copy of the parent, at whatever depth, is without a device. */
static void grandchildren(const struct trainer *trainer)
{
    pid_t child = fork();
    if (!child) {
        pid_t grandchild = cloned();
        if (!grandchild) {
            calls_return(trainer);
            exit(5);
        }
        calls_return(trainer);
        exit(status_of(grandchild));
    }
    must(status_of(child) == 5);
}

static void replaced_while_training(void)
{
    pid_t child = fork();
    if (!child) {
        struct trainer trainer;
        must(!trainer_start(&trainer) && !trainer_steps(&trainer, 20));
        execve(train_arguments[0], train_arguments, environ);
        _exit(99);
    }
    must(status_of(child) == 0);
}

int main(int count, char **arguments)
{
    struct trainer trainer;
    if (count == 2 && !strcmp(arguments[1], "train")) {
        unsetenv("SLUICE_STATS");
        return trainer_run(5) ? 1 : 0;
    }
    const char *stats = getenv("SLUICE_STATS");
    must(stats != NULL);
    unlink(stats);
    children_before_the_start();
    replaced_while_training();
    unlink(stats);
    must(!trainer_start(&trainer));
    children_end_in_every_way(&trainer, stats);
    grandchildren(&trainer);
    must(access(stats, F_OK) != 0);
    forks_beside_launches(&trainer);
    unsetenv("SLUICE_STATS"); /* new programs are to write none here; ours was read at the start */
    new_programs_train(&trainer);
    forks_in_another_thread(&trainer);
    must(access(stats, F_OK) != 0);
    must(!trainer_check(&trainer) && !trainer_stop(&trainer));
    return 0;
}
