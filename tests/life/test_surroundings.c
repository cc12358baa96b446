/* What a program may have done to its own process before it trains: no standard descriptors, no free
 * descriptors, no environment, another folder, another locale. The first argument says which. Messages,
 * traces and statistics are asked for, and may go nowhere but into their own files. */
#include "trainer.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/sluice-life-XXXXXX";

static void train(void)
{
    must(!trainer_run(10));
}

/* The program's own files get the numbers 0 to 2. What it keeps there stays its own. */
static void without_standard_descriptors(void)
{
    char path[3][64];
    for (int fd = 0; fd < 3; fd++) close(fd);
    for (int fd = 0; fd < 3; fd++) {
        snprintf(path[fd], sizeof path[fd], "%s/%d", folder, fd);
        if (open(path[fd], O_RDWR | O_CREAT, 0600) != fd) _exit(4);
    }
    if (trainer_run(10)) _exit(5);
    for (int fd = 0; fd < 3; fd++) {
        struct stat at;
        if (fstat(fd, &at) || at.st_size) _exit(6);
        unlink(path[fd]);
    }
}

static void with_closed_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) close(fd);
    if (trainer_run(10)) _exit(5);
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) >= 0) _exit(6);
}

/* Descriptors that the object holds are closed, as daemons do, and their numbers used again. */
static void with_descriptors_used_again(void)
{
    struct trainer trainer;
    char path[64];
    snprintf(path, sizeof path, "%s/own", folder);
    must(!trainer_start(&trainer) && !trainer_steps(&trainer, 5));
    int own = open(path, O_RDWR | O_CREAT, 0600);
    must(own >= 3);
    for (int fd = 3; fd < 64; fd++)
        if (fd != own) must(dup2(own, fd) == fd);
    must(!trainer_steps(&trainer, 20) && !trainer_check(&trainer) && !trainer_stop(&trainer));
    struct stat at;
    must(!fstat(own, &at) && !at.st_size);
    unlink(path);
}

static void with_no_descriptor_left(void)
{
    struct rlimit limit;
    must(!getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = 32;
    must(!setrlimit(RLIMIT_NOFILE, &limit));
    struct trainer trainer;
    CUresult result = trainer_start(&trainer); /* the driver has what it needs */
    must(!result);
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    must(!trainer_steps(&trainer, 20) && !trainer_check(&trainer) && !trainer_stop(&trainer));
}

/* As above, before the session starts: no trace can be opened. */
static void with_no_descriptor_from_the_start(void)
{
    CUcontext context;
    CUdevice device;
    must(!cuInit(0) && !cuDeviceGet(&device, 0) && !cuDevicePrimaryCtxRetain(&context, device));
    struct rlimit limit = {32, 32};
    must(!setrlimit(RLIMIT_NOFILE, &limit));
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    train();
}

static void without_environment(void)
{
    must(!clearenv());
    train();
}

/* Titles are written over the arguments and the environment that follows them. */
static void with_a_title_over_the_environment(void)
{
    extern char **environ;
    char **old = environ;
    static char *nothing[] = {NULL};
    environ = nothing;
    for (; *old; old++) memset(*old, 'x', strlen(*old));
    train();
}

static void in_another_folder(void)
{
    must(!chdir(folder));
    train();
    char here[] = ".";
    DIR *entries = opendir(here);
    must(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries));) must(entry->d_name[0] == '.');
    closedir(entries);
}

/* One that writes fractions with a comma. The statistics stay JSON: the test's caller reads them. */
static void in_another_locale(void)
{
    if (!setlocale(LC_ALL, "comma")) exit(77);
    char text[8];
    must(snprintf(text, sizeof text, "%.1f", 0.5) == 3 && text[1] == ',');
    train();
}

static void with_a_full_stdout(void)
{
    int full = open("/dev/full", O_WRONLY);
    must(full >= 0 && dup2(full, STDOUT_FILENO) == STDOUT_FILENO);
    train();
    must(puts("lost") >= 0);
    must(fflush(stdout) != 0);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } surroundings[] = {{"other-files-as-standard", without_standard_descriptors},
                        {"no-standard-descriptors", with_closed_standard_descriptors},
                        {"descriptors-used-again", with_descriptors_used_again},
                        {"no-descriptor-left", with_no_descriptor_left},
                        {"no-descriptor-at-start", with_no_descriptor_from_the_start},
                        {"no-environment", without_environment},
                        {"title", with_a_title_over_the_environment},
                        {"folder", in_another_folder},
                        {"locale", in_another_locale},
                        {"full-stdout", with_a_full_stdout}};
    must(count == 2 && mkdtemp(folder));
    for (size_t i = 0; i < sizeof surroundings / sizeof *surroundings; i++)
        if (!strcmp(arguments[1], surroundings[i].name)) {
            surroundings[i].run();
            rmdir(folder);
            return 0;
        }
    return 1;
}
