/* `sluice run`: sets the environment for a program under sluice, and then executes it. */
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/output.h"
#include "move/stats.h"
#include "profile/profile.h"
#include "tools/command/commands.h"
#include "tools/command/executable.h"
#include "tools/command/places.h"
#include "tools/command/refused.h"
#include "tools/command/static_tls.h"
#include "tools/command/watch.h"
#include "tools/text/command_line.h"
#include "tools/text/completion.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"
#include "tools/text/option_flags.h"
#include "trace/trace_sink.h"

#define SOFTWARE_HELP "Use the software device softcuda instead of a GPU."
#define ADVISE_HELP                                                                                          \
    "Record the command, and print what would help it most on stderr after its end, as sluice advise does."

static void print_help(void)
{
    FILE *to = help_begin();
    fputs("Usage: sluice run [OPTION]... [--] COMMAND [ARGUMENT]...\n"
          "Runs COMMAND with libsluice.so preloaded, which oversubscribes GPU memory for unmodified CUDA "
          "programs.\n"
          "Exits with the status of COMMAND; 2: wrong usage, 126: COMMAND cannot be run, 127: there is no "
          "such command.\n\n"
          "  --software\n"
          "      " SOFTWARE_HELP "\n"
          "  --advise\n"
          "      " ADVISE_HELP "\n"
          "  -v\n"
          "      Short for --verbose; -vv gives it twice.\n",
          to);
    sl_options_print(to, false);
    help_end(to);
}

/* The flags of the option table, and those of this command. */
static const char *flag_name(size_t index)
{
    static char name[64];
    const char *flag = sl_options_flag(index);
    if (!flag) {
        static const char *const own[] = {"--software", "--advise"};
        size_t beyond = 0;
        while (beyond < index && !sl_options_flag(index - beyond - 1)) beyond++;
        return beyond < sizeof(own) / sizeof(*own) ? own[beyond] : NULL;
    }
    snprintf(name, sizeof(name), "--%s", flag);
    return name;
}

/* Adds `path` to the list in the variable, in front or at the end. */
static int add_path(const char *variable, const char *path, bool in_front)
{
    const char *old = getenv(variable);
    bool listed = old && *old;
    char *value;
    if (!listed) old = "";
    if (asprintf(&value, "%s%s%s", in_front ? path : old, listed ? ":" : "", in_front ? old : path) < 0)
        return failure("out of memory");
    int error = setenv(variable, value, 1);
    free(value);
    return error ? failure("cannot set %s: %s", variable, strerror(errno)) : EXIT_OK;
}

static int prepend(const char *variable, const char *path)
{
    return add_path(variable, path, true);
}

/* Makes the path absolute, because the program may change its working directory before it opens the file.
 * Refuses a file that cannot be written before the program starts. */
static int set_path(const char *flag, const char *variable, const char *value)
{
    char path[PATH_MAX], folder[2 * PATH_MAX];
    if (!sl_options_absolute(value, path, sizeof(path)))
        return usage_error("--%s: the path is too long, or the current folder has no path", flag);
    if (sl_options_expand(path, folder, sizeof(folder)) && access(dirname(folder), W_OK | X_OK) != 0)
        return usage_error("--%s %s: cannot write in this folder: %s", flag, value, strerror(errno));
    return setenv(variable, path, 1) ? failure("cannot set %s: %s", variable, strerror(errno)) : EXIT_OK;
}

static const char *problem_of(const struct sl_file_kind *kind, int error)
{
    if (error == EPERM) return "it is a link, or not this user's file alone, so sluice would not write to it";
    return error == EINVAL ? "it is a pipe, a folder or a socket, and no file" : sl_file_problem(kind, error);
}

/* Refuses files that the program could not replace. */
static int check_files(void)
{
    static const struct {
        const char *flag;
        const struct sl_file_kind *kind;
    } files[] = {{"trace", &sl_file_trace}, {"profile", &sl_file_profile}, {"stats", &sl_file_stats}};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        const char *template = getenv(sl_options_env_for_flag(files[i].flag, &(bool){false}));
        char path[PATH_MAX];
        if (template && *template && sl_options_expand(template, path, sizeof(path)) &&
            !sl_output_allowed(path, files[i].kind))
            return usage_error("--%s %s: %s", files[i].flag, path, problem_of(files[i].kind, errno));
    }
    return EXIT_OK;
}

/* "8" for 8 GiB. */
static bool is_bare_size(const char *variable, const char *value)
{
    for (size_t i = 0; i < SL_OPTION_COUNT; i++)
        if (!strcmp(sl_option_rows[i].env, variable))
            return (sl_option_rows[i].type == TYPE_BYTES || sl_option_rows[i].type == TYPE_POWER) && *value &&
                   !value[strspn(value, "0123456789.")];
    return false;
}

static int set_option(const char *flag, const char *variable, const char *value)
{
    char allowed[128];
    if (!sl_options_check(variable, value, allowed, sizeof(allowed)))
        return usage_error("--%s %s is not allowed: it takes %s%s", flag, value, allowed,
                           is_bare_size(variable, value) ? "; without a unit it is in bytes" : "");
    if (sl_options_is_path(variable)) return set_path(flag, variable, value);
    return setenv(variable, value, 1) ? failure("cannot set %s: %s", variable, strerror(errno)) : EXIT_OK;
}

struct choice { /* what is not in the environment */
    bool software, advise;
    unsigned verbose;
    struct wanted_command command;
};

/* Options of other programs of this kind, and words for the same things. */
static const struct meant_word meant[] = {
    {"-b", "--budget"},
    {"--memory", "--budget"},
    {"--mem", "--budget"},
    {"--vram", "--budget"},
    {"--gpu-memory", "--budget"},
    {"--gpu-mem", "--budget"},
    {"--device-memory", "--budget"},
    {"--device-budget", "--budget"},
    {"--limit", "--budget"},
    {"--size", "--budget"},
    {"--ram", "--host-limit"},
    {"--host-mem", "--host-limit"},
    {"--cpu-memory", "--host-limit"},
    {"--cpu", "--software"},
    {"--no-gpu", "--software"},
    {"--gpu", "CUDA_VISIBLE_DEVICES=N before sluice"},
    {"--gpus", "CUDA_VISIBLE_DEVICES=N before sluice"},
    {"--device", "CUDA_VISIBLE_DEVICES=N before sluice"},
    {"--devices", "CUDA_VISIBLE_DEVICES=N before sluice"},
    {"-m", "sluice run -- python -m"},
    {"-c", "sluice run -- python -c"},
    {NULL, NULL},
};

static int unknown_option(const char *word)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    const char *instead = find_meant(meant, name);
    if (instead) return usage_error("unknown option %s; did you mean %s?", word, instead);
    return unknown_word("option", word, flag_name, "sluice run");
}

/* Takes one option at argv[*at] and moves *at past it and its value. */
static int take_option(char **argv, int *at, struct choice *choice)
{
    const char *word = argv[(*at)++];
    bool *own = !strcmp(word, "--software") ? &choice->software
                : !strcmp(word, "--advise") ? &choice->advise
                                            : NULL;
    if (own) {
        *own = true;
        return EXIT_OK;
    }
    if (word[1] == 'v' && strspn(word + 1, "v") == strlen(word + 1)) {
        choice->verbose += (unsigned)strlen(word + 1);
        return EXIT_OK;
    }
    char flag[32] = "";
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    bool takes_value = false;
    if (!strncmp(word, "--", 2) && length - 2 < sizeof(flag)) memcpy(flag, word + 2, length - 2);
    const char *variable = sl_options_env_for_flag(flag, &takes_value);
    if (!variable) return unknown_option(word);
    if (!takes_value) {
        if (equals) return usage_error("--%s takes no value", flag);
        if (strcmp(flag, "verbose") != 0) return set_option(flag, variable, "1");
        choice->verbose++;
        return EXIT_OK;
    }
    const char *value = equals ? equals + 1 : argv[*at] ? argv[(*at)++] : NULL;
    if (!value) return usage_error("--%s needs a value", flag);
    if (!equals && sl_options_is_path(variable)) choice->command.option = word, choice->command.file = value;
    return set_option(flag, variable, value);
}

/* Frameworks bring their own CUDA libraries, which are found before LD_LIBRARY_PATH, and assemble PTX at run
 * time. The software device's folder has replacements for both. */
static int set_software_helpers(const char *folder, const struct executable *executable)
{
    static const char *const assemblers[] = {"TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"};
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/libsoftcuda_find.so", folder);
    int status = EXIT_OK;
    if (access(path, R_OK) == 0) {
        status = static_tls_make_room(executable);
        if (status == EXIT_OK) status = prepend("LD_AUDIT", path);
    }
    snprintf(path, sizeof(path), "%s/softcuda-ptxas", folder);
    for (size_t i = 0; i < sizeof(assemblers) / sizeof(*assemblers) && status == EXIT_OK; i++)
        if (access(path, X_OK) == 0 && setenv(assemblers[i], path, 0) != 0)
            status = failure("cannot set %s: %s", assemblers[i], strerror(errno));
    return status;
}

/* Whether the environment preloads a runtime that has to come first. */
static bool preloads_first(void)
{
    char *list = getenv("LD_PRELOAD") ? strdup(getenv("LD_PRELOAD")) : NULL, *rest = list, *entry;
    bool first = false;
    while (list && (entry = strsep(&rest, ": "))) {
        const char *slash = strrchr(entry, '/');
        first |= executable_comes_first(slash ? slash + 1 : entry);
    }
    free(list);
    return first;
}

/* libsluice.so comes before what the environment preloads, but behind a sanitizer's runtime. */
static int set_preload(const char *library, const struct executable *executable)
{
    if (executable->is_musl) return EXIT_OK;
    if (preloads_first()) return add_path("LD_PRELOAD", library, false);
    int status = prepend("LD_PRELOAD", library);
    if (status == EXIT_OK && executable->first[0]) status = prepend("LD_PRELOAD", executable->first);
    return status;
}

static int set_libraries(bool software, const struct executable *executable)
{
    char path[PATH_MAX];
    if (!find_library(path, sizeof(path)))
        return failure("cannot find libsluice.so in the places relative to this command");
    if (strpbrk(path, ": \t")) return failure("cannot preload %s: its path has a space or a colon", path);
    int status = set_preload(path, executable);
    if (status != EXIT_OK || !software) return status;
    if (!find_software_device(path, sizeof(path))) return failure("the software device is not installed");
    if (strchr(path, ':')) return failure("cannot use the software device in %s: its path has a colon", path);
    status = prepend("LD_LIBRARY_PATH", path);
    return status == EXIT_OK ? set_software_helpers(path, executable) : status;
}

static void ask_frameworks(void)
{
    static char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY];
    size_t count = sl_options_ask_frameworks() ? sl_framework_settings(entries) : 0;
    for (size_t i = 0; i < count; i++) putenv(entries[i]);
}

static void print_completions(void)
{
    struct completion_option options[SL_OPTION_COUNT + 2];
    for (size_t i = 0; i < SL_OPTION_COUNT; i++) {
        const struct sl_option_row *row = &sl_option_rows[i];
        options[i] = (struct completion_option){.name = row->flag,
                                                .help = row->help,
                                                .takes_value = row->type != TYPE_INTEGER,
                                                .takes_file = row->type == TYPE_STRING,
                                                .values = row->type == TYPE_ENUM ? row->names : NULL};
    }
    options[SL_OPTION_COUNT] = (struct completion_option){.name = "software", .help = SOFTWARE_HELP};
    options[SL_OPTION_COUNT + 1] = (struct completion_option){.name = "advise", .help = ADVISE_HELP};
    completion_print(options, SL_OPTION_COUNT + 2, OPERANDS_COMMAND);
}

/* Says what the user should know of a command that starts; returns whether there is a driver. */
static bool look_ahead(const struct choice *choice, const struct executable *executable)
{
    bool driver = choice->software || dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!command_starts(choice->command.words[0])) return driver;
    say_options_behind(&choice->command);
    if (!driver && !executable->obstacle)
        failure("there is no CUDA driver (libcuda.so.1), so the program runs without sluice; see sluice "
                "doctor, or use --software");
    return driver;
}

int command_run(int argc, char **argv)
{
    if (completion_is_wanted()) {
        print_completions();
        return EXIT_OK;
    }
    if (wants_help(argc, argv)) {
        print_help();
        return EXIT_OK;
    }
    struct choice choice = {0};
    int at = 1, status = EXIT_OK;
    while (at < argc && argv[at][0] == '-' && strcmp(argv[at], "--") != 0) {
        status = take_option(argv, &at, &choice);
        if (status != EXIT_OK) return status;
    }
    choice.command.separated = at < argc && !strcmp(argv[at], "--");
    at += choice.command.separated;
    if (at >= argc && say_taken_command(&choice.command)) return EXIT_USAGE;
    if (at >= argc) return usage_error("run: no command given; see sluice run --help");
    choice.command.words = argv + at;
    if (choice.verbose) {
        char level[16];
        snprintf(level, sizeof(level), "%u", choice.verbose);
        status = set_option("verbose", sl_options_env_for_flag("verbose", &(bool){false}), level);
        if (status != EXIT_OK) return status;
    }
    sl_file_overwrite(sl_options_overwrite());
    status = check_files();
    static struct executable executable; /* static because its paths are long */
    executable_read(argv[at], &executable);
    if (status == EXIT_OK) status = set_libraries(choice.software, &executable);
    if (status != EXIT_OK) return status;
    ask_frameworks();
    if (refuse_unmarked_script(&choice.command)) return EXIT_CANNOT_RUN;
    if (executable.obstacle)
        failure("%s %s, so sluice cannot be preloaded; it runs without sluice", argv[at],
                executable.obstacle);
    struct watch watch;
    static struct run_advice advice; /* static because its paths are long */
    advice.wanted = choice.advise;
    run_advice_begin(&advice);
    watch_start(&watch, look_ahead(&choice, &executable), &advice);
    if (watch.go < 0 && advice.wanted) {
        failure("no advice after the command: no process can be left behind that waits for its end");
        run_advice_cancel(&advice);
    }
    if (advice.wanted && command_starts(argv[at]))
        failure("this run is recorded; the advice follows here after its end, maybe some seconds after the "
                "prompt");
    execvp(argv[at], argv + at);
    int error = errno;
    watch_cancel(&watch);
    run_advice_cancel(&advice);
    return refuse_command(&choice.command, error);
}
