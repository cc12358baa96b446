#include <stdlib.h>

#include "base/map.h"
#include "tools/analyses/figures.h"
#include "tools/analyses/launch_times.h"

/* Shapes with the same kernel and size, which touch other data. */
struct groups {
    struct sl_map index_of;
    uint32_t *of_shape;
    struct measured *measured;
    uint32_t count;
};

static bool find_groups(const struct model *model, struct groups *groups)
{
    groups->of_shape = calloc(model->shapes.count + 1, sizeof(*groups->of_shape));
    groups->measured = calloc(model->shapes.count + 1, sizeof(*groups->measured));
    bool good = groups->of_shape && groups->measured;
    for (size_t i = 0; good && i < model->shapes.count; i++) {
        const struct model_shape *shape = &model->shapes.at[i];
        uint64_t key = sl_hash_word(sl_hash_word(shape->kernel, shape->size),
                                    (uint64_t)shape->kind << 8 | shape->direction) |
                       1;
        uint32_t group = sl_map_get(&groups->index_of, key);
        if (group == SL_NONE) {
            group = groups->count++;
            good = sl_map_put(&groups->index_of, key, group);
        }
        groups->of_shape[i] = group;
    }
    return good;
}

static uint64_t read_durations(const struct model *model, struct groups *groups, struct launch_clock *out)
{
    for (size_t i = 0; i < model->durations.count; i++) {
        uint32_t launch = model_find_launch(model, model->durations.at[i].tick);
        if (launch == SL_NONE) continue;
        measured_add(&groups->measured[groups->of_shape[model->launches.at[launch].shape]],
                     &model->durations.at[i]);
    }
    uint64_t submission = measured_submission_ns(groups->measured, groups->count);
    for (size_t i = 0; i < model->durations.count; i++) {
        const struct model_duration *duration = &model->durations.at[i];
        uint32_t launch = model_find_launch(model, duration->tick);
        if (launch == SL_NONE) continue;
        out->ns[launch] =
            duration->idle ? without_submission(duration->took_ns, submission) : duration->took_ns;
        out->source[launch] = TIME_MEASURED;
    }
    return submission;
}

bool launch_clock_make(const struct model *model, struct launch_clock *out)
{
    struct groups groups = {0};
    *out = (struct launch_clock){.ns = calloc(model->launches.count + 1, sizeof(*out->ns)),
                                 .source = calloc(model->launches.count + 1, 1),
                                 .shape_ns = shape_times(model)};
    bool good = out->ns && out->source && out->shape_ns && find_groups(model, &groups);
    uint64_t submission = good ? read_durations(model, &groups, out) : 0;
    for (size_t s = 0; good && s < model->shapes.count; s++) {
        uint64_t ns = measured_ns(&groups.measured[groups.of_shape[s]], submission);
        if (ns) out->shape_ns[s] = ns;
    }
    for (size_t l = 0; good && l < model->launches.count; l++) {
        uint32_t shape = model->launches.at[l].shape;
        bool alike = measured_ns(&groups.measured[groups.of_shape[shape]], submission) != 0;
        if (out->source[l] == TIME_MEASURED || (!alike && !out->shape_ns[shape])) continue;
        out->ns[l] = out->shape_ns[shape];
        out->source[l] = alike ? TIME_ALIKE : TIME_GUESSED;
    }
    sl_map_free(&groups.index_of);
    free(groups.of_shape);
    free(groups.measured);
    return good;
}

void launch_clock_free(struct launch_clock *clock)
{
    free(clock->ns);
    free(clock->source);
    free(clock->shape_ns);
    *clock = (struct launch_clock){0};
}
