#include "tools/command/refused.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/command/executable.h"
#include "tools/text/messages.h"
#include "tools/text/option_flags.h"

enum { FIRST_LINE = 256 };

/* --- what is known of a word */

static bool exists(const char *path, mode_t kind)
{
    struct stat at;
    return stat(path, &at) == 0 && (at.st_mode & S_IFMT) == kind;
}

static bool is_in_path(const char *name)
{
    char path[PATH_MAX];
    return *name && !strchr(name, '/') && executable_find(name, path);
}

const char *interpreter_for(const char *file)
{
    const char *dot = strrchr(file, '.');
    if (!dot) return NULL;
    if (!strcmp(dot, ".py")) return is_in_path("python") || !is_in_path("python3") ? "python" : "python3";
    return !strcmp(dot, ".sh") ? "sh" : NULL;
}

/* Reads the start of a file. False: there is none, or it is empty or an object file. */
static bool read_start(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, out, bytes - 1);
    if (fd >= 0) close(fd);
    out[got > 0 ? got : 0] = 0;
    return got > 0 && strncmp(out, ELFMAG, SELFMAG) != 0;
}

/* Reads the first line of a script, "#!/bin/sh -e". False: it is none. */
static bool read_interpreter(const char *path, char line[FIRST_LINE])
{
    if (!read_start(path, line, FIRST_LINE) || strncmp(line, "#!", 2) != 0) return false;
    line[strcspn(line, "\n")] = 0;
    return true;
}

bool command_starts(const char *word)
{
    char path[PATH_MAX], line[FIRST_LINE];
    if (!executable_find(word, path) || !exists(path, S_IFREG) || access(path, X_OK) != 0) return false;
    if (!read_interpreter(path, line)) return true;
    char *interpreter = line + 2 + strspn(line + 2, " \t");
    interpreter[strcspn(interpreter, " \t")] = 0;
    return access(interpreter, X_OK) == 0;
}

/* Appends a word in quotes if a shell would change it. False: there is no room. */
static bool append_word(const char *word, bool first, char *out, size_t bytes)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,+@%-";
    bool quoted = !*word || word[strspn(word, plain)];
    size_t used = strlen(out);
    if (used + strlen(word) + sizeof(" '' ...") > bytes || strchr(word, '\'')) return false;
    snprintf(out + used, bytes - used, "%s%s%s%s", first ? "" : " ", quoted ? "'" : "", word,
             quoted ? "'" : "");
    return true;
}

const char *command_text(char *const *words, char out[COMMAND_TEXT])
{
    out[0] = 0;
    for (size_t i = 0; words[i]; i++) {
        if (append_word(words[i], !i, out, COMMAND_TEXT)) continue;
        strcat(out, " ...");
        break;
    }
    return out;
}

/* --- reasons: each says a line and returns true if it is the one */

bool say_taken_command(const struct wanted_command *wanted)
{
    if (!wanted->file || !is_in_path(wanted->file)) return false;
    char rest[COMMAND_TEXT] = "";
    if (wanted->words) command_text(wanted->words, rest);
    usage_error("%s took %s as its file; write sluice run %s FILE -- %s%s%s", wanted->option, wanted->file,
                wanted->option, wanted->file, rest[0] ? " " : "", rest);
    return true;
}

/* En dash and em dash, which editors and web pages make of two hyphens. */
static bool say_dash(const char *word)
{
    if (strncmp(word, "\xE2\x80\x93", 3) != 0 && strncmp(word, "\xE2\x80\x94", 3) != 0) return false;
    failure("cannot run %s: it begins with a dash that is no hyphen; write -- or --OPTION", word);
    return true;
}

static bool say_variable(const struct wanted_command *wanted)
{
    const char *word = wanted->words[0], *equals = strchr(word, '=');
    if (!equals || equals == word) return false;
    for (const char *at = word; at < equals; at++)
        if (!isalnum((unsigned char)*at) && *at != '_') return false;
    char text[COMMAND_TEXT];
    failure("cannot run %s: it is a variable; write it before sluice, or sluice run -- env %s", word,
            command_text(wanted->words, text));
    return true;
}

/* A whole command line in quotes. */
static bool say_one_word(const char *word)
{
    char first[NAME_MAX + 1];
    size_t length = strcspn(word, " ");
    if (!word[length] || length >= sizeof(first)) return false;
    memcpy(first, word, length);
    first[length] = 0;
    if (!is_in_path(first)) return false;
    failure("cannot run '%s': it is one word; without quotes: sluice run -- %s", word, word);
    return true;
}

static bool say_script(const struct wanted_command *wanted)
{
    char text[COMMAND_TEXT];
    const char *word = wanted->words[0], *interpreter = interpreter_for(word);
    if (!interpreter || !exists(word, S_IFREG)) return false;
    failure("cannot run %s: it is a %s script; write sluice run -- %s %s", word,
            strcmp(interpreter, "sh") ? "Python" : "shell", interpreter, command_text(wanted->words, text));
    return true;
}

static bool say_folder(const char *word)
{
    if (!exists(word, S_IFDIR)) return false;
    failure("cannot run %s: it is a folder", word);
    return true;
}

static bool say_here(const char *word)
{
    if (strchr(word, '/') || !exists(word, S_IFREG)) return false;
    failure("cannot run %s: PATH has no such command; the file in this folder is ./%s", word, word);
    return true;
}

static bool say_not_executable(const char *word)
{
    if (!exists(word, S_IFREG) || access(word, X_OK) == 0) return false;
    failure("cannot run %s: it is not executable; chmod +x %s makes it so", word, word);
    return true;
}

/* The file is there, but not what is to run it. */
static bool say_interpreter(const char *word)
{
    char line[FIRST_LINE], path[PATH_MAX];
    if (!executable_find(word, path) || !read_interpreter(path, line)) return false;
    char *end = strchr(line, '\r');
    if (end) *end = 0;
    sl_defuse(line);
    failure("cannot run %s: there is no program for its first line, %s%s", word, line,
            end ? ", which ends as on Windows: dos2unix mends it" : "");
    return true;
}

static bool say_reason(const struct wanted_command *wanted, int error)
{
    const char *word = wanted->words[0];
    if (say_taken_command(wanted) || say_dash(word) || say_variable(wanted) || say_one_word(word))
        return true;
    if (error == ENOENT && say_interpreter(word)) return true;
    if (say_script(wanted) || say_folder(word)) return true;
    return error == ENOENT ? say_here(word) : say_not_executable(word);
}

int refuse_command(const struct wanted_command *wanted, int error)
{
    if (!say_reason(wanted, error)) failure("cannot run %s: %s", wanted->words[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

bool refuse_unmarked_script(const struct wanted_command *wanted)
{
    const char *word = wanted->words[0], *interpreter = interpreter_for(word);
    char start[4], path[PATH_MAX], text[COMMAND_TEXT];
    if (!interpreter || !strcmp(interpreter, "sh") || !executable_find(word, path)) return false;
    if (!read_start(path, start, sizeof(start)) || !strncmp(start, "#!", 2)) return false;
    failure("cannot run %s: it is a Python script without a #! line; write sluice run -- %s %s", word,
            interpreter, command_text(wanted->words, text));
    return true;
}

void say_options_behind(const struct wanted_command *wanted)
{
    static const char *const common[] = {"trace", "profile", "stats", "live",    "log",
                                         "force", "verbose", "top",   "backing", "policy"};
    if (wanted->separated) return;
    for (size_t i = 1; wanted->words[i] && strcmp(wanted->words[i], "--") != 0; i++) {
        const char *word = wanted->words[i];
        char flag[32];
        size_t length = strcspn(word, "=");
        if (strncmp(word, "--", 2) != 0 || length - 2 >= sizeof(flag)) continue;
        snprintf(flag, sizeof(flag), "%.*s", (int)length - 2, word + 2);
        bool own = sl_options_env_for_flag(flag, &(bool){false}) || !strcmp(flag, "software") ||
                   !strcmp(flag, "advise");
        for (size_t c = 0; c < sizeof(common) / sizeof(*common); c++) own &= strcmp(flag, common[c]) != 0;
        if (!own) continue;
        failure("--%s stands behind %s, which gets it; options of sluice run come before the command", flag,
                wanted->words[0]);
        return;
    }
}
