#include "tools/rehearse/rehearsal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/rehearse/training_steps.h"
#include "tools/text/messages.h"
#include "tools/text/temporary_folder.h"
#include "tools/text/terminal.h"
#include "tools/top/runs.h"

#define BETWEEN_LOOKS_NS 200000000
#define BETWEEN_READS_NS 1000000000u
#define READINGS 256
#define READS_PART 4           /* of the time goes to reading traces, at most */
#define ENDING_NS 20000000000u /* then the command is killed */

/* --- the command's process */

static void set_number(const char *variable, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    setenv(variable, text, 1);
}

static void set_environment(const struct rehearsal_wish *wish, const struct rehearsal *rehearsal)
{
    char trace[PATH_MAX + 16];
    snprintf(trace, sizeof(trace), "%s/%%p.slt", rehearsal->folder);
    setenv("SOFTCUDA_PROFILE", wish->card->name, 1);
    setenv("SOFTCUDA_EXECUTE", "sample", 1);
    setenv("SOFTCUDA_TENSOR_CORES", "1", 1);
    set_number("SOFTCUDA_DEVICES", wish->cards);
    if (wish->host_bytes) set_number("SLUICE_HOST_MEMORY", wish->host_bytes);
    setenv("SLUICE_TRACE", trace, 1);
    snprintf(trace, sizeof(trace), "%s/%%p.json", rehearsal->folder);
    setenv("SOFTCUDA_STATS", trace, 1);
    snprintf(trace, sizeof(trace), "%s/node", rehearsal->folder);
    setenv("SLUICE_NODE", trace, 1); /* its memory is not taken from programs that run really */
    setenv("SLUICE_TRACE_SAMPLE", "16", 0);
    setenv("SLUICE_TRACE_FULL", "wait", 0);
}

/* The child becomes `sluice run`, and that the command. */
static void become(const struct rehearsal_wish *wish, const struct rehearsal *rehearsal)
{
    size_t words = 0, count = 0;
    while (wish->command[words]) words++;
    char **argv = calloc(words + 9, sizeof(*argv));
    if (!argv) _exit(failure("out of memory"));
    char *const before[] = {
        "sluice", "run", "--software", wish->budget ? "--budget" : NULL, (char *)wish->budget, "--"};
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
        if (before[i]) argv[count++] = before[i];
    for (size_t i = 0; i < words; i++) argv[count + i] = wish->command[i];
    setpgid(0, 0);
    if (isatty(STDIN_FILENO)) {
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing >= 0) dup2(nothing, STDIN_FILENO);
        if (nothing > STDIN_FILENO) close(nothing);
    }
    set_environment(wish, rehearsal);
    execv("/proc/self/exe", argv);
    _exit(failure("cannot run sluice: %s", strerror(errno)));
}

/* --- its processes, as their pages show them */

/* Whether the process has the traces' folder in its environment: a launcher starts ranks in sessions of their
 * own. */
static bool is_ours(const struct rehearsal *rehearsal, uint64_t process)
{
    char path[40], *text = NULL;
    size_t room = 0;
    bool ours = false;
    snprintf(path, sizeof(path), "/proc/%" PRIu64 "/environ", process);
    FILE *file = fopen(path, "re");
    while (file && !ours && getdelim(&text, &room, 0, file) > 0)
        ours = !strncmp(text, "SLUICE_TRACE=", 13) && strstr(text, rehearsal->folder);
    free(text);
    if (file) fclose(file);
    return ours;
}

static struct rehearsed *find(struct rehearsal *rehearsal, uint64_t process)
{
    for (size_t i = 0; i < rehearsal->count; i++)
        if (rehearsal->of[i].process == process) return &rehearsal->of[i];
    if (rehearsal->count == REHEARSAL_PROCESSES || !is_ours(rehearsal, process)) return NULL;
    rehearsal->of[rehearsal->count] = (struct rehearsed){.process = process};
    return &rehearsal->of[rehearsal->count++];
}

static uint64_t most(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void note(struct rehearsed *to, const struct sl_monitor_record *record)
{
    uint64_t host_bytes = 0, pinned_bytes = 0;
    for (uint32_t d = 0; d < record->devices; d++) {
        const struct sl_stats *figures = &record->figures[d];
        to->steps = most(to->steps, figures->steps);
        to->budget_bytes = most(to->budget_bytes, figures->budget_bytes);
        to->need_bytes = most(to->need_bytes, figures->need_bytes);
        to->host_limit_bytes = most(to->host_limit_bytes, figures->host_limit_bytes);
        host_bytes += figures->host_bytes;
        pinned_bytes += figures->pinned_peak_bytes;
    }
    to->host_bytes = most(to->host_bytes, host_bytes);
    to->pinned_bytes = most(to->pinned_bytes, pinned_bytes);
}

static void look(struct rehearsal *rehearsal, struct runs *runs)
{
    if (!runs_look(runs, SL_MONITOR_FOLDER, NULL, 0)) return; /* out of memory: the next look sees them */
    for (uint32_t r = 0; r < runs->count; r++) {
        struct rehearsed *found = runs->all[r].devices ? find(rehearsal, runs->all[r].process) : NULL;
        if (found) note(found, &runs->all[r]);
    }
}

/* Whether sluice counted any step: also repetitions within a training step. */
static bool have_stepped(const struct rehearsal *rehearsal)
{
    for (size_t i = 0; i < rehearsal->count; i++)
        if (rehearsal->of[i].steps) return true;
    return false;
}

/* --- */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = true;
}

static void show(const struct rehearsal_wish *wish, uint64_t steps, uint64_t began_ns)
{
    if (!is_terminal(stderr)) return;
    uint64_t s = (sl_clock_ns(CLOCK_MONOTONIC) - began_ns) / 1000000000u;
    fprintf(stderr, "\r\033[K%s: ", wish->card->name);
    if (wish->steps)
        fprintf(stderr, "step %" PRIu64 " of %" PRIu64, steps, wish->steps);
    else
        fprintf(stderr, "step %" PRIu64, steps);
    fprintf(stderr, ", %" PRIu64 " s", s);
    fflush(stderr);
}

static void pause_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

static void send(const struct rehearsal *rehearsal, pid_t child, int signal)
{
    kill(-child, signal);
    if (signal != SIGKILL) return; /* a launcher ends its ranks itself */
    for (size_t i = 0; i < rehearsal->count; i++)
        if (is_ours(rehearsal, rehearsal->of[i].process)) kill((pid_t)rehearsal->of[i].process, signal);
}

/* A number of what the software device says of the process: written once a second. 0: not yet. */
static double device_says(const struct rehearsal *rehearsal, uint64_t process, const char *name)
{
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    double number = 0;
    snprintf(path, sizeof(path), "%.*s/%" PRIu64 ".json", PATH_MAX - 32, rehearsal->folder, process);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0) {
        const char *found = strstr(line, name);
        if (found) number = strtod(found + strlen(name), NULL);
    }
    free(line);
    if (file) fclose(file);
    return number;
}

struct watching {
    const struct rehearsal_wish *wish;
    struct rehearsal *out;
    pid_t child;
    struct runs runs;
    uint64_t began_ns, next_read_ns, ended_ns; /* 0: not yet */
    uint64_t steps;
    struct reading { /* of the program's own time, after so many steps */
        uint64_t process, steps;
        double seconds, simulated_seconds;
    } readings[READINGS];
    size_t reading_count;
};

/* The last reading in the first half of the steps so far, or the first of all. */
static const struct reading *before(const struct watching *watching, uint64_t process)
{
    const struct reading *found = NULL;
    for (size_t i = 0; i < watching->reading_count; i++) {
        const struct reading *one = &watching->readings[i];
        if (one->process == process && (!found || 2 * one->steps <= watching->steps)) found = one;
    }
    return found;
}

static void measure(struct watching *watching, uint64_t process)
{
    struct rehearsal *out = watching->out;
    if (!watching->steps) return;
    const struct reading now = {process, watching->steps, device_says(out, process, "\"program_seconds\":"),
                                device_says(out, process, "\"simulated_seconds\":")};
    const struct reading *first = before(watching, process);
    if (now.seconds <= 0) return;
    if (first && now.steps > first->steps && now.seconds > first->seconds) {
        out->program_ns = (uint64_t)((now.seconds - first->seconds) * 1e9);
        out->simulated_ns = (uint64_t)((now.simulated_seconds - first->simulated_seconds) * 1e9);
        out->program_steps = now.steps - first->steps;
    }
    if (watching->reading_count < READINGS) watching->readings[watching->reading_count++] = now;
}

/* Reads the traces now and then. The larger they are, the seldomer. The steps are those of the process in
 * which most are found. */
static void count_steps(struct watching *watching)
{
    uint64_t now_ns = sl_clock_ns(CLOCK_MONOTONIC), most_steps = 0, process = 0;
    if (!have_stepped(watching->out) || now_ns < watching->next_read_ns) return;
    for (size_t i = 0; i < watching->out->count; i++) {
        const struct rehearsed *one = &watching->out->of[i];
        char path[PATH_MAX];
        rehearsal_trace(watching->out, i, path);
        uint64_t steps = one->steps ? training_steps(path, one->need_bytes) : 0;
        if (steps <= most_steps) continue;
        most_steps = steps;
        process = one->process;
    }
    watching->steps = most_steps;
    measure(watching, process);
    uint64_t took_ns = sl_clock_ns(CLOCK_MONOTONIC) - now_ns, wait_ns = READS_PART * took_ns;
    watching->next_read_ns = now_ns + took_ns + (wait_ns > BETWEEN_READS_NS ? wait_ns : BETWEEN_READS_NS);
}

/* Ends the command, and later kills it. */
static void end(struct watching *watching)
{
    uint64_t now_ns = sl_clock_ns(CLOCK_MONOTONIC);
    if (!watching->ended_ns) {
        watching->out->stopped = true;
        watching->ended_ns = now_ns;
        send(watching->out, watching->child, SIGTERM);
    } else if (now_ns - watching->ended_ns > ENDING_NS) {
        send(watching->out, watching->child, SIGKILL);
    }
}

/* Until the command has ended, or made its steps and was ended. */
static void watch(struct watching *watching)
{
    struct rehearsal *out = watching->out;
    const struct rehearsal_wish *wish = watching->wish;
    struct rusage used = {0};
    watching->began_ns = sl_clock_ns(CLOCK_MONOTONIC);
    while (wait4(watching->child, &out->status, WNOHANG, &used) == 0) {
        look(out, &watching->runs);
        if (!watching->ended_ns) count_steps(watching);
        show(wish, watching->steps, watching->began_ns);
        if (interrupted || (wish->steps && watching->steps >= wish->steps)) end(watching);
        pause_ns(BETWEEN_LOOKS_NS);
    }
    send(out, watching->child, SIGKILL); /* what the command left behind */
    if (is_terminal(stderr)) fputs("\r\033[K", stderr);
    out->processor_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
                        (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
    out->resident_bytes = (uint64_t)used.ru_maxrss << 10;
    runs_free(&watching->runs);
}

static int by_process(const void *a, const void *b)
{
    const struct rehearsed *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

void rehearsal_trace(const struct rehearsal *rehearsal, size_t index, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%.*s/%" PRIu64 ".slt", PATH_MAX - 32, rehearsal->folder,
             rehearsal->of[index].process);
}

/* A page may have come and gone between two looks; its trace is there. */
static void add_traces(struct rehearsal *rehearsal)
{
    DIR *open = opendir(rehearsal->folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char *end;
        uint64_t process = strtoull(entry->d_name, &end, 10);
        bool known =
            entry->d_name[0] == '.' || strcmp(end, ".slt") != 0 || rehearsal->count == REHEARSAL_PROCESSES;
        for (size_t i = 0; i < rehearsal->count && !known; i++) known = rehearsal->of[i].process == process;
        if (!known) rehearsal->of[rehearsal->count++] = (struct rehearsed){.process = process};
    }
    if (open) closedir(open);
}

/* Leaves out those without a trace, and without steps if others made some. */
static void choose(struct rehearsal *rehearsal)
{
    bool any = have_stepped(rehearsal);
    size_t kept = 0;
    add_traces(rehearsal);
    for (size_t i = 0; i < rehearsal->count; i++) {
        struct stat found;
        char path[PATH_MAX];
        const struct rehearsed *one = &rehearsal->of[i];
        rehearsal_trace(rehearsal, i, path);
        if (stat(path, &found) == 0 && found.st_size && (one->steps || !any)) rehearsal->of[kept++] = *one;
    }
    rehearsal->count = kept;
    qsort(rehearsal->of, kept, sizeof(*rehearsal->of), by_process);
}

int rehearsal_run(const struct rehearsal_wish *wish, struct rehearsal *out)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before[3], action = {.sa_handler = interrupt};
    *out = (struct rehearsal){0};
    if (!temporary_folder_make("sluice-rehearse", out->folder))
        return failure("no folder for the traces: %s", strerror(errno));
    fflush(stdout);
    interrupted = false;
    for (int i = 0; i < 3; i++) sigaction(signals[i], &action, &before[i]);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], NULL);
        become(wish, out);
    }
    struct watching watching = {.wish = wish, .out = out, .child = child};
    if (child > 0) watch(&watching);
    for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], NULL);
    if (child < 0) return failure("cannot start the command: %s", strerror(errno));
    out->interrupted = interrupted;
    choose(out);
    return EXIT_OK;
}

void rehearsal_close(struct rehearsal *rehearsal)
{
    if (rehearsal->folder[0]) temporary_folder_remove(rehearsal->folder);
    rehearsal->folder[0] = 0;
}
