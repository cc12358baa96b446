#include "tools/command/run_advice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "tools/advise/advise_command.h"
#include "tools/text/messages.h"
#include "tools/text/temporary_folder.h"

#define LIMIT "256M" /* of a temporary trace */
#define SAMPLE "16"  /* one of so many launches is timed: timing all of them makes each longer */

enum { ITEMS = 3, NICER = 10 };

void run_advice_begin(struct run_advice *advice)
{
    const char *named = getenv("SLUICE_TRACE");
    char template[PATH_MAX + 16];
    if (!advice->wanted) return;
    advice->wanted = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    advice->began = time(NULL);
    if (!advice->wanted) return;
    if (named && *named) {
        char path[PATH_MAX];
        advice->wanted = sl_options_absolute(named, path, sizeof(path)) &&
                         sl_options_expand(path, advice->trace, sizeof(advice->trace));
        return;
    }
    if (!temporary_folder_make("sluice-advise", advice->folder)) {
        failure("--advise: no folder for a trace: %s", strerror(errno));
        *advice = (struct run_advice){0};
        return;
    }
    snprintf(template, sizeof(template), "%s/%%p.slt", advice->folder);
    setenv("SLUICE_TRACE", template, 1);
    setenv("SLUICE_TRACE_LIMIT", LIMIT, 0);
    setenv("SLUICE_TRACE_SAMPLE", SAMPLE, 0);
}

void run_advice_cancel(struct run_advice *advice)
{
    if (advice->folder[0]) {
        rmdir(advice->folder);
        unsetenv("SLUICE_TRACE");
    }
    *advice = (struct run_advice){0};
}

/* The largest file of the folder, or nothing: the process that did most. */
static void choose_trace(struct run_advice *advice)
{
    DIR *open = opendir(advice->folder);
    off_t most = -1;
    for (struct dirent *entry; open && (entry = readdir(open));) {
        struct stat found;
        if (entry->d_name[0] == '.' || fstatat(dirfd(open), entry->d_name, &found, 0) != 0) continue;
        if (found.st_size <= most) continue;
        most = found.st_size;
        snprintf(advice->trace, sizeof(advice->trace), "%.*s/%s", (int)strlen(advice->folder), advice->folder,
                 entry->d_name);
    }
    if (open) closedir(open);
}

void run_advice_give(struct run_advice *advice)
{
    if (!advice->wanted) return;
    errno = 0;
    if (nice(NICER) < 0 && errno) errno = 0; /* then it takes its turn like the program */
    if (advice->folder[0]) choose_trace(advice);
    struct stat found;
    bool recorded = advice->trace[0] && stat(advice->trace, &found) == 0 && found.st_mtime >= advice->began;
    if (recorded)
        advise_briefly(advice->trace, ITEMS, stderr);
    else
        failure("no advice: the command recorded no trace");
    fflush(stderr);
    if (advice->folder[0]) temporary_folder_remove(advice->folder);
}
