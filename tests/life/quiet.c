/* A program that never uses CUDA. Writes what its process has: calls of the allocator so far, threads,
 * descriptors and mappings. Looks functions up, as interpreters do. Allocates nothing itself before it has
 * counted. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void copy(const char *path)
{
    char bytes[65536];
    int fd = open(path, O_RDONLY);
    for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0;)
        if (write(STDOUT_FILENO, bytes, (size_t)got) < 0) _exit(2);
    close(fd);
}

int main(void)
{
    char line[128];
    const unsigned long *counter = (const unsigned long *)dlsym(RTLD_DEFAULT, "malloc_count");
    if (!counter || !dlsym(RTLD_DEFAULT, "getenv")) return 3;
    unsigned long count = *counter;
    int descriptors = 0;
    for (int fd = 0; fd < 1024; fd++) descriptors += fcntl(fd, F_GETFD) >= 0;
    struct stat tasks;
    if (stat("/proc/self/task", &tasks)) return 4;
    int length = snprintf(line, sizeof line, "%lu %d %d\n", count, (int)tasks.st_nlink - 2, descriptors);
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) return 5;
    copy("/proc/self/maps");
    return 0;
}
