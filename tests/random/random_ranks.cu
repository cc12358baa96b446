/* Random programs of several ranks, which compute on integers, exchange them by NCCL, and compare all that
 * they read with what the host computes.
 *
 *     random_ranks --seed S [--count K] [--ranks N] [--steps M] [--seconds T] [--polls] [--verbose]
 *
 * Runs the programs S to S+K-1, each with 2 to 4 ranks (or N), a process each. The parent plans the whole
 * program and the values before it starts the ranks, and never touches CUDA. A rank that does not end within
 * T seconds says where it is and ends the program. --polls: ranks also ask in a loop whether an event has
 * passed. Knows nothing of sluice.
 *
 * Prints `peak_bytes` for each program: what the rank with most memory has at once. Exit status 0: all is as
 * the host computed it. */
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "ranks/make_all.cuh"
#include "ranks/print.cuh"
#include "ranks/run.cuh"

static const Rank *watched;
static int watched_number;
static uint64_t watched_seed;

static void say_where(int signal)
{
    char line[256];
    const char *what =
        current_place < watched->op_count ? op_names[watched->ops[current_op].kind] : "the end";
    int length = snprintf(line, sizeof line,
                          "random_ranks: seed %llu: rank %d of process %d %s in call %d, op %d: %s\n",
                          (unsigned long long)watched_seed, watched_number, (int)getpid(),
                          signal == SIGALRM ? "hangs" : "was", current_place, current_op, what);
    if (write(STDERR_FILENO, line, (size_t)length) < 0) _Exit(5);
    _Exit(4);
}

static void become_rank(const Plan *plan, int number, int pipes[][MOST_RANKS][2], unsigned seconds,
                        bool verbose)
{
    static Run run;
    ncclUniqueId id;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    watched = &plan->ranks[number];
    watched_number = number;
    watched_seed = plan->seed;
    signal(SIGALRM, say_where);
    signal(SIGTERM, say_where);
    alarm(seconds);
    run.plan = plan;
    run.rank = watched;
    run.number = number;
    run.pipes = pipes;
    if (number == 0) {
        must(ncclGetUniqueId(&id));
        for (int r = 1; r < plan->rank_count; r++) must(write(pipes[0][r][1], &id, sizeof id) != sizeof id);
    } else {
        must(read(pipes[0][number][0], &id, sizeof id) != sizeof id);
    }
    run_rank(&run, id, verbose);
    exit(0);
}

/* 0 if all ranks ended well. When one does not, the others say where they are. */
static int await_ranks(const pid_t *ranks, int count, uint64_t seed)
{
    int worst = 0;
    for (int left = count; left > 0; left--) {
        int status, code;
        pid_t pid = wait(&status);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 9;
        if (WIFSIGNALED(status))
            fprintf(stderr, "random_ranks: seed %llu: process %d was ended by signal %d\n",
                    (unsigned long long)seed, (int)pid, WTERMSIG(status));
        if (!code || worst) continue;
        worst = code;
        for (int r = 0; r < count; r++) kill(ranks[r], SIGTERM);
    }
    return worst;
}

static int run_plan(const Plan *plan, unsigned seconds, bool verbose)
{
    int pipes[MOST_RANKS][MOST_RANKS][2];
    pid_t ranks[MOST_RANKS];
    for (int a = 0; a < plan->rank_count; a++)
        for (int b = 0; b < plan->rank_count; b++) must(pipe(pipes[a][b]));
    for (int r = 0; r < plan->rank_count; r++) {
        ranks[r] = fork();
        if (ranks[r] < 0) stop("cannot start a rank");
        if (!ranks[r]) become_rank(plan, r, pipes, seconds, verbose);
    }
    int worst = await_ranks(ranks, plan->rank_count, plan->seed);
    for (int a = 0; a < plan->rank_count; a++)
        for (int b = 0; b < plan->rank_count; b++) close(pipes[a][b][0]), close(pipes[a][b][1]);
    return worst;
}

int main(int argc, char **argv)
{
    static const option names[] = {{"seed", 1, NULL, 's'},    {"count", 1, NULL, 'c'},
                                   {"ranks", 1, NULL, 'r'},   {"steps", 1, NULL, 'm'},
                                   {"seconds", 1, NULL, 't'}, {"verbose", 0, NULL, 'v'},
                                   {"polls", 0, NULL, 'p'},   {NULL, 0, NULL, 0}};
    uint64_t seed = 1, count = 1;
    int ranks = 0, steps = 60, worst = 0, name;
    unsigned seconds = 100;
    bool verbose = false, polls = false;
    while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (name == 's')
            seed = strtoull(optarg, NULL, 0);
        else if (name == 'c')
            count = strtoull(optarg, NULL, 0);
        else if (name == 'r')
            ranks = atoi(optarg);
        else if (name == 'm')
            steps = atoi(optarg);
        else if (name == 't')
            seconds = (unsigned)atoi(optarg);
        else if (name == 'v')
            verbose = true;
        else if (name == 'p')
            polls = true;
        else
            return 2;
    }
    if (optind != argc || ranks < 0 || ranks == 1 || ranks > MOST_RANKS)
        stop("see the top of random_ranks.cu");
    for (uint64_t i = 0; i < count; i++) {
        Plan *plan = make_plan(seed + i, ranks, steps, polls);
        size_t peak = 0;
        for (int r = 0; r < plan->rank_count; r++)
            if (plan->ranks[r].peak_bytes > peak) peak = plan->ranks[r].peak_bytes;
        int result = run_plan(plan, seconds, verbose);
        printf("seed %llu ranks %d peak_bytes %zu result %d\n", (unsigned long long)(seed + i),
               plan->rank_count, peak, result);
        fflush(stdout);
        if (result) worst = result;
        free_plan(plan);
    }
    return worst;
}
