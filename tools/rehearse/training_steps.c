#include "tools/rehearse/training_steps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/phases/phases.h"
#include "tools/text/messages.h"

#define NEED_PART 3

/* Marks the slots that the step touches. Returns the bytes of those that were not marked; *again: of those
 * that `before` has. */
static uint64_t mark(const struct model *model, const struct step *step, const uint8_t *before,
                     uint8_t *marks, uint64_t *again)
{
    uint64_t bytes = 0;
    *again = 0;
    for (uint32_t l = step->begin; l < step->end; l++) {
        const struct model_set *set = &model->sets.at[model_shape_of(model, &model->launches.at[l])->set];
        for (uint32_t r = 0; r < set->count; r++) {
            uint32_t slot = model_set_range(model, set, r)->slot;
            if (marks[slot]) continue;
            marks[slot] = 1;
            bytes += model->slots.at[slot].bytes;
            if (before && before[slot]) *again += model->slots.at[slot].bytes;
        }
    }
    return bytes;
}

/* `marks`, `other`: zeros, one for each slot. */
static uint64_t count(const struct model *model, const struct phases *phases, uint64_t least_bytes,
                      uint8_t *marks, uint8_t *other)
{
    uint64_t steps = 0, again;
    const struct step *next = NULL;
    for (uint32_t i = phases->step_count; i-- > 0;) {
        const struct step *step = &phases->steps[i];
        if (!step->whole) continue;
        memset(marks, 0, model->slots.count);
        uint64_t bytes = mark(model, step, next ? other : NULL, marks, &again);
        if (bytes < least_bytes) continue; /* a part of a step */
        if (next && again < bytes / 2) break;
        uint8_t *swap = marks;
        marks = other;
        other = swap;
        next = step;
        steps++;
    }
    return steps;
}

uint64_t training_steps(const char *path, uint64_t need_bytes)
{
    struct model *model;
    struct phases phases = {0};
    uint64_t steps = 0;
    if (access(path, R_OK) != 0 || model_open(path, &model) != EXIT_OK) return 0;
    uint8_t *marks = calloc(model->slots.count + 1, 2);
    if (marks && model->launches.count && phases_find(model, &phases))
        steps = count(model, &phases, need_bytes / NEED_PART, marks, marks + model->slots.count);
    free(marks);
    phases_free(&phases);
    model_close(model);
    return steps;
}
