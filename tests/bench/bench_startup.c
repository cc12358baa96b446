/* What the preload costs a process that never uses CUDA: `true`, started with and without it in turn. Prints
 * medians; fails where the difference is more than 1 ms. The argument is the object. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 501

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static double start_once(char **environment)
{
    static char *arguments[] = {"/bin/true", NULL};
    struct timespec from, to;
    pid_t child;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environment) ||
        waitpid(child, &status, 0) != child || status)
        exit(2);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3;
}

int main(int count, char **arguments)
{
    static double with[RUNS], without[RUNS];
    char preload[4096];
    char *plain[] = {NULL}, *loaded[] = {preload, NULL};
    if (count != 2) return 2;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", arguments[1]);
    for (int run = 0; run < RUNS; run++) {
        without[run] = start_once(plain);
        with[run] = start_once(loaded);
    }
    qsort(with, RUNS, sizeof *with, compare);
    qsort(without, RUNS, sizeof *without, compare);
    double more = with[RUNS / 2] - without[RUNS / 2];
    printf(
        "a process that never uses CUDA: %.0f us without, %.0f us with the preload: %+.0f us (%.2f times)\n",
        without[RUNS / 2], with[RUNS / 2], more, with[RUNS / 2] / without[RUNS / 2]);
    return more > 1000;
}
