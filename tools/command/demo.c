/* `sluice demo`: trains a model larger than its device, with and without sluice, on the software device.
 *
 * The program is gpt (workloads/), which knows nothing of sluice. It runs four times: on a device with room
 * for everything, on a device with a third of that, on the same device under sluice, and there with unified
 * memory of its own. Each command is shown, so that it can be repeated. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/command/commands.h"
#include "tools/command/places.h"
#include "tools/text/command_line.h"
#include "tools/text/messages.h"
#include "tools/text/progress.h"
#include "tools/text/table.h"

#define MIB UINT64_C(1048576)
#define DEVICE "rtx4090"
enum { STEPS_MIN = 2, STEPS_MAX = 1000, TRAINING_WORDS = 16, WORDS = 32 };

struct training {
    char program[PATH_MAX + 16], text[PATH_MAX + 16], steps[24];
    const char *words[TRAINING_WORDS]; /* its command: NULL after the last */
    uint64_t step_count;
};

struct demo_case {
    const char *title;
    bool sluice, unified; /* with neither, the calls are passed through to the device */
};
enum { ROOM, SMALL, SLUICE, UNIFIED, CASES };
static const struct demo_case cases[CASES] = {
    {"A device with room for everything", false, false},
    {"A device with a third of that", false, false},
    {"The same device, under sluice", true, false},
    {"The same device, with unified memory of the program's own", false, true},
};

struct outcome {
    int status;                 /* of the command */
    uint64_t steps, took_ns;    /* steps that were finished; by this machine's clock */
    char loss[32], weights[32]; /* the last loss in hexadecimal and the weights' hash, for comparison */
    double later_ms;            /* the second half of the steps in all, by the device's clock */
    uint64_t peak_bytes;
    char error[256]; /* the line of gpt's that says why it did not finish */
};

/* --- one run */

/* The words in front of the training's, which end with "--". */
static void words_before(const struct demo_case *what, const char *budget, const char *words[WORDS])
{
    const char *const all[] = {"sluice",
                               "run",
                               "--software",
                               what->sluice ? "--budget" : "--policy",
                               what->sluice ? budget : "off",
                               what->sluice ? "--verbose" : NULL,
                               "--"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i]) *words++ = all[i];
    *words = NULL;
}

static const char *words_behind(const struct demo_case *what)
{
    return what->unified ? " --allocator managed" : "";
}

static void print_words(const char *const *words)
{
    for (; *words; words++) printf(" %s", *words);
}

/* The child's environment: no setting of the user's changes what the demo shows. */
static void set_environment(const char *memory)
{
    extern char **environ;
    for (char **entry = environ; *entry;) {
        bool setting = !strncmp(*entry, "SLUICE_", 7) || !strncmp(*entry, "SOFTCUDA_", 9);
        char *name = setting ? strndup(*entry, strcspn(*entry, "=")) : NULL;
        if (!name || unsetenv(name) != 0) entry++;
        free(name);
    }
    setenv("SOFTCUDA_PROFILE", DEVICE, 1);
    setenv("SOFTCUDA_MEMORY", memory, 1);
}

/* The child becomes `sluice run`, and that the training. Its output, and what sluice says, goes to `to`. */
static void become(const struct training *training, const struct demo_case *what, const char *memory, int to)
{
    const char *words[WORDS];
    words_before(what, memory, words);
    size_t count = 0;
    while (words[count]) count++;
    for (size_t i = 0; training->words[i]; i++) words[count++] = training->words[i];
    if (what->unified) words[count++] = "--allocator", words[count++] = "managed";
    words[count] = NULL;
    set_environment(memory);
    if (dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0) _exit(EXIT_FAILED);
    execv("/proc/self/exe", (char **)words);
    _exit(failure("cannot run sluice: %s", strerror(errno)));
}

static void take_line(const struct training *training, struct progress *progress, struct outcome *out,
                      char *line)
{
    uint64_t step;
    double ms;
    char loss[32];
    line[strcspn(line, "\n")] = 0;
    sl_defuse(line);
    if (sscanf(line, "step %" SCNu64 " loss %*s %31s time_ms %lf", &step, loss, &ms) == 3) {
        out->steps = step;
        progress_at(progress, step);
        strcpy(out->loss, loss);
        if (step > training->step_count / 2) out->later_ms += ms;
    } else if (sscanf(line, "peak_bytes %" SCNu64, &out->peak_bytes) != 1 &&
               sscanf(line, "weights_hash %31s", out->weights) != 1 && strncmp(line, "model ", 6) != 0) {
        progress_end(progress);
        printf("   %s\n", line);
        if (!strncmp(line, "gpt: ", 5)) snprintf(out->error, sizeof(out->error), "%s", line);
    }
}

/* Runs one case, shows its command and what is worth it of its output. */
static int run(const struct training *training, const struct demo_case *what, uint64_t device_bytes,
               struct outcome *out)
{
    char memory[24], *line = NULL;
    const char *words[WORDS];
    size_t room = 0;
    int ends[2];
    struct progress progress = {0};
    *out = (struct outcome){.status = -1};
    snprintf(memory, sizeof(memory), "%" PRIu64 "M", device_bytes / MIB);
    words_before(what, memory, words);
    printf("%s\n   SOFTCUDA_MEMORY=%s", what->title, memory);
    print_words(words);
    printf(" $gpt%s\n", words_behind(what));
    fflush(stdout);
    progress_start(&progress, "training", training->step_count);
    uint64_t start_ns = sl_clock_ns(CLOCK_MONOTONIC);
    if (pipe2(ends, O_CLOEXEC) != 0) return failure("cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) become(training, what, memory, ends[1]);
    close(ends[1]);
    FILE *from = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!from) close(ends[0]);
    while (from && getline(&line, &room, from) > 0) take_line(training, &progress, out, line);
    progress_end(&progress);
    if (from) fclose(from);
    free(line);
    if (child < 0 || waitpid(child, &out->status, 0) != child)
        return failure("cannot run sluice: %s", strerror(errno));
    out->took_ns = sl_clock_ns(CLOCK_MONOTONIC) - start_ns;
    if (out->status == 0)
        printf("   %" PRIu64 " steps, last loss %.4f\n", out->steps, strtod(out->loss, NULL));
    putchar('\n');
    return EXIT_OK;
}

/* --- all of them */

static int find_training(uint64_t steps, struct training *training)
{
    char folder[PATH_MAX];
    if (!find_demo(folder, sizeof(folder))) return failure("the demo's training program is not installed");
    snprintf(training->program, sizeof(training->program), "%s/gpt", folder);
    snprintf(training->text, sizeof(training->text), "%s/gpl-3.txt", folder);
    snprintf(training->steps, sizeof(training->steps), "%" PRIu64, steps);
    training->step_count = steps;
    const char *const words[] = {
        training->program, "--data", training->text, "--layers", "4",       "--width", "512",
        "--heads",         "8",      "--context",    "64",       "--batch", "2",       "--steps",
        training->steps,   NULL};
    _Static_assert(sizeof(words) <= sizeof(training->words), "room for the words");
    memcpy(training->words, words, sizeof(words));
    return EXIT_OK;
}

static bool same(const struct outcome *one, const struct outcome *other)
{
    return one->steps == other->steps && !strcmp(one->loss, other->loss) &&
           !strcmp(one->weights, other->weights);
}

/* The table; false: a run's result is another than that of the device with room. */
static bool print_table(const struct training *training, uint64_t device_bytes, const struct outcome *of)
{
    static const struct table_column columns[] = {{"device", false, false},
                                                  {"", true, false},
                                                  {"step", false, false},
                                                  {"result", true, false},
                                                  {"this took", false, false}};
    static const char *const ways[CASES] = {"", "", "under sluice", "unified memory"};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(*columns)};
    bool good = true;
    for (size_t i = 0; i < CASES; i++) {
        table_bytes(&table, i == ROOM ? of[ROOM].peak_bytes : device_bytes);
        table_cell(&table, "%s", ways[i]);
        if (of[i].status) {
            table_cell(&table, "-");
            table_cell(&table, "out of memory");
        } else {
            uint64_t later = training->step_count - training->step_count / 2;
            table_time(&table, (uint64_t)(of[i].later_ms * 1e6 / (double)later));
            table_cell(&table, "%s",
                       i == ROOM                 ? ""
                       : same(&of[i], &of[ROOM]) ? "the same bits"
                                                 : "OTHER BITS");
            good &= same(&of[i], &of[ROOM]);
        }
        table_time(&table, of[i].took_ns);
    }
    table_print(&table, stdout);
    table_free(&table);
    return good;
}

static void print_head(const struct training *training)
{
    printf("Trains a small GPT on softcuda, a CUDA device in software with the speed of an RTX 4090.\n"
           "The program is not changed, and knows nothing of sluice. To repeat a run:\n\n"
           "   export SOFTCUDA_PROFILE=" DEVICE "\n   gpt=\"%s",
           training->words[0]);
    print_words(training->words + 1);
    printf("\"\n\n");
}

static int run_all(const struct training *training)
{
    struct outcome of[CASES];
    print_head(training);
    int status = run(training, &cases[ROOM], 1024 * MIB, &of[ROOM]);
    if (status != EXIT_OK) return status;
    if (of[ROOM].status) return failure("the training failed, even on a device with room for everything");
    uint64_t third = of[ROOM].peak_bytes / 3 / (2 * MIB) * (2 * MIB);
    for (size_t i = SMALL; i < CASES; i++) {
        status = run(training, &cases[i], third, &of[i]);
        if (status != EXIT_OK) return status;
        if (i == SMALL ? !strstr(of[i].error, "out of device memory") : of[i].status != 0)
            return failure("this run did not end as it should");
    }
    bool good = print_table(training, third, of);
    printf("\nSteps are the mean of the second half, by the device's clock, which is simulated.\n"
           "On a GPU: sluice doctor, then sluice run --budget 8G -- your command\n");
    return good ? EXIT_OK : failure("the results differ");
}

int command_demo(int argc, char **argv)
{
    uint64_t steps = 8;
    const struct command_option options[] = {
        {"steps", OPTION_NUMBER, &steps, "N", "Updates of the weights in each run (8)."},
    };
    const struct command_syntax syntax = {
        .name = "demo",
        .synopsis = "[OPTION]...",
        .about = "Trains a small GPT on the software device four times: with room for everything, with a "
                 "third of that, there under sluice, and there with unified memory of the program's own. "
                 "Shows each command, the time of a step and whether the results have the same bits. Needs "
                 "no GPU; takes a minute of processor time.\n"
                 "Exit status 1: a run failed, or its results differ.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    static struct training training; /* static because its paths are long */
    int status;
    if (!read_command_line_of_options(&syntax, argc, argv, &status)) return status;
    if (steps < STEPS_MIN || steps > STEPS_MAX)
        return usage_error("--steps %" PRIu64 ": from %d to %d", steps, STEPS_MIN, STEPS_MAX);
    status = find_training(steps, &training);
    return status == EXIT_OK ? run_all(&training) : status;
}
