/* Replays the ranks of a job together, each in a process of its own. A rank's process sends a message to this
 * process when it reaches a meeting, and asks how far it may continue (rendezvous.h). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/sim/sim_clock.h"
#include "tools/replay/rendezvous.h"
#include "tools/replay/replay.h"

/* From a rank: its arrival at a meeting or, if `meeting` is 0, a question. To a rank: see struct
 * rendezvous_answer. The same program writes and reads the messages, so their layout needs no conversion. */
struct message {
    uint32_t meeting;
    double now_ns, next_ns;
};

/* --- in a rank's process */

static bool tell(int channel, const struct message *message)
{
    ssize_t sent;
    do {
        sent = send(channel, message, sizeof(*message), MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == sizeof(*message);
}

static bool hear(int channel, struct message *message)
{
    ssize_t heard;
    do {
        heard = recv(channel, message, sizeof(*message), 0);
    } while (heard < 0 && errno == EINTR);
    return heard == sizeof(*message);
}

/* If the message cannot be sent, the next question gets no answer. */
static void arrive(void *context, uint32_t meeting, double now_ns)
{
    tell(*(const int *)context, &(struct message){.meeting = meeting, .now_ns = now_ns});
}

/* Without an answer the rank continues, and the awaited event never happens. */
static uint32_t wait_for_others(void *context, double now_ns, double next_ns, double *until_ns)
{
    int channel = *(const int *)context;
    struct message message = {.now_ns = now_ns, .next_ns = next_ns};
    *until_ns = next_ns;
    if (!tell(channel, &message) || !hear(channel, &message)) return 0;
    *until_ns = message.next_ns;
    return message.meeting;
}

static void be_rank(const struct replay_job *job, size_t rank, const struct replay_setting *setting,
                    int channel, struct replay_result *result)
{
    const struct sl_sim_meetings meetings = {&channel, arrive, wait_for_others};
    replay_run(job, rank, setting, &meetings, result);
}

/* --- in the process of the job */

struct group {
    struct rendezvous *rendezvous;
    struct pollfd channels[REPLAY_RANKS]; /* fd < 0: the rank has ended */
    pid_t children[REPLAY_RANKS];
    size_t count, running;
};

static void end(struct group *group, size_t rank)
{
    close(group->channels[rank].fd);
    group->channels[rank].fd = -1;
    group->running--;
    rendezvous_end(group->rendezvous, rank);
}

static bool begin_rank(struct group *group, const struct replay_job *job,
                       const struct replay_setting *setting, struct replay_result *result)
{
    int ends[2];
    size_t rank = group->count;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    pid_t parent = getpid(), child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (getppid() == parent) be_rank(job, rank, setting, ends[1], result);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    group->channels[rank] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    group->children[rank] = child;
    group->count++;
    group->running++;
    return true;
}

static void hear_rank(struct group *group, size_t rank)
{
    struct message message;
    if (!hear(group->channels[rank].fd, &message))
        end(group, rank);
    else if (message.meeting)
        rendezvous_arrive(group->rendezvous, rank, message.meeting, message.now_ns);
    else
        rendezvous_ask(group->rendezvous, rank, message.now_ns, message.next_ns);
}

static void answer_all(struct group *group)
{
    struct rendezvous_answer answer;
    while (rendezvous_answer(group->rendezvous, &answer)) {
        struct message message = {.meeting = answer.meeting, .next_ns = answer.until_ns};
        if (!tell(group->channels[answer.rank].fd, &message)) end(group, answer.rank);
    }
}

/* Answers questions until all ranks have ended. */
static void serve(struct group *group)
{
    while (group->running) {
        int ready = poll(group->channels, group->count, -1);
        if (ready < 0 && errno != EINTR) return;
        for (size_t r = 0; ready > 0 && r < group->count; r++)
            if (group->channels[r].fd >= 0 && group->channels[r].revents) hear_rank(group, r);
        answer_all(group);
    }
}

static void end_all(struct group *group)
{
    for (size_t r = 0; r < group->count; r++) {
        if (group->channels[r].fd >= 0) {
            kill(group->children[r], SIGKILL);
            close(group->channels[r].fd);
        }
        while (waitpid(group->children[r], NULL, 0) < 0 && errno == EINTR) {
        }
    }
}

void replay_run_ranks(const struct replay_job *job, const struct replay_setting *setting,
                      struct replay_result *results)
{
    struct group group = {0};
    group.rendezvous = rendezvous_new(job->meetings->at, job->meetings->count, job->count);
    bool good = group.rendezvous;
    for (size_t r = 0; r < job->count; r++) results[r].status = SL_ERR_IO;
    for (size_t r = 0; good && r < job->count; r++) good = begin_rank(&group, job, setting, &results[r]);
    if (good) serve(&group);
    end_all(&group);
    for (size_t r = 0; good && r < job->count; r++)
        results[r].missed_meetings = rendezvous_missed(group.rendezvous);
    rendezvous_delete(group.rendezvous);
}
