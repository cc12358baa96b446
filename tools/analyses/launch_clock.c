#include <stdlib.h>

#include "base/map.h"
#include "tools/analyses/figures.h"

struct mean {
    uint64_t count, sum_ns;
};

/* Shapes with the same kernel and size, which touch other data. */
struct groups {
    struct sl_map index_of;
    uint32_t *of_shape;
    struct mean *means;
    uint32_t count;
};

static bool find_groups(const struct model *model, struct groups *groups)
{
    groups->of_shape = calloc(model->shapes.count + 1, sizeof(*groups->of_shape));
    groups->means = calloc(model->shapes.count + 1, sizeof(*groups->means));
    bool good = groups->of_shape && groups->means;
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

static void read_durations(const struct model *model, struct groups *groups, struct launch_clock *out)
{
    for (size_t i = 0; i < model->durations.count; i++) {
        uint32_t launch = model_find_launch(model, model->durations.at[i].tick);
        if (launch == SL_NONE) continue;
        out->ns[launch] = model->durations.at[i].took_ns;
        out->source[launch] = TIME_MEASURED;
        struct mean *mean = &groups->means[groups->of_shape[model->launches.at[launch].shape]];
        mean->count++;
        mean->sum_ns += out->ns[launch];
    }
}

bool launch_clock_make(const struct model *model, struct launch_clock *out)
{
    struct groups groups = {0};
    *out = (struct launch_clock){.ns = calloc(model->launches.count + 1, sizeof(*out->ns)),
                                 .source = calloc(model->launches.count + 1, 1),
                                 .shape_ns = shape_times(model)};
    bool good = out->ns && out->source && out->shape_ns && find_groups(model, &groups);
    if (good) read_durations(model, &groups, out);
    for (size_t s = 0; good && s < model->shapes.count; s++) {
        const struct mean *mean = &groups.means[groups.of_shape[s]];
        if (mean->count) out->shape_ns[s] = mean->sum_ns / mean->count;
    }
    for (size_t l = 0; good && l < model->launches.count; l++) {
        uint32_t shape = model->launches.at[l].shape;
        bool alike = groups.means[groups.of_shape[shape]].count != 0;
        if (out->source[l] == TIME_MEASURED || (!alike && !out->shape_ns[shape])) continue;
        out->ns[l] = out->shape_ns[shape];
        out->source[l] = alike ? TIME_ALIKE : TIME_GUESSED;
    }
    sl_map_free(&groups.index_of);
    free(groups.of_shape);
    free(groups.means);
    return good;
}

void launch_clock_free(struct launch_clock *clock)
{
    free(clock->ns);
    free(clock->source);
    free(clock->shape_ns);
    *clock = (struct launch_clock){0};
}
