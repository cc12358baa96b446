#include "tools/text/messages.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void print_line(const char *format, va_list arguments)
{
    fputs("sluice: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return EXIT_USAGE;
}

int failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return EXIT_FAILED;
}

const char *find_meant(const struct meant_word *list, const char *word)
{
    while (list->word && strcmp(list->word, word) != 0) list++;
    return list->instead;
}

int unknown_word(const char *what, const char *word, const char *(*words)(size_t index), const char *command)
{
    size_t best = 0;
    unsigned distance = UINT_MAX;
    for (size_t i = 0; words(i); i++) {
        unsigned candidate = sl_edit_distance(word, words(i));
        if (candidate < distance) distance = candidate, best = i;
    }
    if (!sl_is_near(word, distance)) return usage_error("unknown %s %s; see %s --help", what, word, command);
    return usage_error("unknown %s %s; did you mean %s?", what, word, words(best));
}

int flush_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    return failure("cannot write the output: %s", strerror(errno));
}
