#include "liveness.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads two fields of /proc/PID/stat. The process name may contain any characters, so the fields are counted
 * from behind it: the state is the first of them, the start time the 20th. */
static bool read_stat(int process, char *state, uint64_t *start)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    if (bytes <= 0) return false;
    text[bytes] = 0;
    const char *rest = strrchr(text, ')');
    unsigned long long ticks = 0;
    if (!rest ||
        sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               state, &ticks) != 2)
        return false;
    *start = ticks;
    return true;
}

static uint64_t owner_of(int process, uint64_t start)
{
    return (uint64_t)(uint32_t)process << 32 | (uint32_t)start;
}

uint64_t sc_liveness_self(void)
{
    char state;
    uint64_t start;
    int self = getpid();
    return read_stat(self, &state, &start) ? owner_of(self, start) : owner_of(self, 0);
}

/* Fallback by /proc, for kernels without pidfd. */
static bool is_gone(uint64_t owner)
{
    char state;
    uint64_t start;
    int process = (int)(owner >> 32);
    if (!read_stat(process, &state, &start)) return true;
    return state == 'Z' || state == 'X' || owner_of(process, start) != owner;
}

void sc_liveness_watch(uint64_t owner, struct sc_watched *out)
{
    *out = (struct sc_watched){.owner = owner, .file = -1};
    if (!owner || (int)(owner >> 32) == getpid()) return;
    out->file = (int)syscall(SYS_pidfd_open, (int)(owner >> 32), 0);
    /* The process number may have been reused for another process before the pidfd was opened. */
    if (out->file >= 0 && is_gone(owner)) {
        close(out->file);
        out->file = -1;
    }
}

bool sc_liveness_is_dead(const struct sc_watched *watched)
{
    if (!watched->owner || (int)(watched->owner >> 32) == getpid()) return false;
    if (watched->file < 0) return is_gone(watched->owner);
    struct pollfd poll_one = {.fd = watched->file, .events = POLLIN};
    return poll(&poll_one, 1, 0) == 1 && (poll_one.revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL));
}

void sc_liveness_forget(struct sc_watched *watched)
{
    if (watched->file >= 0) close(watched->file);
    watched->file = -1;
}
