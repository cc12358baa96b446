#include "tools/analyses/info.h"

#include <stdlib.h>
#include <string.h>

#include "tools/model/sorted.h"

const unsigned info_moves[MOVE_KINDS] = {SL_ACTION_FETCH, SL_ACTION_POPULATE, SL_ACTION_EVICT,
                                         SL_ACTION_DISCARD};

static void count_launches(const struct model *model, struct info *out)
{
    out->launch_count = model->launches.count;
    for (size_t l = 0; l < model->launches.count; l++) {
        const struct model_shape *shape = model_shape_of(model, &model->launches.at[l]);
        out->launches[shape->kind].count++;
        if (shape->kind == SL_LAUNCH_COPY) out->launches[shape->kind].bytes += shape->size;
    }
    for (size_t k = 0; k < model->kernels.count; k++) out->kernels += model->kernels.names[k] != NULL;
}

static void count_movements(const struct model *model, struct info *out)
{
    for (size_t i = 0; i < model->moves.count; i++) {
        const struct model_move *move = &model->moves.at[i];
        out->moves[move->kind][move->cause].count++;
        out->moves[move->kind][move->cause].bytes += move->bytes;
    }
    for (size_t i = 0; i < model->stalls.count; i++) {
        const struct model_stall *stall = &model->stalls.at[i];
        out->stalls++;
        out->stall_ns += stall->took_ns;
        if (stall->took_ns <= out->longest_stall_ns) continue;
        out->longest_stall_ns = stall->took_ns;
        out->longest_stall_tick = stall->launch ? stall->launch : stall->tick;
    }
    for (size_t i = 0; i < model->syncs.count; i++) out->sync_ns += model->syncs.at[i].took_ns;
    out->syncs = model->syncs.count;
    for (size_t i = 0; i < model->errors.count; i++) {
        const struct model_error *error = &model->errors.at[i];
        if (error->kind != SL_ERROR_ALLOCATION) {
            out->failed_calls++;
            continue;
        }
        out->misfits.count++;
        if (error->bytes > out->misfits.bytes) out->misfits.bytes = error->bytes;
    }
}

struct death {
    uint64_t time_ns, bytes;
};

static bool find_sizes(const struct model *model, struct info *out)
{
    uint64_t *sizes = malloc((model->lives.count + 1) * sizeof(*sizes));
    size_t count = 0;
    if (!sizes) return false;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (!life->born_before) sizes[count++] = model->slots.at[life->slot].bytes;
    }
    out->sizes = spread_of(sizes, count);
    free(sizes);
    return true;
}

/* Lives are sorted by birth; this sorts their deaths. */
static bool find_peak(const struct model *model, struct info *out)
{
    struct death *deaths = malloc((model->lives.count + 1) * sizeof(*deaths));
    size_t count = 0, next = 0;
    if (!deaths) return false;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        uint64_t bytes = model->slots.at[life->slot].bytes;
        if (!life->born_before) {
            out->allocations.count++;
            out->allocations.bytes += bytes;
        }
        if (life->died_ns == MODEL_ALWAYS) continue;
        out->frees.count++;
        out->frees.bytes += bytes;
        deaths[count++] = (struct death){life->died_ns, bytes};
    }
    bool good = sort_by_key(deaths, count, sizeof(*deaths), offsetof(struct death, time_ns));
    uint64_t live = 0;
    for (size_t i = 0; good && i < model->lives.count; i++) {
        uint64_t now = model->lives.at[i].born_ns;
        for (; next < count && deaths[next].time_ns <= now; next++) live -= deaths[next].bytes;
        live += model->slots.at[model->lives.at[i].slot].bytes;
        if (live > out->peak_bytes) {
            out->peak_bytes = live;
            out->peak_ns = now;
        }
    }
    for (; next < count; next++) live -= deaths[next].bytes;
    out->end_bytes = live;
    free(deaths);
    return good;
}

static void find_classes_at_peak(const struct model *model, const struct phases *phases, struct info *out)
{
    const struct segments *segments = &phases->segments;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->born_ns > out->peak_ns || life->died_ns <= out->peak_ns) continue;
        uint64_t left = model->slots.at[life->slot].bytes;
        for (uint32_t s = segments->first_of_slot[life->slot]; s < segments->first_of_slot[life->slot + 1];
             s++) {
            uint64_t bytes = segments->at[s].bytes < left ? segments->at[s].bytes : left;
            out->peak_of[phases->class_of[s]] += bytes;
            left -= bytes;
        }
        out->peak_of[CLASS_UNKNOWN] += left;
    }
}

static bool find_steps(const struct model *model, const struct phases *phases, struct info *out)
{
    size_t room = phases->step_count > model->iterations.count ? phases->step_count : model->iterations.count;
    uint64_t *times = malloc((room + 1) * sizeof(*times));
    size_t count = 0;
    if (!times) return false;
    for (uint32_t i = 0; i < phases->step_count; i++) {
        const struct step *step = &phases->steps[i];
        if (!step->whole || step->end >= model->launches.count) continue;
        times[count++] = model->launches.at[step->end].time_ns - model->launches.at[step->begin].time_ns;
    }
    out->steps_found = phases->step_count > 0;
    out->iterations = out->steps_found ? phases->step_count : model->iterations.count;
    if (out->steps_found) {
        const struct step *usual = &phases->steps[phases->step_count > 1 ? phases->step_count - 2 : 0];
        out->step_launches = usual->end - usual->begin;
    }
    for (size_t i = 1; !out->steps_found && i < model->iterations.count; i++)
        times[count++] = model->iterations.at[i].time_ns - model->iterations.at[i - 1].time_ns;
    out->step_times = spread_of(times, count);
    free(times);
    bool inside = false;
    for (size_t l = 0; l < model->launches.count; l++) {
        uint8_t phase = phases->of_launch[l];
        if (phase == PHASE_EVALUATION && !inside) out->evaluations++;
        if (phase == PHASE_EVALUATION || is_work(model, (uint32_t)l)) inside = phase == PHASE_EVALUATION;
    }
    return true;
}

static void find_prediction(const struct model *model, struct info *out)
{
    if (!model->iterations.count) return;
    const struct model_iteration *last = &model->iterations.at[model->iterations.count - 1];
    const struct model_iteration *middle = &model->iterations.at[model->iterations.count / 2];
    if (!last->fed || last->predicted > last->fed) return;
    out->fed = last->fed;
    out->predicted = last->predicted;
    if (last->fed <= middle->fed || last->predicted < middle->predicted) return;
    out->late_fed = last->fed - middle->fed;
    out->late_predicted = last->predicted - middle->predicted;
}

uint64_t info_left_out(const struct model *model)
{
    return model->missing.accesses + model->missing.sets + model->missing.frees + model->missing.births +
           model->missing.unknown + model->missing.beyond;
}

bool info_make(const struct model *model, const struct phases *phases, struct info *out)
{
    *out = (struct info){0};
    count_launches(model, out);
    count_movements(model, out);
    find_prediction(model, out);
    if (!find_sizes(model, out) || !find_peak(model, out) || !waste_make(model, &out->waste) ||
        !find_steps(model, phases, out))
        return false;
    find_classes_at_peak(model, phases, out);
    return true;
}
