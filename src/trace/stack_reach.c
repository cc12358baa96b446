#include "trace/stack_reach.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNAL_SET_BYTES = 8, NO_SUCH_CHANGE = -1 };

/* The thread's own stack, as far as it is known. */
static _Thread_local struct {
    uintptr_t start, end;
    uint32_t strangers; /* frames that were outside */
    bool is_main;
} own __attribute__((tls_model("initial-exec")));

/* The kernel's list shows the main thread's stack as far as it has grown, in a line with this name and no
 * file. */
static bool is_main_stack(const char *line)
{
    const char *name = strrchr(line, ' ');
    return name && !strcmp(name, " [stack]") && !strchr(line, '/');
}

/* Reads the list in small pieces, because it may be long and the stack small. */
static void find_main_stack(void)
{
    char piece[256], line[128];
    size_t length = 0;
    ssize_t got = 1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    while (got > 0) { /* open, read and close would be cancellation points */
        got = syscall(SYS_read, fd, piece, sizeof piece);
        for (ssize_t i = 0; i < got; i++) {
            line[length] = piece[i] == '\n' ? 0 : piece[i];
            length += line[length] && length + 1 < sizeof line;
            if (piece[i] != '\n') continue;
            length = 0;
            if (is_main_stack(line)) sscanf(line, "%lx-%lx", &own.start, &own.end);
        }
    }
    syscall(SYS_close, fd);
}

/* The stack that the thread was created with, which stays as it is. */
static void find_thread_stack(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attributes)) return;
    if (!pthread_attr_getstack(&attributes, &start, &bytes)) {
        own.start = (uintptr_t)start;
        own.end = own.start + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* For a frame that is outside. The main thread's stack may have grown: it is looked for at the first such
 * frame, the second, the fourth and so on, because fibers stay outside. */
static __attribute__((noinline)) void look_again(void)
{
    uint32_t count = ++own.strangers;
    int error = errno;
    if (count & (count - 1) || (count > 1 && !own.is_main)) return;
    own.is_main = syscall(SYS_gettid) == getpid();
    if (own.is_main)
        find_main_stack();
    else
        find_thread_stack();
    errno = error;
}

static bool is_own(uintptr_t frame)
{
    return frame - own.start < own.end - own.start;
}

struct sl_stack_reach sl_stack_reach_from(const void *frame)
{
    uintptr_t at = (uintptr_t)frame;
    if (!is_own(at)) look_again();
    uintptr_t end_of_page = ((at + sizeof(uintptr_t)) & -SL_STACK_PAGE) + SL_STACK_PAGE;
    return (struct sl_stack_reach){.end = is_own(at) ? own.end : end_of_page};
}

/* A change of the signal mask that does not exist is refused as such only if the mask can be read. */
bool sl_stack_ask(struct sl_stack_reach *reach, uintptr_t word)
{
    uintptr_t page = word & -SL_STACK_PAGE;
    if (page == reach->page) return page;
    int error = errno;
    bool readable =
        syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, page, NULL, SIGNAL_SET_BYTES) == -1 && errno == EINVAL;
    errno = error;
    if (readable) reach->page = page;
    return readable;
}
