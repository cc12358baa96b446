#include "tools/rehearse/training_steps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/text/messages.h"

#define NEED_PART 3    /* of the need, at least, a step uses */
#define LEFT_PART 1000 /* of what is left allocated may differ */
#define SIZE_PART 50   /* of the number of launches may differ */

/* A repetition, and what was found out about it. */
struct repetition {
    struct step step;
    uint64_t bytes, left_bytes; /* that it uses; allocated at its end */
    uint8_t *marks;             /* the slots that it uses */
};

static bool is_near(uint64_t one, uint64_t other, uint64_t part)
{
    uint64_t more = one > other ? one : other;
    return more - (one < other ? one : other) <= more / part;
}

/* The bytes that are allocated at the step's last launch. */
static uint64_t live_bytes(const struct model *model, const struct step *step)
{
    uint64_t tick = model->launches.at[step->end - 1].tick, bytes = 0;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->born_tick <= tick && life->died_tick > tick) bytes += model->slots.at[life->slot].bytes;
    }
    return bytes;
}

static void mark(const struct model *model, struct repetition *one)
{
    one->bytes = 0;
    memset(one->marks, 0, model->slots.count);
    for (uint32_t l = one->step.begin; l < one->step.end; l++) {
        const struct model_set *set = &model->sets.at[model_shape_of(model, &model->launches.at[l])->set];
        for (uint32_t r = 0; r < set->count; r++) {
            uint32_t slot = model_set_range(model, set, r)->slot;
            if (!one->marks[slot]) one->bytes += model->slots.at[slot].bytes;
            one->marks[slot] = 1;
        }
    }
}

/* The bytes that both use. */
static uint64_t shared_bytes(const struct model *model, const struct repetition *one,
                             const struct repetition *other)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < model->slots.count; s++)
        if (one->marks[s] && other->marks[s]) bytes += model->slots.at[s].bytes;
    return bytes;
}

static bool are_alike(const struct model *model, const struct repetition *one, const struct repetition *next)
{
    uint32_t size = one->step.end - one->step.begin, next_size = next->step.end - next->step.begin;
    return is_near(size, next_size, SIZE_PART) && is_near(one->left_bytes, next->left_bytes, LEFT_PART) &&
           shared_bytes(model, one, next) >= one->bytes / 2;
}

/* Iteration `index` > 0 of the trace. False: it has no launches. */
static bool read_repetition(const struct model *model, size_t index, struct repetition *one)
{
    one->step = (struct step){.begin = model_launches_to_tick(model, model->iterations.at[index - 1].tick),
                              .end = model_launches_to_tick(model, model->iterations.at[index].tick),
                              .whole = true};
    if (one->step.end <= one->step.begin) return false;
    one->left_bytes = live_bytes(model, &one->step);
    mark(model, one);
    return true;
}

/* Writes the last ones first. The last iteration is left out: of what comes behind it some may not be in the
 * trace yet. */
static uint32_t chain(const struct model *model, uint64_t need_bytes, struct repetition pair[2],
                      struct step *steps)
{
    struct repetition *one = &pair[0], *next = NULL;
    uint32_t count = 0;
    for (size_t i = model->iterations.count; i-- > 2;) {
        if (!read_repetition(model, i - 1, one)) continue;
        if (!next && one->bytes < need_bytes / NEED_PART) continue;
        if (next && !are_alike(model, one, next)) break;
        steps[count++] = one->step;
        next = one;
        one = next == &pair[0] ? &pair[1] : &pair[0];
    }
    return count;
}

uint32_t training_find(const struct model *model, uint64_t need_bytes, struct steady *out)
{
    uint8_t *marks = calloc(model->slots.count + 1, 2);
    struct step *steps = calloc(model->iterations.count + 1, sizeof(*steps));
    struct repetition pair[2] = {{.marks = marks}, {.marks = marks ? marks + model->slots.count : NULL}};
    uint32_t count = marks && steps && model->launches.count ? chain(model, need_bytes, pair, steps) : 0;
    uint32_t kept = (count + 1) / 2 < STEADY_MOST ? (count + 1) / 2 : STEADY_MOST;
    *out =
        (struct steady){.kind = STEADY_REPETITIONS, .count = kept, .first = count - kept + 1, .total = count};
    for (uint32_t i = 0; i < kept; i++) out->at[i] = steps[kept - 1 - i];
    free(marks);
    free(steps);
    return count;
}

uint32_t training_steps(const char *path, uint64_t need_bytes)
{
    struct model *model;
    struct steady steady;
    if (access(path, R_OK) != 0 || model_open(path, &model) != EXIT_OK) return 0;
    uint32_t count = training_find(model, need_bytes, &steady);
    model_close(model);
    return count;
}
