#include "tools/text/command_line.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text/completion.h"
#include "tools/text/help.h"
#include "tools/text/messages.h"

/* Results of getopt_long; characters of short options are smaller. */
enum { FIRST_OPTION = 256, HELP = FIRST_OPTION + COMMAND_OPTIONS_MAX };

enum { ALLOWED_TEXT = 128 }; /* bytes for the words that an option takes */

/* "a|b|c" of the words that the option takes; longer lists are cut. */
static const char *join_words(const char *const *words, char *out, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; words[i] && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? "|" : "", words[i]);
    return out;
}

static void print_help(const struct command_syntax *syntax)
{
    FILE *to = help_begin();
    char words[ALLOWED_TEXT];
    fprintf(to, "Usage: sluice %s %s\n%s\nOptions:\n", syntax->name, syntax->synopsis, syntax->about);
    for (size_t i = 0; i < syntax->option_count; i++) {
        const struct command_option *option = &syntax->options[i];
        fputs("  ", to);
        if (option->letter) fprintf(to, "-%c, ", option->letter);
        fprintf(to, "--%s%s", option->name, option->kind == OPTION_SWITCH ? "" : " ");
        if (option->kind == OPTION_WORD)
            fputs(join_words(option->words, words, sizeof(words)), to);
        else if (option->argument)
            fputs(option->argument, to);
        fprintf(to, "\n      %s\n", option->help);
    }
    fputs("  --help\n      Print this help.\n", to);
    help_end(to);
}

/* For unknown_word, whose function receives only an index. */
static const struct command_syntax *named;
static const char *option_name(size_t index)
{
    static char name[64];
    if (index > named->option_count) return NULL;
    snprintf(name, sizeof(name), "--%s", index < named->option_count ? named->options[index].name : "help");
    return name;
}

static int unknown_option(const struct command_syntax *syntax, const char *word)
{
    char help[64];
    snprintf(help, sizeof(help), "sluice %s", syntax->name);
    named = syntax;
    return unknown_word("option", word, option_name, help);
}

static int take_word(const struct command_option *option, const char *value)
{
    char allowed[ALLOWED_TEXT];
    for (unsigned i = 0; option->words[i]; i++) {
        if (strcmp(option->words[i], value) != 0) continue;
        *(unsigned *)option->value = i;
        return EXIT_OK;
    }
    return usage_error("--%s %s is not allowed: it takes %s", option->name, value,
                       join_words(option->words, allowed, sizeof(allowed)));
}

static int take_number(const struct command_option *option, const char *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno)
        return usage_error("--%s %s: not a whole number", option->name, value);
    *(uint64_t *)option->value = number;
    return EXIT_OK;
}

static int take_option(const struct command_option *option, const char *value)
{
    switch (option->kind) {
    case OPTION_SWITCH:
        *(bool *)option->value = true;
        return EXIT_OK;
    case OPTION_NUMBER:
        return take_number(option, value);
    case OPTION_TEXT:
        *(const char **)option->value = value;
        return *value ? EXIT_OK : usage_error("--%s needs a value", option->name);
    case OPTION_WORD:
        return take_word(option, value);
    }
    return EXIT_USAGE;
}

static void fill_getopt_table(const struct command_syntax *syntax, struct option *table)
{
    size_t i = 0;
    for (; i < syntax->option_count; i++)
        table[i] = (struct option){.name = syntax->options[i].name,
                                   .has_arg = syntax->options[i].kind == OPTION_SWITCH ? no_argument
                                                                                       : required_argument,
                                   .val = FIRST_OPTION + (int)i};
    table[i] = (struct option){.name = "help", .has_arg = no_argument, .val = HELP};
    table[i + 1] = (struct option){0};
}

/* The short options: those of the table, and -h. Options of a command that follows are its own. */
static void fill_letters(const struct command_syntax *syntax, bool command_follows, char *letters)
{
    letters = stpcpy(letters, command_follows ? "+:h" : ":h");
    for (size_t i = 0; i < syntax->option_count; i++) {
        if (!syntax->options[i].letter) continue;
        *letters++ = syntax->options[i].letter;
        if (syntax->options[i].kind != OPTION_SWITCH) *letters++ = ':';
    }
    *letters = 0;
}

/* The index of the option that getopt_long found, or option_count. */
static size_t option_at(const struct command_syntax *syntax, int result)
{
    if (result >= FIRST_OPTION) return (size_t)(result - FIRST_OPTION);
    for (size_t i = 0; i < syntax->option_count; i++)
        if (syntax->options[i].letter == result) return i;
    return syntax->option_count;
}

/* `word` is the argument at which getopt_long stopped. */
static int refuse(const struct command_syntax *syntax, int result, const char *word)
{
    if (result == ':') return usage_error("%s: %s needs a value", syntax->name, word);
    if (optopt >= FIRST_OPTION)
        return usage_error("%s: %.*s takes no value", syntax->name, (int)strcspn(word, "="), word);
    if (optopt) return usage_error("unknown option -%c; see sluice %s --help", optopt, syntax->name);
    return unknown_option(syntax, word);
}

static int no_file(const struct command_syntax *syntax)
{
    return usage_error("%s: no file given; see sluice %s --help", syntax->name, syntax->name);
}

static int take_operand(const struct command_syntax *syntax, int argc, char **argv, const char **file)
{
    if (optind == argc) return no_file(syntax);
    if (optind + 1 < argc) return usage_error("%s takes one file", syntax->name);
    *file = argv[optind];
    return EXIT_OK;
}

static void print_completions(const struct command_syntax *syntax, enum completion_operands operands)
{
    static const char *const files[] = {"FILE", "OUT", "FOLDER"};
    struct completion_option options[COMMAND_OPTIONS_MAX];
    char words[COMMAND_OPTIONS_MAX][ALLOWED_TEXT];
    for (size_t i = 0; i < syntax->option_count; i++) {
        const struct command_option *from = &syntax->options[i];
        options[i] = (struct completion_option){
            .name = from->name, .help = from->help, .takes_value = from->kind != OPTION_SWITCH};
        if (from->kind == OPTION_WORD)
            options[i].values = join_words(from->words, words[i], sizeof(words[i]));
        for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++)
            options[i].takes_file |= from->argument && !strcmp(from->argument, files[f]);
    }
    completion_print(options, syntax->option_count, operands);
}

/* The operands remain at argv[optind]. */
static bool read_options(const struct command_syntax *syntax, enum completion_operands operands, int argc,
                         char **argv, int *status)
{
    *status = EXIT_OK;
    if (completion_is_wanted()) {
        print_completions(syntax, operands);
        return false;
    }
    struct option table[COMMAND_OPTIONS_MAX + 2];
    char letters[2 * COMMAND_OPTIONS_MAX + 4];
    fill_getopt_table(syntax, table);
    fill_letters(syntax, operands == OPERANDS_COMMAND, letters);
    optind = 0; /* restarts getopt */
    opterr = 0;
    for (int result; (result = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
        if (result == HELP || result == 'h') {
            print_help(syntax);
            *status = EXIT_OK;
            return false;
        }
        size_t option = option_at(syntax, result);
        if (option < syntax->option_count)
            *status = take_option(&syntax->options[option], optarg);
        else
            *status = refuse(syntax, result, argv[optind - 1]);
        if (*status != EXIT_OK) return false;
    }
    return true;
}

bool read_command_line(const struct command_syntax *syntax, int argc, char **argv, const char **file,
                       int *status)
{
    if (!read_options(syntax, OPERANDS_FILES, argc, argv, status)) return false;
    *status = take_operand(syntax, argc, argv, file);
    return *status == EXIT_OK;
}

bool read_command_line_of_files(const struct command_syntax *syntax, int argc, char **argv, size_t least,
                                char ***files, size_t *count, int *status)
{
    if (!read_options(syntax, OPERANDS_FILES, argc, argv, status)) return false;
    if ((size_t)(argc - optind) < least) {
        *status = least == 1 ? no_file(syntax)
                             : usage_error("%s takes at least %zu files; see sluice %s --help", syntax->name,
                                           least, syntax->name);
        return false;
    }
    *files = argv + optind;
    *count = (size_t)(argc - optind);
    return true;
}

bool read_command_line_of_options(const struct command_syntax *syntax, int argc, char **argv, int *status)
{
    if (!read_options(syntax, OPERANDS_NONE, argc, argv, status)) return false;
    if (optind == argc) return true;
    *status =
        usage_error("%s takes no arguments but options; see sluice %s --help", syntax->name, syntax->name);
    return false;
}

bool read_command_line_of_command(const struct command_syntax *syntax, int argc, char **argv, char ***command,
                                  int *status)
{
    if (!read_options(syntax, OPERANDS_COMMAND, argc, argv, status)) return false;
    *command = argv + optind;
    if (optind < argc) return true;
    *status = usage_error("%s: no command given; see sluice %s --help", syntax->name, syntax->name);
    return false;
}

bool wants_help(int argc, char **argv)
{
    return argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}
