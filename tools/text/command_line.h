/* The options of a subcommand as a table, from which its arguments are read and its help is printed. */
#ifndef SLUICE_COMMAND_LINE_H
#define SLUICE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_SWITCH, /* bool: set to true */
    OPTION_NUMBER, /* uint64_t: decimal digits */
    OPTION_TEXT,   /* const char *: any word */
    OPTION_WORD,   /* unsigned: the index of one of `words` */
};

struct command_option {
    const char *name; /* without its dashes */
    enum option_kind kind;
    void *value;              /* as the kind says; unchanged where the option is not given */
    const char *argument;     /* how the value is called in the help; NULL for a switch and for words */
    const char *help;         /* one line of any length */
    const char *const *words; /* of OPTION_WORD; NULL after the last */
};

struct command_syntax {
    const char *name;                     /* "trace info" */
    const char *synopsis;                 /* what follows the name: "[--json] FILE" */
    const char *about;                    /* whole lines of any length */
    const struct command_option *options; /* without help, which every command has */
    size_t option_count;                  /* at most COMMAND_OPTIONS_MAX */
};
enum { COMMAND_OPTIONS_MAX = 24 };

/* Reads the options of `argv` (argv[0] is the subcommand's name) and its one operand, a file: options may
 * stand before and behind it, "--" ends them. False: there is nothing more to do, and *status is the exit
 * status: the help was asked for and printed, or the arguments are wrong, which was said on stderr. Not
 * thread-safe. */
bool read_command_line(const struct command_syntax *syntax, int argc, char **argv, const char **file,
                       int *status);

/* The same for `least` operands or more, which are *count words from *files on, in argv. */
bool read_command_line_of_files(const struct command_syntax *syntax, int argc, char **argv, size_t least,
                                char ***files, size_t *count, int *status);

/* Whether argv[1] asks for help: for what has no such table. */
bool wants_help(int argc, char **argv);

#endif
