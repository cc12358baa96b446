#include "tools/analyses/launch_times.h"

#include <stdlib.h>

#include "tools/model/sorted.h"

void measured_add(struct measured *measured, const struct model_duration *duration)
{
    struct mean *mean = duration->idle ? &measured->idle : &measured->busy;
    mean->count++;
    mean->sum += duration->took_ns;
}

uint64_t measured_submission_ns(const struct measured *of_shape, size_t count)
{
    double longer_ns = 0, weights = 0;
    for (size_t s = 0; s < count; s++) {
        const struct mean *busy = &of_shape[s].busy, *idle = &of_shape[s].idle;
        if (!busy->count || !idle->count) continue;
        double weight = (double)(busy->count < idle->count ? busy->count : idle->count);
        longer_ns +=
            weight * ((double)idle->sum / (double)idle->count - (double)busy->sum / (double)busy->count);
        weights += weight;
    }
    return longer_ns > 0 ? (uint64_t)(longer_ns / weights) : 0;
}

uint64_t without_submission(uint64_t ns, uint64_t submission)
{
    return ns > 2 * submission ? ns - submission : ns / 2;
}

uint64_t measured_ns(const struct measured *measured, uint64_t submission)
{
    if (measured->busy.count) return measured->busy.sum / measured->busy.count;
    return measured->idle.count ? without_submission(measured->idle.sum / measured->idle.count, submission)
                                : 0;
}

enum { LEAST_PAIRS = 16, MOST_APART = 64 /* launches: else it is likely that the host waited in between */ };

/* Of two measured launches on idle streams each began when the host had enqueued it. */
uint64_t measured_host_ns(const struct model *model, uint64_t sample_ns)
{
    uint64_t *each = calloc(model->durations.count + 1, sizeof(*each)), median = 0;
    size_t count = 0;
    for (size_t i = 1; each && i < model->durations.count; i++) {
        const struct model_duration *last = &model->durations.at[i - 1], *next = &model->durations.at[i];
        uint64_t launches = next->tick - last->tick;
        if (!last->idle || !next->idle || !last->began_ns || next->began_ns <= last->began_ns ||
            next->tick <= last->tick || launches > MOST_APART)
            continue;
        uint64_t ns = next->began_ns - last->began_ns;
        each[count++] = ns > sample_ns ? (ns - sample_ns) / launches : 0;
    }
    if (count >= LEAST_PAIRS && sort_by_key(each, count, sizeof(*each), 0)) median = each[count / 2];
    free(each);
    return median;
}

uint64_t *shape_times(const struct model *model)
{
    struct measured *of_shape = calloc(model->shapes.count + 1, sizeof(*of_shape));
    struct measured *of_kernel = calloc(model->kernels.count + 1, sizeof(*of_kernel));
    uint64_t *times = calloc(model->shapes.count + 1, sizeof(*times));
    size_t next = 0;
    for (size_t i = 0; of_shape && of_kernel && times && i < model->durations.count; i++) {
        const struct model_duration *duration = &model->durations.at[i];
        while (next < model->launches.count && model->launches.at[next].tick < duration->tick) next++;
        if (next == model->launches.count || model->launches.at[next].tick != duration->tick) continue;
        uint32_t shape = model->launches.at[next].shape, kernel = model->shapes.at[shape].kernel;
        measured_add(&of_shape[shape], duration);
        if (kernel < model->kernels.count) measured_add(&of_kernel[kernel], duration);
    }
    uint64_t submission = of_shape ? measured_submission_ns(of_shape, model->shapes.count) : 0;
    for (size_t s = 0; of_shape && of_kernel && times && s < model->shapes.count; s++) {
        uint32_t kernel = model->shapes.at[s].kernel;
        times[s] = measured_ns(&of_shape[s], submission);
        if (!times[s] && kernel && kernel < model->kernels.count)
            times[s] = measured_ns(&of_kernel[kernel], submission);
    }
    if (!of_shape || !of_kernel) {
        free(times);
        times = NULL;
    }
    free(of_shape);
    free(of_kernel);
    return times;
}
