#include "answer.h"

#include <stdarg.h>
#include <stdio.h>

static const char *probe_name = "";

void answer_for(const char *probe)
{
    probe_name = probe;
}

static void begin(const char *what, va_list arguments)
{
    printf("{\"part\": \"doubt\", \"probe\": \"%s\", \"what\": \"", probe_name);
    vprintf(what, arguments);
    printf("\", ");
}

void answer_text(const char *answer, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    begin(what, arguments);
    va_end(arguments);
    printf("\"answer\": \"%s\"}\n", answer);
}

void answer_number(double value, const char *unit, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    begin(what, arguments);
    va_end(arguments);
    printf("\"value\": %.3f, \"unit\": \"%s\"}\n", value, unit);
}

void answer_metadata(bool holds, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    begin(what, arguments);
    va_end(arguments);
    printf("\"holds\": %s}\n", holds ? "true" : "false");
}
