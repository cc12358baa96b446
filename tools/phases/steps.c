/* Training steps, from the phases of launches. */
#include <stdlib.h>

#include "tools/phases/phases.h"

/* The first copy of the batch that a launch uses. */
static uint32_t batch_before(const struct model *model, const struct phases *phases, uint32_t launch,
                             uint32_t least)
{
    for (; launch > least; launch--) {
        const struct model_shape *shape = model_shape_of(model, &model->launches.at[launch - 1]);
        bool input = false;
        if (shape->kind != SL_LAUNCH_COPY) break;
        FOR_SEGMENTS(model, &phases->segments, shape, s) input |= phases->class_of[s] == CLASS_INPUT;
        if (!input) break;
    }
    return launch;
}

static bool add_step(struct phases *phases, uint32_t *room, struct step step)
{
    if (phases->step_count == *room) {
        *room = *room ? 2 * *room : 64;
        struct step *larger = realloc(phases->steps, *room * sizeof(*larger));
        if (!larger) return false;
        phases->steps = larger;
    }
    phases->steps[phases->step_count++] = step;
    return true;
}

/* A step begins with the batch of its first pass and ends at the first pass or evaluation after its update.
 */
bool steps_find(const struct model *model, struct phases *phases)
{
    uint32_t room = 0, last_work = 0;
    struct step step = {0};
    bool open = false, good = true;
    for (uint32_t l = 0; good && l < model->launches.count; l++) {
        if (!is_work(model, l)) continue;
        uint8_t phase = phases->of_launch[l];
        bool passes = phase == PHASE_FORWARD || phase == PHASE_BACKWARD || phase == PHASE_PASSES;
        if (open && step.whole && (passes || phase == PHASE_EVALUATION)) {
            step.end = batch_before(model, phases, l, last_work + 1);
            good = add_step(phases, &room, step);
            open = false;
        }
        if (!open && passes) {
            step = (struct step){.begin = batch_before(model, phases, l, last_work ? last_work + 1 : 0)};
            open = true;
        }
        if (phase == PHASE_UPDATE) step.whole = open;
        last_work = l;
    }
    step.end = last_work + 1;
    return good && (!open || add_step(phases, &room, step));
}
