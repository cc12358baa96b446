/* Writes the trace of a program whose step record_accesses.py recorded. usage: sequence_recorded FILE STEP
 * STEPS [claimed]; claimed: launches use what sluice believes that they may, not only what they do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_maker.h"

#define DEVICE_BYTES (24 * SL_GIB)

enum { MOST_USES = 1024, MOST_KERNELS = 1024 };

struct line {
    enum { LAUNCH, WAIT, WAIT_ALL, ALLOC, FREE } what;
    uint32_t slot;
    struct trace_launch launch;
    struct trace_use *uses;
    uint32_t use_count;
};

struct step {
    struct line *lines;
    size_t line_count, line_room;
    uint64_t *bytes; /* of allocations */
    uint32_t *sites;
    bool *there; /* before the step */
    uint32_t allocations, kernels;
    bool claimed;
};

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "sequence_recorded: %s: %s\n", what, text);
    exit(1);
}

static void *more(void *array, size_t count, size_t size)
{
    void *moved = realloc(array, count * size);
    if (!moved) fail("no memory", "for the step");
    return moved;
}

/* "w3:0-11"; false: not used. */
static bool read_use(const struct step *step, const char *word, struct trace_use *use)
{
    char letter;
    unsigned slot;
    unsigned long long first, last;
    if (sscanf(word, "%c%u:%llu-%llu", &letter, &slot, &first, &last) != 4 || slot >= step->allocations ||
        last < first || last > step->bytes[slot] / SL_BLOCK_BYTES)
        fail("not a use", word);
    uint64_t begin = first * SL_BLOCK_BYTES, end = (last + 1) * SL_BLOCK_BYTES;
    if (end > step->bytes[slot]) end = step->bytes[slot];
    if (begin >= end) fail("beyond the allocation", word);
    *use = (struct trace_use){.slot = slot, .written = letter == 'w', .offset = begin, .bytes = end - begin};
    return letter != 'c' || step->claimed;
}

static void read_uses(const struct step *step, char *words, struct line *line)
{
    static struct trace_use uses[MOST_USES];
    uint32_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (count == MOST_USES) fail("too many uses", word);
        count += read_use(step, word, &uses[count]);
    }
    line->use_count = count;
    line->uses = more(NULL, count + 1, sizeof *uses);
    memcpy(line->uses, uses, count * sizeof *uses);
}

/* False: it is no launch. */
static bool read_launch(const struct step *step, char *text, struct line *line)
{
    struct trace_launch *launch = &line->launch;
    unsigned long long size, ns;
    char direction[4];
    int end = 0;
    if (sscanf(text, "kernel %u %u %llu %llu%n", &launch->kernel, &launch->stream, &size, &ns, &end) == 4) {
        launch->kind = SL_LAUNCH_KERNEL;
        if (!launch->kernel || launch->kernel > step->kernels) fail("not a kernel's number", text);
    } else if (sscanf(text, "copy %3s %u %llu %llu%n", direction, &launch->stream, &size, &ns, &end) == 4) {
        launch->kind = SL_LAUNCH_COPY;
        launch->direction = strcmp(direction, "in") == 0    ? SL_COPY_IN
                            : strcmp(direction, "out") == 0 ? SL_COPY_OUT
                                                            : SL_COPY_ON_DEVICE;
    } else if (sscanf(text, "set %u %llu %llu%n", &launch->stream, &size, &ns, &end) == 3) {
        launch->kind = SL_LAUNCH_MEMSET;
    } else {
        return false;
    }
    launch->size = size;
    launch->duration_ns = ns;
    read_uses(step, text + end, line);
    return true;
}

/* False: it is no allocation. */
static bool read_allocation(struct step *step, const char *text)
{
    unsigned long long bytes;
    unsigned site;
    char when[6];
    if (sscanf(text, "allocation %llu %u %5s", &bytes, &site, when) != 3) return false;
    uint32_t count = step->allocations++;
    step->bytes = more(step->bytes, count + 1, sizeof *step->bytes);
    step->sites = more(step->sites, count + 1, sizeof *step->sites);
    step->there = more(step->there, count + 1, sizeof *step->there);
    step->bytes[count] = bytes;
    step->sites[count] = site;
    step->there[count] = strcmp(when, "there") == 0;
    return true;
}

static void read_line(struct step *step, char *text)
{
    struct line line = {.what = LAUNCH};
    if (read_allocation(step, text)) return;
    if (sscanf(text, "step %*u %u", &step->kernels) == 1) {
        if (step->kernels > MOST_KERNELS) fail("too many kernels", text);
        return;
    }
    if (strncmp(text, "wait ", 5) == 0)
        line.what = strcmp(text, "wait all\n") == 0 ? WAIT_ALL : WAIT;
    else if (sscanf(text, "alloc %u", &line.slot) == 1)
        line.what = ALLOC;
    else if (sscanf(text, "free %u", &line.slot) == 1)
        line.what = FREE;
    else if (!read_launch(step, text, &line))
        fail("not a line of a step", text);
    if (line.what >= ALLOC && line.slot >= step->allocations) fail("not an allocation", text);
    if (step->line_count == step->line_room) {
        step->line_room = 2 * step->line_room + 256;
        step->lines = more(step->lines, step->line_room, sizeof *step->lines);
    }
    step->lines[step->line_count++] = line;
}

static void read_step(const char *path, struct step *step)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    if (!file) fail("cannot be read", path);
    while (getline(&text, &room, file) > 0) read_line(step, text);
    free(text);
    fclose(file);
}

static void allocate(struct trace_maker *maker, const struct step *step, uint32_t slot)
{
    trace_maker_alloc_bytes(maker, slot, step->sites[slot], step->bytes[slot]);
}

static void play(struct trace_maker *maker, const struct step *step)
{
    for (size_t i = 0; i < step->line_count; i++) {
        const struct line *line = &step->lines[i];
        switch (line->what) {
        case LAUNCH:
            trace_maker_run(maker, &line->launch, line->uses, line->use_count);
            break;
        case WAIT:
        case WAIT_ALL:
            trace_maker_wait(maker, line->what == WAIT_ALL);
            break;
        case ALLOC:
            allocate(maker, step, line->slot);
            break;
        case FREE:
            trace_maker_free(maker, line->slot);
            break;
        }
    }
    trace_maker_end_step(maker);
}

static void release(struct step *step)
{
    for (size_t i = 0; i < step->line_count; i++) free(step->lines[i].uses);
    free(step->lines);
    free(step->bytes);
    free(step->sites);
    free(step->there);
}

int main(int argc, char **argv)
{
    static char names[MOST_KERNELS + 1][16];
    struct step step = {.claimed = argc == 5 && strcmp(argv[4], "claimed") == 0};
    if (argc != 4 + step.claimed)
        return fputs("usage: sequence_recorded FILE STEP STEPS [claimed]\n", stderr), 2;
    read_step(argv[2], &step);
    struct trace_maker *maker = trace_maker_open(argv[1], SL_BLOCK_BYTES, DEVICE_BYTES);
    for (uint32_t kernel = 1; kernel <= step.kernels; kernel++) {
        snprintf(names[kernel], sizeof names[kernel], "kernel %u", kernel);
        trace_maker_kernel(maker, kernel, names[kernel]);
    }
    for (uint32_t slot = 0; slot < step.allocations; slot++)
        if (step.there[slot]) allocate(maker, &step, slot);
    for (unsigned long left = strtoul(argv[3], NULL, 10); left; left--) play(maker, &step);
    trace_maker_close(maker);
    release(&step);
    return 0;
}
