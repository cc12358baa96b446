/* The options of a subcommand as a table, for parsing its arguments and printing its help. */
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
    void *value;              /* of the type for `kind`; unchanged unless the option is given */
    const char *argument;     /* name of the value in the help; NULL for OPTION_SWITCH and OPTION_WORD */
    const char *help;         /* one line of any length */
    const char *const *words; /* of OPTION_WORD; NULL after the last */
    char letter;              /* a short form: 'o' for -o; 0: none */
};

struct command_syntax {
    const char *name;                     /* "trace info" */
    const char *synopsis;                 /* the usage after the name: "[--json] FILE" */
    const char *about;                    /* whole lines of any length */
    const struct command_option *options; /* without --help, which every command has */
    size_t option_count;                  /* at most COMMAND_OPTIONS_MAX */
};
enum { COMMAND_OPTIONS_MAX = 24 };

/* Parses the options of `argv` (argv[0] is the subcommand's name) and its one operand, a file. Options may
 * stand before or after it; "--" ends them. False: the command ends with *status, because the help or
 * candidates for a completion (completion.h) were printed, or an error was reported on stderr. Not
 * thread-safe. */
bool read_command_line(const struct command_syntax *syntax, int argc, char **argv, const char **file,
                       int *status);

/* The same for at least `least` operands: *count words from *files on, in argv. */
bool read_command_line_of_files(const struct command_syntax *syntax, int argc, char **argv, size_t least,
                                char ***files, size_t *count, int *status);

/* The same for a command without operands. */
bool read_command_line_of_options(const struct command_syntax *syntax, int argc, char **argv, int *status);

/* The same for a command whose operands are another command with its arguments: options end at its first
 * word. *command: its words in argv, and NULL. */
bool read_command_line_of_command(const struct command_syntax *syntax, int argc, char **argv, char ***command,
                                  int *status);

/* Whether argv[1] requests help, for commands without such a table. */
bool wants_help(int argc, char **argv);

#endif
