/* Loads libsluice-record.so, which lies beside this library. It brings what only traces and profiles need, so
 * that a program without them does not have it. */
#include "recording/recording.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lookup.h"
#include "profile/profile.h"

#define FILE_NAME "libsluice-record.so"

static pthread_once_t once = PTHREAD_ONCE_INIT;
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

const struct sl_recording *sl_recording(const char **why)
{
    pthread_once(&once, load);
    if (why) *why = loaded ? NULL : reason;
    return loaded;
}
