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
        bool is_freed = life->died_ns != MODEL_ALWAYS && life->died_tick <= tick;
        if (life->born_tick <= tick && !is_freed) bytes += model->slots.at[life->slot].bytes;
    }
    return bytes;
}

static bool has_work(const struct model *model, const struct step *step)
{
    for (uint32_t l = step->begin; l < step->end; l++)
        if (is_work(model, l)) return true;
    return false;
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

/* Repetitions, in their order, that may be the steps. */
struct candidates {
    struct step *at;
    size_t count;
};

/* As sluice saw them end. The last is left out: of what comes behind it some may not be in the trace yet. */
static bool take_iterations(const struct model *model, struct candidates *out)
{
    *out = (struct candidates){.at = calloc(model->iterations.count + 1, sizeof(*out->at))};
    for (size_t i = 1; out->at && i + 1 < model->iterations.count; i++) {
        struct step step = {.begin = model_launches_to_tick(model, model->iterations.at[i - 1].tick),
                            .end = model_launches_to_tick(model, model->iterations.at[i].tick),
                            .whole = true};
        if (step.end > step.begin) out->at[out->count++] = step;
    }
    return out->at;
}

/* As their launches look. */
static bool take_steps(const struct phases *phases, struct candidates *out)
{
    *out = (struct candidates){.at = calloc(phases->step_count + 1, sizeof(*out->at))};
    for (uint32_t i = 0; out->at && i + 1 < phases->step_count; i++)
        if (phases->steps[i].whole) out->at[out->count++] = phases->steps[i];
    return out->at;
}

/* The number of candidates at the end that are alike; *last: the last of them. `marks`: two bytes for each
 * slot. */
static size_t chain(const struct model *model, uint64_t need_bytes, const struct candidates *candidates,
                    uint8_t *marks, size_t *last)
{
    struct repetition pair[2] = {{.marks = marks}, {.marks = marks + model->slots.count}}, *one = &pair[0],
                      *next = NULL;
    size_t count = 0;
    for (size_t i = candidates->count; i-- > 0;) {
        one->step = candidates->at[i];
        one->left_bytes = live_bytes(model, &one->step);
        mark(model, one);
        bool is_part = one->bytes < need_bytes / NEED_PART || !has_work(model, &one->step); /* of a step */
        if (!next && is_part) continue;
        if (next && (is_part || !are_alike(model, one, next))) break;
        if (!next) *last = i;
        count++;
        next = one;
        one = next == &pair[0] ? &pair[1] : &pair[0];
    }
    return count > 1 ? count : 0;
}

/* Sets *out to the later half of the last steps, if they are more than it was told of. */
static void keep(const struct candidates *candidates, size_t count, size_t last, enum steady_kind kind,
                 struct steady *out)
{
    size_t half = (count + 1) / 2, kept = half < STEADY_MOST ? half : STEADY_MOST;
    if (count <= out->total) return;
    *out = (struct steady){.kind = kind,
                           .count = (uint32_t)kept,
                           .first = (uint32_t)(count - kept + 1),
                           .total = (uint32_t)count};
    for (size_t i = 0; i < kept; i++) out->at[i] = candidates->at[last - kept + 1 + i];
}

uint32_t training_find(const struct model *model, const struct phases *phases, uint64_t need_bytes,
                       struct steady *out)
{
    struct candidates iterations = {0}, steps = {0};
    uint8_t *marks = calloc(model->slots.count + 1, 2);
    size_t last = 0, count;
    *out = (struct steady){0};
    if (marks && take_iterations(model, &iterations) && take_steps(phases, &steps)) {
        count = chain(model, need_bytes, &iterations, marks, &last);
        keep(&iterations, count, last, STEADY_REPETITIONS, out);
        count = chain(model, need_bytes, &steps, marks, &last);
        keep(&steps, count, last, STEADY_STEPS, out);
    }
    free(marks);
    free(iterations.at);
    free(steps.at);
    return out->total;
}

uint32_t training_steps(const char *path, uint64_t need_bytes)
{
    struct model *model;
    struct phases phases = {0};
    struct steady steady = {0};
    if (access(path, R_OK) != 0 || model_open(path, &model) != EXIT_OK) return 0;
    if (model->launches.count && phases_find(model, &phases))
        training_find(model, &phases, need_bytes, &steady);
    phases_free(&phases);
    model_close(model);
    return steady.total;
}
