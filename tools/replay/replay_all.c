/* Runs each replay in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/replay/replay.h"
#include "tools/text/messages.h"

/* Suppresses the core's messages, because the run is only simulated. */
static void be_quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

static pid_t begin(const struct replay_job *job, const struct replay_setting *setting,
                   struct replay_result *results)
{
    pid_t parent = getpid(), child = fork();
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
        be_quiet();
        if (job->count > 1)
            replay_run_ranks(job, setting, results);
        else
            replay_run(job, 0, setting, NULL, results);
    }
    _exit(0);
}

/* Waits for one of the children. False: there is none. */
static bool end_one(pid_t *children, size_t count)
{
    int status;
    for (size_t i = 0; i < count; i++) {
        if (children[i] <= 0) continue;
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR) {
        }
        children[i] = 0;
        return true;
    }
    return false;
}

bool replay_all(const struct replay_job *job, const struct replay_setting *settings, size_t count,
                struct replay_result *results)
{
    size_t result_count = count * job->count, bytes = (result_count + 1) * sizeof(*results), begun = 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t at_once = processors > 1 ? (size_t)processors : 1, running = 0;
    if (job->count > 1) at_once = (2 * at_once + job->count - 1) / job->count; /* ranks wait for each other */
    pid_t *children = calloc(count + 1, sizeof(*children));
    struct replay_result *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool good = children && shared != MAP_FAILED;
    for (size_t i = 0; good && i < result_count; i++) shared[i].status = SL_ERR_IO;
    while (good && begun < count) {
        if (running == at_once && end_one(children, begun)) running--;
        children[begun] = begin(job, &settings[begun], &shared[begun * job->count]);
        good = children[begun] > 0;
        begun += good;
        running += good;
    }
    int why = errno;
    while (children && end_one(children, begun)) {
    }
    if (good)
        memcpy(results, shared, result_count * sizeof(*results));
    else
        failure("cannot start a process: %s", strerror(why));
    if (shared != MAP_FAILED) munmap(shared, bytes);
    free(children);
    return good;
}
