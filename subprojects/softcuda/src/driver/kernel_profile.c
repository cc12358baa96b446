#include "kernel_profile.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/profile.h"
#include "log.h"
#include "options.h"

struct sc_kernel_profile {
    char *name;
    uint64_t launches, ns, instructions;
    struct sc_profile *kinds;
    struct sc_kernel_profile *next;
};

static struct {
    pthread_mutex_t lock; /* guards everything */
    struct sc_kernel_profile *first;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sc_kernel_profile *make(const char *name)
{
    struct sc_kernel_profile *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return NULL;
    kernel->name = strdup(name);
    kernel->kinds = sc_profile_new();
    if (!kernel->name || !kernel->kinds) {
        free(kernel->name);
        sc_profile_free(kernel->kinds);
        free(kernel);
        return NULL;
    }
    kernel->next = table.first;
    return table.first = kernel;
}

struct sc_kernel_profile *sc_kernel_profile_of(const char *name)
{
    if (!*sc_options()->profile_kernels) return NULL;
    pthread_mutex_lock(&table.lock);
    struct sc_kernel_profile *kernel = table.first;
    while (kernel && strcmp(kernel->name, name)) kernel = kernel->next;
    if (!kernel) kernel = make(name);
    pthread_mutex_unlock(&table.lock);
    return kernel;
}

struct sc_profile *sc_kernel_profile_kinds(struct sc_kernel_profile *kernel)
{
    return kernel ? kernel->kinds : NULL;
}

uint64_t sc_kernel_profile_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sc_kernel_profile_add(struct sc_kernel_profile *kernel, uint64_t begin_ns, const struct sc_cost *cost)
{
    if (!kernel) return;
    uint64_t ns = sc_kernel_profile_now() - begin_ns;
    pthread_mutex_lock(&table.lock);
    kernel->launches++;
    kernel->ns += ns;
    kernel->instructions += cost->instructions;
    pthread_mutex_unlock(&table.lock);
}

static int by_time(const void *a, const void *b)
{
    const struct sc_kernel_profile *x = *(void *const *)a, *y = *(void *const *)b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

struct line {
    char name[SC_PROFILE_NAME_BYTES];
    struct sc_profile_kind kind;
};

static int by_ticks(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->kind.ticks == y->kind.ticks) return strcmp(x->name, y->name);
    return (x->kind.ticks < y->kind.ticks) - (x->kind.ticks > y->kind.ticks);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static void write_kinds(FILE *file, const struct sc_kernel_profile *kernel)
{
    static struct line lines[SC_PROFILE_KINDS]; /* guarded by the lock */
    unsigned count = 0;
    uint64_t ticks = 0;
    for (unsigned i = 0; i < SC_PROFILE_KINDS; i++) {
        lines[count].kind = sc_profile_kind(kernel->kinds, i, lines[count].name);
        ticks += lines[count].kind.ticks;
        count += lines[count].kind.executions != 0;
    }
    if (!count) return; /* a kernel written in C */
    qsort(lines, count, sizeof *lines, by_ticks);
    fprintf(file, "\n%s\n%7s %14s %16s %8s  instruction\n", kernel->name, "time", "executions", "lanes",
            "ticks");
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "%6.2f%% %14llu %16llu %8llu  %s\n", share(lines[i].kind.ticks, ticks),
                (unsigned long long)lines[i].kind.executions, (unsigned long long)lines[i].kind.lanes,
                (unsigned long long)(lines[i].kind.ticks / lines[i].kind.executions), lines[i].name);
}

static void write_all(FILE *file, struct sc_kernel_profile **kernels, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) all += kernels[i]->ns;
    fprintf(file, "%7s %12s %10s %16s %12s  kernel\n", "time", "seconds", "launches", "instructions",
            "G/second");
    for (size_t i = 0; i < count; i++) {
        const struct sc_kernel_profile *kernel = kernels[i];
        fprintf(file, "%6.2f%% %12.6f %10llu %16llu %12.3f  %s\n", share(kernel->ns, all),
                (double)kernel->ns * 1e-9, (unsigned long long)kernel->launches,
                (unsigned long long)kernel->instructions,
                kernel->ns ? (double)kernel->instructions / (double)kernel->ns : 0, kernel->name);
    }
    for (size_t i = 0; i < count; i++) write_kinds(file, kernels[i]);
}

void sc_kernel_profile_write(void)
{
    const char *wish = sc_options()->profile_kernels;
    if (!*wish) return;
    char path[4096];
    bool screen = !strcmp(wish, "-");
    sc_expand_path(wish, path, sizeof path);
    FILE *file = screen ? stderr : fopen(path, "we");
    if (!file) {
        sc_log("cannot write the profile of kernels to %s: %s", path, strerror(errno));
        return;
    }
    pthread_mutex_lock(&table.lock);
    size_t count = 0;
    for (struct sc_kernel_profile *kernel = table.first; kernel; kernel = kernel->next) count++;
    struct sc_kernel_profile **kernels = malloc((count + 1) * sizeof *kernels);
    if (kernels) {
        size_t at = 0;
        for (struct sc_kernel_profile *kernel = table.first; kernel; kernel = kernel->next)
            kernels[at++] = kernel;
        qsort(kernels, count, sizeof *kernels, by_time);
        write_all(file, kernels, count);
        free(kernels);
    }
    pthread_mutex_unlock(&table.lock);
    if (ferror(file) | (screen ? fflush(file) : fclose(file))) sc_log("cannot write the profile of kernels");
}
