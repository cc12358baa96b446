/* What one whole step does. Bytes of launches are counted in segments (tools/phases/segments.h). */
#include <stdlib.h>
#include <string.h>

#include "tools/advise/advise_program.h"
#include "tools/analyses/info.h"
#include "tools/model/model.h"
#include "tools/phases/phases.h"
#include "tools/text/messages.h"

enum {
    SEGMENT_BYTES = 2 << 20,  /* PyTorch's cache takes multiples of this from the driver */
    TENSORS_OF_A_SEGMENT = 4, /* a slot with at least so many separately used parts is divided */
    CACHED_PERCENT = 50,
};

/* The last whole step, but not the very last one, in which something may be missing. */
static const struct step *choose_step(const struct phases *phases)
{
    const struct step *chosen = NULL;
    for (uint32_t s = 0; s + 1 < phases->step_count; s++)
        if (phases->steps[s].whole) chosen = &phases->steps[s];
    return chosen;
}

static bool is_of_lists(const char *kernel)
{
    return strstr(kernel, "multi_tensor_apply_kernel") && !strstr(kernel, "Fused");
}

static bool is_state(uint8_t class)
{
    return class == CLASS_PARAMETER || class == CLASS_GRADIENT || class == CLASS_OPTIMIZER;
}

static void count_update(const struct model *model, const struct phases *phases, uint64_t took_ns,
                         const struct model_launch *launch, bool *seen, struct step_profile *out)
{
    const struct model_shape *shape = model_shape_of(model, launch);
    FOR_SEGMENTS(model, &phases->segments, shape, segment)
    {
        uint64_t bytes = phases->segments.at[segment].bytes;
        out->update_bytes += bytes;
        if (!seen[segment] && is_state(phases->class_of[segment])) out->update_once += bytes;
        seen[segment] = true;
    }
    out->update_ns += took_ns;
    out->update_launches++;
    if (is_of_lists(model_launch_name(model, launch))) out->lists = true;
}

/* --- what a fused kernel has to have at once: all that the update's kernels use of one tensor, or of one
 * list of tensors: its weights, gradients and state are what kernels use together. Sets of segments that have
 * a segment in common are united (Tarjan 1975); each is known by one of them. */

static uint32_t set_of(uint32_t *above, uint32_t segment)
{
    while (above[segment] != segment) segment = above[segment] = above[above[segment]];
    return segment;
}

static void unite_update(const struct model *model, const struct phases *phases, const struct step *step,
                         uint32_t *above)
{
    for (uint32_t l = step->begin; l < step->end; l++) {
        uint32_t first = UINT32_MAX;
        if (phases->of_launch[l] != PHASE_UPDATE || !is_work(model, l)) continue;
        FOR_SEGMENTS(model, &phases->segments, model_shape_of(model, &model->launches.at[l]), segment)
        {
            if (!is_state(phases->class_of[segment])) continue;
            if (first == UINT32_MAX) first = segment;
            above[set_of(above, segment)] = set_of(above, first);
        }
    }
}

/* `seen`: the segments that the update touches. False: out of memory. */
static bool find_tensor(const struct model *model, const struct phases *phases, const struct step *step,
                        const bool *seen, struct step_profile *out)
{
    uint32_t count = phases->segments.count;
    uint32_t *above = malloc((count + 1) * sizeof(*above));
    uint64_t *bytes = calloc(count + 1, sizeof(*bytes));
    for (uint32_t s = 0; above && s < count; s++) above[s] = s;
    if (above && bytes) unite_update(model, phases, step, above);
    for (uint32_t s = 0; above && bytes && s < count; s++) {
        if (!seen[s] || !is_state(phases->class_of[s])) continue;
        uint64_t *sum = &bytes[set_of(above, s)];
        *sum += phases->segments.at[s].bytes;
        if (*sum > out->update_tensor) out->update_tensor = *sum;
    }
    bool good = above && bytes;
    free(above);
    free(bytes);
    return good;
}

static uint64_t touched_bytes(const struct model *model, const struct model_shape *shape)
{
    const struct model_set *set = &model->sets.at[shape->set];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) bytes += model_set_range(model, set, i)->bytes;
    return bytes;
}

/* `updated`: the segments that the update touches. */
static bool count_frozen(const struct model *model, const struct phases *phases, const struct step *step,
                         const bool *updated, struct step_profile *out)
{
    bool *used = calloc(phases->segments.count + 1, sizeof(*used));
    for (uint32_t l = step->begin; used && l < step->end; l++) {
        if (!is_work(model, l)) continue;
        FOR_SEGMENTS(model, &phases->segments, model_shape_of(model, &model->launches.at[l]), s)
        used[s] = true;
    }
    for (uint32_t s = 0; used && s < phases->segments.count; s++)
        if (used[s] && !updated[s] && phases->class_of[s] == CLASS_PARAMETER)
            out->frozen_bytes += phases->segments.at[s].bytes;
    free(used);
    return used;
}

static void count_step(const struct replay_program *program, const struct phases *phases,
                       const struct step *step, bool *seen, struct step_profile *out)
{
    const struct model *model = program->model;
    for (uint32_t l = step->begin; l < step->end; l++) {
        const struct model_launch *launch = &model->launches.at[l];
        const struct model_shape *shape = model_shape_of(model, launch);
        uint64_t took_ns = program->shape_ns[launch->shape];
        if (phases->of_launch[l] == PHASE_UPDATE && is_work(model, l))
            count_update(model, phases, took_ns, launch, seen, out);
        if (shape->kind == SL_LAUNCH_COLLECTIVE) out->collective_ns += took_ns;
        if (shape->kind == SL_LAUNCH_COPY && shape->direction == SL_COPY_IN) out->input_bytes += shape->size;
        uint64_t touched = shape->kind == SL_LAUNCH_GRAPH ? touched_bytes(model, shape) : 0;
        if (touched > out->graph_bytes) out->graph_bytes = touched;
    }
}

/* Whether PyTorch's cache divides what the driver gave it: large multiples of 2 MiB, used in parts. */
static bool is_cached(const struct model *model, const struct phases *phases)
{
    uint64_t divided = 0, all = 0;
    bool torch = false;
    for (size_t l = 0; l < model->launches.count && !torch; l++)
        torch = strstr(model_launch_name(model, &model->launches.at[l]), "at6native") != NULL ||
                strstr(model_launch_name(model, &model->launches.at[l]), "at::native") != NULL;
    for (size_t slot = 0; torch && slot < model->slots.count; slot++) {
        uint64_t bytes = model->slots.at[slot].bytes;
        uint32_t parts = phases->segments.first_of_slot[slot + 1] - phases->segments.first_of_slot[slot];
        all += bytes;
        if (bytes && bytes % SEGMENT_BYTES == 0 && parts >= TENSORS_OF_A_SEGMENT) divided += bytes;
    }
    return torch && divided >= all / 100 * CACHED_PERCENT && divided;
}

static bool find(const struct replay_program *program, const struct phases *phases, struct step_profile *out)
{
    const struct step *step = choose_step(phases);
    bool *seen = calloc(phases->segments.count + 1, sizeof(*seen));
    struct info info;
    if (!seen || !info_make(program->model, phases, &info)) {
        free(seen);
        return false;
    }
    out->cached = is_cached(program->model, phases);
    out->found = phases->found && step != NULL;
    out->peak_bytes = info.peak_bytes;
    out->kept_bytes = info.peak_of[CLASS_PARAMETER] + info.peak_of[CLASS_OPTIMIZER];
    out->gradient_bytes = info.peak_of[CLASS_GRADIENT];
    out->batch_bytes = info.peak_of[CLASS_ACTIVATION] + info.peak_of[CLASS_WORKSPACE];
    if (step) count_step(program, phases, step, seen, out);
    bool good = !step || (find_tensor(program->model, phases, step, seen, out) &&
                          count_frozen(program->model, phases, step, seen, out));
    free(seen);
    return good;
}

bool step_profile_find(const struct replay_program *program, struct step_profile *out)
{
    struct phases phases = {0};
    struct step_profile profile = {0};
    bool good = phases_find(program->model, &phases) && find(program, &phases, &profile);
    phases_free(&phases);
    if (!good) return failure("out of memory"), false;
    *out = profile;
    return true;
}
