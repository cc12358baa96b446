/* The text that the GPT trains on. */
#ifndef GPT_TEXT_CUH
#define GPT_TEXT_CUH

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpt_memory.cuh"

/* The file's bytes; the last tenth is held out for evaluation. */
struct Text {
    unsigned char *bytes;
    size_t size, training_size;
};

static void unreadable(const char *path, const char *why)
{
    fprintf(stderr, PROGRAM ": cannot read the data file '%s': %s\n", path, why);
    exit(EXIT_USAGE);
}

/* Both parts must hold at least one sequence and the byte after it. */
static struct Text read_text(const char *path, int context)
{
    struct Text text = {NULL, 0, 0};
    size_t room = 0, got;
    FILE *file = fopen(path, "rb");
    if (!file) unreadable(path, strerror(errno));
    do {
        if (text.size == room) {
            room = room ? 2 * room : 1 << 20;
            text.bytes = (unsigned char *)realloc(text.bytes, room);
            if (!text.bytes) unreadable(path, "it does not fit into memory");
        }
        got = fread(text.bytes + text.size, 1, room - text.size, file);
        text.size += got;
    } while (got);
    if (ferror(file)) unreadable(path, strerror(errno));
    fclose(file);
    text.training_size = text.size - text.size / 10;
    if (text.size / 10 < (size_t)context + 1) {
        fprintf(stderr, PROGRAM ": the data file '%s' has %zu bytes; --context %d needs at least %zu\n", path,
                text.size, context, 10 * ((size_t)context + 1));
        exit(EXIT_USAGE);
    }
    return text;
}

#endif
