/* Loads libsluice-record.so, which lies beside this library. It brings what only traces and profiles need, so
 * that a program without them does not have it. */
#include "recording/recording.h"

#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "lookup.h"
#include "profile/profile.h"

#define FILE_NAME "libsluice-record.so"
/* A program that uses CUDA while it loads libraries would wait for itself. */
#define PATIENCE_NS 800000000

enum { NOT_BEGUN, LOADING, OVER };
static _Atomic uint32_t state; /* a futex */
static const struct sl_recording *loaded;
static char reason[PATH_MAX + 128];

/* The file beside this library; if that has no folder in its name, wherever the loader looks. */
static void find(char path[PATH_MAX])
{
    Dl_info own;
    const char *name = dladdr(reason, &own) && own.dli_fname ? own.dli_fname : "",
               *slash = strrchr(name, '/');
    int folder = slash ? (int)(slash + 1 - name) : 0;
    if (snprintf(path, PATH_MAX, "%.*s" FILE_NAME, folder, name) >= PATH_MAX) *path = 0;
}

static bool is_of_this_build(const struct sl_recording *found)
{
    return !strcmp(found->version, SLUICE_VERSION) && found->event_bytes == sizeof(struct sl_event) &&
           found->sink_bytes == sizeof(struct sl_trace_sink) &&
           found->profile_bytes == sizeof(struct sl_profile);
}

static void load(void)
{
    static char path[PATH_MAX]; /* not on the stack, which may be small */
    find(path);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct sl_recording *found = object ? sl_real_dlsym(object, SL_RECORDING_SYMBOL) : NULL;
    const char *error = object ? NULL : dlerror();
    if (found && is_of_this_build(found)) {
        found->begin(sl_options_in_force());
        loaded = found;
    } else if (object) {
        snprintf(reason, sizeof(reason), "%s is of another build of sluice", path);
    } else {
        snprintf(reason, sizeof(reason), "%s", error ? error : FILE_NAME " cannot be loaded");
    }
}

static void end(void)
{
    atomic_store(&state, OVER);
    syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *work(void *unused)
{
    (void)unused;
    load();
    end();
    return NULL;
}

void sl_recording_begin(void)
{
    const struct sl_options *options = sl_options_in_force();
    uint32_t before = NOT_BEGUN;
    pthread_t thread;
    if ((!*options->trace && !*options->profile) || !atomic_compare_exchange_strong(&state, &before, LOADING))
        return;
    if (sl_thread_start(&thread, "sluice-load", work, NULL) == 0) {
        pthread_detach(thread);
    } else {
        snprintf(reason, sizeof(reason), FILE_NAME " cannot be loaded: there is no thread for it");
        end();
    }
}

const struct sl_recording *sl_recording(const char **why)
{
    uint64_t until_ns = sl_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    struct timespec rest = {.tv_nsec = PATIENCE_NS / 8};
    sl_recording_begin();
    while (atomic_load(&state) == LOADING && sl_clock_ns(CLOCK_MONOTONIC) < until_ns)
        syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, LOADING, &rest, NULL, 0);
    bool over = atomic_load(&state) == OVER;
    if (why) *why = !over ? "the program loads libraries meanwhile" : loaded ? NULL : reason;
    return over ? loaded : NULL;
}

void sl_recording_after_fork(void)
{
    uint32_t before = LOADING;
    atomic_compare_exchange_strong(&state, &before, NOT_BEGUN);
}
