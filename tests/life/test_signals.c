/* A program's signals are handled by the program's own threads, however many arrive and whatever they
 * interrupt; a thread that it does not know must never run its handlers. */
#include "trainer.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t handled, in_other_threads;
static pid_t handler_thread;

static void handle(int signal)
{
    (void)signal;
    handled++;
    if (gettid() != handler_thread) in_other_threads++;
}

static void install(int signal)
{
    struct sigaction action = {.sa_handler = handle};
    must(!sigaction(signal, &action, NULL));
}

static void storm(struct trainer *trainer, int which, int signal)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {0};
    install(signal);
    handled = 0;
    must(!setitimer(which, &often, NULL));
    while (handled < 50)
        must(!trainer_steps(trainer, 1)); /* how many steps that takes is the machine's matter */
    must(!trainer_check(trainer));
    must(!setitimer(which, &never, NULL));
}

/* With every thread of the program's blocking it, the signal waits for the program; no thread of ours takes
 * it. */
static void a_blocked_signal_waits(struct trainer *trainer)
{
    sigset_t set, pending;
    install(SIGUSR1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    handled = 0;
    must(!pthread_sigmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < 100; i++) {
        must(!kill(getpid(), SIGUSR1));
        must(!trainer_steps(trainer, 1));
    }
    must(!sigpending(&pending) && sigismember(&pending, SIGUSR1) && !handled);
    must(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    must(handled == 1);
}

/* The mask of a task as the kernel shows it; bit n - 1 is signal n. */
static unsigned long long blocked_by(const char *task)
{
    char path[300], line[256];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    FILE *status = fopen(path, "r");
    must(status != NULL);
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "SigBlk:", 7)) mask = strtoull(line + 7, NULL, 16);
    fclose(status);
    return mask;
}

/* All that can be: SIGKILL, SIGSTOP and the C library's two cannot. */
static void other_threads_block_everything(void)
{
    unsigned long long all = ~0ull & ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 3ull << 31);
    char own[32];
    snprintf(own, sizeof own, "%d", getpid());
    DIR *tasks = opendir("/proc/self/task");
    must(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks));)
        if (task->d_name[0] != '.' && strcmp(task->d_name, own))
            must((blocked_by(task->d_name) & all) == all);
    closedir(tasks);
}

int main(void)
{
    struct trainer trainer;
    handler_thread = gettid();
    must(!trainer_start(&trainer) && !trainer_steps(&trainer, 20));
    other_threads_block_everything();
    storm(&trainer, ITIMER_REAL, SIGALRM);
    storm(&trainer, ITIMER_PROF, SIGPROF);
    a_blocked_signal_waits(&trainer);
    must(!in_other_threads);
    must(!trainer_stop(&trainer));
    return 0;
}
