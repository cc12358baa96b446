/* `sluice kernel install`: registers a Jupyter kernel that starts under sluice. Jupyter finds kernels by a
 * file kernel.json in a folder of the kernel's name, and starts what is its "argv". */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "base/text.h"
#include "tools/command/commands.h"
#include "tools/command/executable.h"
#include "tools/text/command_line.h"
#include "tools/text/completion.h"
#include "tools/text/help.h"
#include "tools/text/json.h"
#include "tools/text/messages.h"
#include "tools/text/option_flags.h"
#include "tools/text/output_file.h"

#define MADE_BY "sluice kernel install"
static const struct sl_file_kind kernel_kind = SL_FILE_KIND("not a kernel that sluice registered", MADE_BY);

struct wish {
    const char *name, *display_name, *python, *prefix, *budget;
    bool software;
};

/* --- the Python */

/* Reads one line of what `python -c PROGRAM` prints, without its newline. False: it failed, or printed none.
 */
static bool ask_python(const char *python, const char *program, char *line, size_t bytes)
{
    char *argv[] = {(char *)python, "-c", (char *)program, NULL};
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    bool good = posix_spawnp(&child, python, &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    bool read = from && good && fgets(line, (int)bytes, from);
    if (from)
        fclose(from);
    else
        close(ends[0]);
    if (!good || waitpid(child, &status, 0) != child || status != 0 || !read) return false;
    line[strcspn(line, "\n")] = 0;
    return line[0] == '/';
}

/* The absolute path of the Python that the kernel runs, and whether it can be one. */
static int find_python(const char *wanted, char path[PATH_MAX])
{
    static struct executable executable; /* static because its paths are long */
    const char *python = wanted ? wanted : "python3";
    if (!ask_python(python, "import sys; print(sys.executable)", path, PATH_MAX))
        return failure("cannot run %s; --python names another", python);
    if (!ask_python(path, "import ipykernel_launcher as l; print(l.__file__)", (char[PATH_MAX]){0}, PATH_MAX))
        return failure("%s has no kernel for Jupyter: %s -m pip install ipykernel", path, path);
    executable_read(path, &executable);
    if (executable.obstacle)
        return failure("%s %s, so sluice cannot be preloaded", path, executable.obstacle);
    return EXIT_OK;
}

/* --- the place */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Where Jupyter looks for the user's own kernels, or for those of `prefix`. */
static int find_folder(const struct wish *wish, char folder[PATH_MAX])
{
    int length;
    if (wish->prefix)
        length = snprintf(folder, PATH_MAX, "%s/share/jupyter/kernels/%s", wish->prefix, wish->name);
    else if (variable("JUPYTER_DATA_DIR"))
        length = snprintf(folder, PATH_MAX, "%s/kernels/%s", variable("JUPYTER_DATA_DIR"), wish->name);
    else if (variable("XDG_DATA_HOME"))
        length = snprintf(folder, PATH_MAX, "%s/jupyter/kernels/%s", variable("XDG_DATA_HOME"), wish->name);
    else if (variable("HOME"))
        length =
            snprintf(folder, PATH_MAX, "%s/.local/share/jupyter/kernels/%s", variable("HOME"), wish->name);
    else
        return failure("HOME is not set; --prefix says where the kernel goes");
    return length < PATH_MAX ? EXIT_OK : failure("the folder's name is too long");
}

/* Makes the folder with those above it. */
static int make_folder(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", folder);
    for (char *at = path + 1;; at++) {
        if (*at && *at != '/') continue;
        char end = *at;
        *at = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return failure("cannot make %s: %s", path, strerror(errno));
        if (!end) return EXIT_OK;
        *at = end;
    }
}

/* --- the file */

static void print_command(struct json *json, const struct wish *wish, const char *python)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) strcpy(self, "sluice");
    const char *words[] = {self,
                           "run",
                           wish->software ? "--software" : NULL,
                           wish->budget ? "--budget" : NULL,
                           wish->budget,
                           "--",
                           python,
                           "-m",
                           "ipykernel_launcher",
                           "-f",
                           "{connection_file}"};
    json_array(json, "argv", false);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (words[i]) json_text(json, NULL, words[i]);
    json_close(json);
}

static void print_kernel(FILE *to, const struct wish *wish, const char *python)
{
    struct json json = {.to = to};
    char standard[128], *title;
    snprintf(standard, sizeof(standard), "Python 3 (sluice%s%s%s)", wish->software ? ", software device" : "",
             wish->budget ? ", " : "", wish->budget ? wish->budget : "");
    title = strdup(wish->display_name ? wish->display_name : standard);
    if (title) sl_defuse(title);
    json_object(&json, NULL, true);
    json_object(&json, "metadata", false);
    json_text(&json, "made_by", MADE_BY);
    json_bool(&json, "debugger", true);
    json_close(&json);
    json_text(&json, "display_name", title ? title : standard);
    json_text(&json, "language", "python");
    print_command(&json, wish, python);
    json_close(&json);
    free(title);
}

static int write_kernel(const char *path, const struct wish *wish, const char *python)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return failure("out of memory");
    print_kernel(to, wish, python);
    int status = fclose(to) == 0 ? output_replace(path, &kernel_kind, text, bytes) : failure("out of memory");
    free(text);
    if (status == EXIT_OK && chmod(path, 0644) != 0)
        status = failure("cannot let others read %s: %s", path, strerror(errno));
    return status;
}

/* --- the command */

static int check_wish(const struct wish *wish)
{
    char allowed[128];
    const char *budget = sl_options_env_for_flag("budget", &(bool){false});
    if (strspn(wish->name, "abcdefghijklmnopqrstuvwxyz0123456789._-") != strlen(wish->name))
        return usage_error("--name %s: Jupyter allows small letters, digits, '.', '_' and '-'", wish->name);
    if (wish->budget && !sl_options_check(budget, wish->budget, allowed, sizeof(allowed)))
        return usage_error("--budget %s is not allowed: it takes %s", wish->budget, allowed);
    return EXIT_OK;
}

static int kernel_install(int argc, char **argv)
{
    struct wish wish = {.name = "sluice"};
    bool force = false;
    const struct command_option options[] = {
        {"name", OPTION_TEXT, &wish.name, "NAME", "Jupyter's name of the kernel; without it, sluice."},
        {"display-name", OPTION_TEXT, &wish.display_name, "TEXT",
         "The name that users see; without it, one with the budget."},
        {"budget", OPTION_TEXT, &wish.budget, "SIZE",
         "The budget, as of sluice run; without it, what is free on the device."},
        {"software", OPTION_SWITCH, &wish.software, .help = "Use the software device instead of a GPU."},
        {"python", OPTION_TEXT, &wish.python, "PYTHON",
         "The Python that the kernel runs, which has ipykernel; without it, python3."},
        {"prefix", OPTION_TEXT, &wish.prefix, "FOLDER",
         "Register it for an environment instead of the user: below FOLDER/share/jupyter."},
        {"force", OPTION_SWITCH, &force, .help = FORCE_HELP},
    };
    const struct command_syntax syntax = {
        .name = "kernel install",
        .synopsis = "[OPTION]...",
        .about = "Registers a Jupyter kernel for Python that sluice run starts, so that notebooks have more "
                 "device memory than there is. Prints the path of its kernel.json, whose argv may be edited "
                 "to give sluice run more options. jupyter kernelspec remove NAME removes it.\n",
        .options = options,
        .option_count = sizeof(options) / sizeof(*options),
    };
    char folder[PATH_MAX], path[PATH_MAX + sizeof("/kernel.json")], python[PATH_MAX];
    int status;
    if (!read_command_line_of_options(&syntax, argc, argv, &status)) return status;
    output_force(force);
    status = check_wish(&wish);
    if (status == EXIT_OK) status = find_folder(&wish, folder);
    if (status == EXIT_OK) status = find_python(wish.python, python);
    if (status == EXIT_OK) status = make_folder(folder);
    if (status != EXIT_OK) return status;
    snprintf(path, sizeof(path), "%s/kernel.json", folder);
    status = write_kernel(path, &wish, python);
    if (status == EXIT_OK) puts(path);
    return status;
}

static const char *const install_help = "a Jupyter kernel that starts under sluice";

const char *kernel_command_name(size_t index, const char **help)
{
    if (index) return NULL;
    *help = install_help;
    return "install";
}

static const char *command_name(size_t index)
{
    return kernel_command_name(index, &(const char *){NULL});
}

int command_kernel(int argc, char **argv)
{
    if (argc < 2) return usage_error("kernel: no command given; see sluice kernel --help");
    if (wants_help(argc, argv) || !strcmp(argv[1], "help")) {
        FILE *to = help_begin();
        fprintf(to,
                "Usage: sluice kernel install [OPTION]...\nRegisters kernels of Jupyter.\n\nCommands:\n"
                "  %-9s %s\n",
                "install", install_help);
        help_end(to);
        return EXIT_OK;
    }
    if (!strcmp(argv[1], "install")) return kernel_install(argc - 1, argv + 1);
    if (argv[1][0] == '-') return usage_error("unknown option %s; see sluice kernel --help", argv[1]);
    return unknown_word("kernel command", argv[1], command_name, "sluice kernel");
}
