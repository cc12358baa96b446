/* Runs one unit test: unit NAME, where test_NAME.c is its source, with - for _. Without a name it lists them.
 */
#include <stdio.h>
#include <string.h>

#include "runner.h"
#undef main

#define MOST_TESTS 400
#define NAME_BYTES 100

static struct {
    char name[NAME_BYTES];
    int (*run)(void);
} tests[MOST_TESTS];
static size_t count;

void unit_add(const char *file, int (*run)(void))
{
    const char *begin = strrchr(file, '/');
    begin = begin ? begin + 1 : file;
    if (!strncmp(begin, "test_", 5)) begin += 5;
    if (count == MOST_TESTS) return; /* its name is then unknown */
    char *name = tests[count].name;
    snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(begin, "."), begin);
    for (char *at = name; *at; at++)
        if (*at == '_') *at = '-';
    tests[count++].run = run;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < count; i++) {
        if (argc < 2) puts(tests[i].name);
        if (argc == 2 && !strcmp(argv[1], tests[i].name)) return tests[i].run();
    }
    if (argc < 2) return 0;
    fprintf(stderr, "unit: there is no test '%s'\n", argv[1]);
    return 2;
}
