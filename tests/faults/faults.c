/* libsluice-faults.so is libsluice.so with one difference: what it asks of the C library and of the driver
 * may fail. The linker sends those calls here (--wrap). FAULTS=KIND:N makes the N-th call of the kind fail,
 * KIND:N-M those up to the M-th, and KIND:N+ every one from then on; at the end the file FAULTS_COUNT gets a
 * line `KIND CALLS` for each. The file FAULTS_WHERE gets the calls that led to the N-th. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/cuda_driver.h"
#include "driver.h"

enum kind { MEMORY, DRIVER, CONTEXT, THREAD, FILES, KINDS };
static const char *const names[KINDS] = {"memory", "driver", "context", "thread", "file"};
static _Atomic uint64_t calls[KINDS];
static int failing_kind = -1;
static uint64_t failing_call, last_failing_call;

__attribute__((constructor(101))) static void begin(void)
{
    const char *faults = getenv("FAULTS"), *colon = faults ? strchr(faults, ':') : NULL;
    for (int k = 0; colon && k < KINDS; k++)
        if (strlen(names[k]) == (size_t)(colon - faults) && !strncmp(names[k], faults, strlen(names[k]))) {
            failing_kind = k;
            failing_call = last_failing_call = strtoull(colon + 1, NULL, 10);
            const char *dash = strchr(colon, '-');
            if (dash) last_failing_call = strtoull(dash + 1, NULL, 10);
            if (strchr(colon, '+')) last_failing_call = UINT64_MAX;
        }
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULTS_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (int k = 0; k < KINDS; k++) fprintf(file, "%s %llu\n", names[k], (unsigned long long)calls[k]);
    fclose(file);
}

static void note_where(void)
{
    const char *path = getenv("FAULTS_WHERE");
    int fd = path ? creat(path, 0600) : -1;
    void *calls_above[24];
    if (fd < 0) return;
    backtrace_symbols_fd(calls_above, backtrace(calls_above, 24), fd);
    close(fd);
}

__attribute__((noinline)) static bool fails(enum kind kind, int error)
{
    uint64_t call = atomic_fetch_add(&calls[kind], 1) + 1;
    if ((int)kind != failing_kind || call < failing_call || call > last_failing_call) return false;
    if (call == failing_call) note_where();
    errno = error;
    return true;
}

/* A function of the C library: its result when it fails. */
#define WRAP(kind, error, failure, type, name, declarations, arguments)                                      \
    type __real_##name declarations;                                                                         \
    type __wrap_##name declarations;                                                                         \
    type __wrap_##name declarations                                                                          \
    {                                                                                                        \
        return fails(kind, error) ? failure : __real_##name arguments;                                       \
    }

WRAP(MEMORY, ENOMEM, NULL, void *, malloc, (size_t bytes), (bytes))
WRAP(MEMORY, ENOMEM, NULL, void *, calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(MEMORY, ENOMEM, NULL, void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAP(MEMORY, ENOMEM, NULL, char *, strdup, (const char *text), (text))
WRAP(MEMORY, ENOMEM, NULL, FILE *, open_memstream, (char **text, size_t *bytes), (text, bytes))
WRAP(MEMORY, ENOMEM, MAP_FAILED, void *, mmap64,
     (void *address, size_t bytes, int protection, int flags, int fd, off_t offset),
     (address, bytes, protection, flags, fd, offset))
WRAP(MEMORY, ENOMEM, ENOMEM, int, pthread_mutex_init,
     (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes), (mutex, attributes))
WRAP(MEMORY, ENOMEM, ENOMEM, int, pthread_mutexattr_init, (pthread_mutexattr_t * attributes), (attributes))
WRAP(MEMORY, ENOMEM, -1, int, atexit, (void (*function)(void)), (function))
WRAP(THREAD, EAGAIN, EAGAIN, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument),
     (thread, attributes, main, argument))
WRAP(THREAD, EAGAIN, EAGAIN, int, pthread_key_create, (pthread_key_t * key, void (*end_of)(void *)),
     (key, end_of))
WRAP(THREAD, EINVAL, EINVAL, int, pthread_attr_init, (pthread_attr_t * attributes), (attributes))
WRAP(FILES, ENOSPC, -1, ssize_t, write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
WRAP(FILES, EIO, -1, ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count))
WRAP(FILES, EIO, -1, int, ftruncate64, (int fd, off_t bytes), (fd, bytes))
WRAP(FILES, EIO, -1, int, fstat64, (int fd, struct stat *out), (fd, out))
WRAP(FILES, EIO, -1, int, flock, (int fd, int operation), (fd, operation))
WRAP(FILES, EIO, NULL, FILE *, fopen64, (const char *path, const char *mode), (path, mode))

int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(rest, int) : 0;
    va_end(rest);
    return fails(FILES, EMFILE) ? -1 : __real_open64(path, flags, mode);
}

/* The driver's functions take at most nine arguments, all of them integers or pointers, or structures that
 * travel as such: one shape of wrapper does for all. */
typedef uintptr_t word;
typedef CUresult any(word, word, word, word, word, word, word, word, word);
static struct sl_cuda_driver real, wrapped;

static CUresult error_of(const char *symbol)
{
    return strstr(symbol, "Alloc") ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

/* Each call of the driver counts; the question for the current context also as a kind of its own. */
static bool driver_fails(const char *symbol)
{
    return fails(DRIVER, 0) || (!strcmp(symbol, "cuCtxGetCurrent") && fails(CONTEXT, 0));
}

#define WRAP_DRIVER(field, symbol, version, required, arguments)                                             \
    static CUresult wrapped_##field(word a, word b, word c, word d, word e, word f, word g, word h, word i)  \
    {                                                                                                        \
        any *function;                                                                                       \
        memcpy(&function, &real.field, sizeof function);                                                     \
        return driver_fails(symbol) ? error_of(symbol) : function(a, b, c, d, e, f, g, h, i);                \
    }
SL_CUDA_DRIVER_FUNCTIONS(WRAP_DRIVER)

static void wrap_all(void)
{
#define SET(field, symbol, version, required, arguments)                                                     \
    if (real.field) {                                                                                        \
        any *function = wrapped_##field;                                                                     \
        memcpy(&wrapped.field, &function, sizeof function);                                                  \
    }
    SL_CUDA_DRIVER_FUNCTIONS(SET)
}

const struct sl_cuda_driver *__real_sl_driver_functions(void);
const struct sl_cuda_driver *__wrap_sl_driver_functions(void);
const struct sl_cuda_driver *__wrap_sl_driver_functions(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct sl_cuda_driver *found = __real_sl_driver_functions();
    if (!found) return NULL;
    static _Atomic bool copied;
    if (!atomic_load(&copied)) {
        real = *found;
        atomic_store(&copied, true);
    }
    pthread_once(&once, wrap_all);
    return &wrapped;
}
