#include "tools/analyses/training.h"

#include <stdlib.h>
#include <string.h>

#include "tools/phases/windows.h"

#define NEED_PART 3    /* of the need, at least, a step uses */
#define LEFT_PART 1000 /* of what is left allocated may differ */
#define SIZE_PART 50   /* of the number of launches may differ */
#define SAME_PART 10   /* of the bytes that are used may differ */

/* A repetition, and what was found out about it. */
struct repetition {
    struct step step;
    uint64_t bytes, left_bytes; /* that it uses; allocated at its end */
    uint8_t *marks;             /* the slots that it uses */
    bool works;                 /* it has a kernel or a graph */
};

static bool is_near(uint64_t one, uint64_t other, uint64_t part)
{
    uint64_t more = one > other ? one : other;
    return more - (one < other ? one : other) <= more / part;
}

static void mark(const struct model *model, struct repetition *one)
{
    one->bytes = 0;
    one->works = false;
    memset(one->marks, 0, model->slots.count);
    for (uint32_t l = one->step.begin; l < one->step.end; l++) {
        one->works = one->works || is_work(model, l);
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

static bool are_alike(const struct model *model, enum training_alike alike, const struct repetition *one,
                      const struct repetition *next)
{
    uint32_t size = one->step.end - one->step.begin, next_size = next->step.end - next->step.begin;
    return (alike < TRAINING_SAME_LAUNCHES || is_near(size, next_size, SIZE_PART)) &&
           is_near(one->left_bytes, next->left_bytes, LEFT_PART) &&
           shared_bytes(model, one, next) >= one->bytes / 2;
}

/* Whether `next` may be several of what `one` is: it has more launches, but uses the same memory. */
static bool may_be_several(const struct model *model, const struct repetition *one,
                           const struct repetition *next)
{
    return next->step.end - next->step.begin > one->step.end - one->step.begin &&
           is_near(one->bytes, next->bytes, SAME_PART) && are_alike(model, TRAINING_SAME_MEMORY, one, next);
}

/* As sluice saw them end. The last counts only if another launch follows and the trace has an end: otherwise
 * some of what comes behind it may not be in the trace. */
static void take_iterations(const struct model *model, struct repetitions *out)
{
    bool ended = model->problem.status == SL_OK;
    for (size_t i = 1; i < model->iterations.count; i++) {
        struct step step = {.begin = model_launches_to_tick(model, model->iterations.at[i - 1].tick),
                            .end = model_launches_to_tick(model, model->iterations.at[i].tick),
                            .whole = true};
        bool last = i + 1 == model->iterations.count;
        if (last && (!ended || step.end >= model->launches.count)) break;
        if (step.end > step.begin) out->at[out->count++] = step;
    }
}

static void take_steps(const struct phases *phases, struct repetitions *out)
{
    for (uint32_t i = 0; i + 1 < phases->step_count; i++)
        if (phases->steps[i].whole) out->at[out->count++] = phases->steps[i];
}

/* The number of launches before `tick`. */
static uint32_t launches_before(const struct model *model, uint64_t tick)
{
    return tick ? model_launches_to_tick(model, tick - 1) : 0;
}

/* The bytes that are allocated at each launch. NULL: out of memory. */
static uint64_t *find_left(const struct model *model)
{
    uint64_t *left = calloc(model->launches.count + 1, sizeof(*left));
    for (size_t i = 0; left && i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        uint64_t bytes = model->slots.at[life->slot].bytes;
        left[launches_before(model, life->born_tick)] += bytes;
        if (life->died_ns != MODEL_ALWAYS) left[launches_before(model, life->died_tick)] -= bytes;
    }
    for (size_t l = 1; left && l < model->launches.count; l++) left[l] += left[l - 1];
    return left;
}

/* Reduces the candidates to the chain at their end. `marks`: two bytes for each slot. */
static void chain(const struct model *model, enum training_alike alike, uint64_t need_bytes,
                  const uint64_t *left_bytes, uint8_t *marks, struct repetitions *candidates)
{
    struct repetition pair[2] = {{.marks = marks}, {.marks = marks + model->slots.count}}, *one = &pair[0],
                      *next = NULL;
    uint32_t first = candidates->count, end = candidates->count;
    bool odd = false; /* the first one is unlike the next, which those before it may be like again */
    while (first) {
        one->step = candidates->at[first - 1];
        one->left_bytes = left_bytes[one->step.end - 1];
        mark(model, one);
        bool part = !one->works || one->bytes < need_bytes / NEED_PART; /* of a step */
        bool ends = next && (part || (alike && !are_alike(model, alike, one, next)));
        /* The core predicts further and further: its last repetition may be the first of several steps. */
        bool passed = ends && !part && end - first == 1 && may_be_several(model, one, next);
        if (ends && !passed && (odd || part || alike < TRAINING_SAME_BUT_ODD)) break;
        first--;
        odd = ends && !passed;
        if (odd) continue;
        if (passed) end = first + 1;
        if (part) end = first;
        next = part ? NULL : one;
        one = next == &pair[0] ? &pair[1] : &pair[0];
    }
    if (odd) first++;
    if (alike && end - first == 1) end = first;
    candidates->count = end - first;
    memmove(candidates->at, candidates->at + first, candidates->count * sizeof(*candidates->at));
}

bool training_find(const struct model *model, const struct phases *phases, enum steady_kind kind,
                   uint64_t need_bytes, enum training_alike alike, struct repetitions *out)
{
    size_t room = kind == STEADY_STEPS ? phases->step_count : model->iterations.count;
    *out = (struct repetitions){.at = calloc(room + 1, sizeof(*out->at))};
    if (!out->at) return false;
    if (kind == STEADY_STEPS)
        take_steps(phases, out);
    else
        take_iterations(model, out);
    uint64_t *left_bytes = find_left(model);
    uint8_t *marks = calloc(model->slots.count + 1, 2);
    bool good = left_bytes && marks;
    if (good) chain(model, alike, need_bytes, left_bytes, marks, out);
    free(left_bytes);
    free(marks);
    return good;
}
