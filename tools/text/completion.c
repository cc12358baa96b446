#include "tools/text/completion.h"

#include <stdio.h>
#include <string.h>

static struct {
    char *const *words;
    size_t count, before; /* count 0: no completion is wanted */
} wanted;

void completion_begin(char *const *words, size_t count, size_t before)
{
    wanted.words = words;
    wanted.count = count;
    wanted.before = before;
}

bool completion_is_wanted(void)
{
    return wanted.count > 0;
}

static const char *incomplete(void)
{
    return wanted.words[wanted.count - 1];
}

static size_t sentence_length(const char *text)
{
    size_t i = 0;
    while (text[i] && text[i] != '\n' && !(text[i] == '.' && (text[i + 1] == ' ' || !text[i + 1]))) i++;
    return i;
}

void completion_word(const char *word, const char *help)
{
    if (strncmp(word, incomplete(), strlen(incomplete())) != 0) return;
    printf("%s\t%.*s\n", word, (int)sentence_length(help), help);
}

static bool is_option(const char *word)
{
    return !strncmp(word, "--", 2) && word[2];
}

static const struct completion_option *find_option(const struct completion_option *options, size_t count,
                                                   const char *word)
{
    size_t length = strcspn(word, "=");
    if (!is_option(word)) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length - 2 && !memcmp(options[i].name, word + 2, length - 2))
            return &options[i];
    return NULL;
}

/* `before`: what the incomplete word has before the value: "--sort=" or nothing. `begun`: the start of the
 * value. */
static void print_values(const struct completion_option *option, const char *before, size_t before_length,
                         const char *begun)
{
    if (option->takes_file) puts(":files");
    for (const char *value = option->values; value && *value;) {
        size_t length = strcspn(value, "|"), begun_length = strlen(begun);
        if (begun_length <= length && !memcmp(value, begun, begun_length))
            printf("%.*s%.*s\t\n", (int)before_length, before, (int)length, value);
        value += length + (value[length] == '|');
    }
}

/* Prints the values if the incomplete word is the value of an option. bash makes words of "--sort", "=" and
 * "time". */
static bool complete_value(const struct completion_option *options, size_t count)
{
    const char *last = incomplete(), *equals = strchr(last, '=');
    size_t at = wanted.count - 1;
    const struct completion_option *option = find_option(options, count, last);
    if (option && equals) {
        print_values(option, last, (size_t)(equals + 1 - last), equals + 1);
        return true;
    }
    bool after_equals = at && !strcmp(wanted.words[at - 1], "=");
    if (after_equals) at--;
    option = at ? find_option(options, count, wanted.words[at - 1]) : NULL;
    if (!option || !option->takes_value || strchr(wanted.words[at - 1], '=')) return false;
    print_values(option, "", 0, !strcmp(last, "=") ? "" : last);
    return true;
}

/* The index of the first complete word that is an operand; wanted.count: there is none. *ended: "--" is
 * before it. */
static size_t first_operand(const struct completion_option *options, size_t count, bool *ended)
{
    size_t i = 0;
    for (*ended = false; i + 1 < wanted.count; i++) {
        const char *word = wanted.words[i];
        if (!strcmp(word, "--")) {
            *ended = true;
            return i + 2 < wanted.count ? i + 1 : wanted.count;
        }
        if (word[0] != '-') return i;
        const struct completion_option *option = find_option(options, count, word);
        if (!option || !option->takes_value || strchr(word, '=')) continue;
        if (i + 2 < wanted.count && !strcmp(wanted.words[i + 1], "=")) i++;
        i++;
    }
    return wanted.count;
}

void completion_print(const struct completion_option *options, size_t count,
                      enum completion_operands operands)
{
    bool ended;
    size_t operand = first_operand(options, count, &ended);
    if (operands == OPERANDS_COMMAND && operand < wanted.count) {
        printf(":command %zu\n", wanted.before + operand + 1);
        return;
    }
    if (!ended && complete_value(options, count)) return;
    if (!ended && incomplete()[0] == '-') {
        for (size_t i = 0; i < count; i++) {
            char name[64];
            snprintf(name, sizeof(name), "--%s", options[i].name);
            completion_word(name, options[i].help);
        }
        completion_word("--help", "Print help");
        return;
    }
    if (operands == OPERANDS_FILES) puts(":files");
    if (operands == OPERANDS_COMMAND) printf(":command %zu\n", wanted.before + wanted.count);
}
