/* The data-parallel trainer's ranks: which one this process is, starting them all, and how they find each
 * other. */
#ifndef DDP_RANKS_CUH
#define DDP_RANKS_CUH

#include <errno.h>
#include <nccl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "gpt_arguments.cuh"

struct Ranks {
    int rank, count, local; /* `local` numbers the ranks of this machine */
    const char *id_file;    /* NULL: not needed, there is one rank */
};

enum { MOST_RANKS = 1 << 20, ID_WAIT_SECONDS = 300 };

/* A rank's exit status where it came to its end, and the weights are not the same everywhere. */
enum { EXIT_RANKS_DIFFER = 4 };

static void check_nccl(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess) return;
    fprintf(stderr, PROGRAM ": %s: %s\n", what, ncclGetErrorString(result));
    exit(EXIT_FAILURE);
}

/* For an error that errno names. */
[[noreturn]] static void fail(const char *what, const char *name)
{
    fprintf(stderr, PROGRAM ": %s '%s': %s\n", what, name, strerror(errno));
    exit(EXIT_FAILURE);
}

/* --- Which rank this is --- */

static int read_variable(const char *name, int low, int high)
{
    const char *text = getenv(name);
    char *end;
    const long value = text ? strtol(text, &end, 10) : 0;
    if (!text) usage_error("the environment has no %s%s", name, "");
    if (end == text || *end || value < low || value > high)
        usage_error("the environment variable %s cannot be '%s'", name, text);
    return (int)value;
}

static struct Ranks find_ranks(const char *id_file)
{
    static const char *const names[][3] = {
        {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};
    struct Ranks r = {0, 1, 0, id_file};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!getenv(names[i][0])) continue;
        r.count = read_variable(names[i][1], 1, MOST_RANKS);
        r.rank = read_variable(names[i][0], 0, r.count - 1);
        r.local = read_variable(names[i][2], 0, r.count - 1);
        break;
    }
    if (r.count > 1 && !id_file)
        usage_error("--id-file FILE is missing; there are several ranks%s%s", "", "");
    return r;
}

/* --- Starting them --- */

static void set_variable(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    if (setenv(name, text, 1)) fail("cannot set", name);
}

/* Never returns. The rank ends with the process that started it, however that ends. */
static void become_rank(int rank, int count, pid_t parent, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);
    set_variable("RANK", rank);
    set_variable("WORLD_SIZE", count);
    set_variable("LOCAL_RANK", rank);
    set_variable("LOCAL_WORLD_SIZE", count);
    execv("/proc/self/exe", argv);
    fail("cannot start", argv[0]);
}

/* Waits for all. The first that fails takes the others along, who would wait for it without end, unless all
 * of them came to their end. Returns its exit status. */
static int wait_for_ranks(pid_t *pids, int count)
{
    int failed = EXIT_SUCCESS;
    for (int left = count; left > 0; left--) {
        int status, rank = 0;
        pid_t pid;
        while ((pid = wait(&status)) < 0 && errno == EINTR) {
        }
        if (pid < 0) fail("cannot wait for", "the ranks");
        while (rank < count && pids[rank] != pid) rank++;
        if (rank < count) pids[rank] = 0;
        if (failed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) continue;
        failed = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
        if (WIFSIGNALED(status))
            fprintf(stderr, PROGRAM ": rank %d was ended by signal %d\n", rank, WTERMSIG(status));
        if (failed == EXIT_RANKS_DIFFER) continue;
        for (int i = 0; i < count; i++)
            if (pids[i]) kill(pids[i], SIGKILL);
    }
    return failed;
}

/* Runs `count` processes of this program with the same options. Returns the exit status. No CUDA call may
 * come before: a forked process cannot use the device of the one that it comes from. */
static int run_ranks(int count, int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    char folder[512], id_file[560], left_over[570];
    static char no_ranks[] = "--ranks=0", id_option[] = "--id-file";
    pid_t *pids = (pid_t *)host_allocate(count * sizeof *pids);
    char **arguments = (char **)host_allocate((argc + 4) * sizeof *arguments);
    snprintf(folder, sizeof folder, "%s/ddp-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) fail("cannot make the folder", folder);
    snprintf(id_file, sizeof id_file, "%s/id", folder);
    snprintf(left_over, sizeof left_over, "%s.new", id_file);
    /* The last of two equal options counts. */
    memcpy(arguments, argv, argc * sizeof *argv);
    arguments[argc] = no_ranks, arguments[argc + 1] = id_option, arguments[argc + 2] = id_file;
    const pid_t parent = getpid();
    for (int rank = 0; rank < count; rank++) {
        pids[rank] = fork();
        if (pids[rank] < 0) fail("cannot start", "a rank");
        if (!pids[rank]) become_rank(rank, count, parent, arguments);
    }
    const int status = wait_for_ranks(pids, count);
    unlink(id_file); /* both are gone unless rank 0 failed */
    unlink(left_over);
    rmdir(folder);
    free(arguments);
    free(pids);
    return status;
}

/* --- Finding each other --- */

/* Under another name first, so that nobody reads half of it. */
static void write_id(const ncclUniqueId *id, const char *path)
{
    char *name = (char *)host_allocate(strlen(path) + sizeof ".new");
    sprintf(name, "%s.new", path);
    if (access(path, F_OK) == 0) {
        fprintf(stderr, PROGRAM ": the id file '%s' exists already: ranks could have read what it holds\n",
                path);
        exit(EXIT_FAILURE);
    }
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(id, sizeof *id, 1, file) != 1 || fclose(file)) fail("cannot write the id file", name);
    if (rename(name, path)) fail("cannot write the id file", path);
    free(name);
}

static void read_id(ncclUniqueId *id, const char *path)
{
    const struct timespec pause = {0, 10 * 1000 * 1000};
    FILE *file;
    for (int i = 0; !(file = fopen(path, "rb")); i++) {
        if (errno != ENOENT || i == ID_WAIT_SECONDS * 100) fail("cannot read the id file", path);
        nanosleep(&pause, NULL);
    }
    if (fread(id, sizeof *id, 1, file) != 1) {
        fprintf(stderr, PROGRAM ": the id file '%s' is too short\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
}

/* Takes this rank's device and waits for all other ranks. */
static ncclComm_t ranks_join(const struct Ranks *r)
{
    ncclUniqueId id;
    ncclComm_t comm;
    int devices;
    check(cudaGetDeviceCount(&devices), "counting the devices");
    check(cudaSetDevice(r->local % devices), "taking the device");
    if (r->rank == 0) {
        check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
        if (r->count > 1) write_id(&id, r->id_file);
    } else {
        read_id(&id, r->id_file);
    }
    check_nccl(ncclCommInitRank(&comm, r->count, id, r->rank), "ncclCommInitRank");
    if (r->rank == 0 && r->count > 1) unlink(r->id_file); /* everybody has read it, or would not be here */
    return comm;
}

#endif
