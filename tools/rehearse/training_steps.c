#include "tools/rehearse/training_steps.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/analyses/training.h"
#include "tools/text/messages.h"

/* Sets *out to the later half of them, if they are more than it was told of. */
static void keep(const struct repetitions *found, enum steady_kind kind, struct steady *out)
{
    uint32_t half = (found->count + 1) / 2, kept = half < STEADY_MOST ? half : STEADY_MOST;
    if (found->count <= out->total) return;
    *out =
        (struct steady){.kind = kind, .count = kept, .first = found->count - kept + 1, .total = found->count};
    memcpy(out->at, found->at + found->count - kept, kept * sizeof(*out->at));
}

uint32_t training_steady(const struct model *model, const struct phases *phases, uint64_t need_bytes,
                         struct steady *out)
{
    static const enum steady_kind kinds[] = {STEADY_REPETITIONS, STEADY_STEPS};
    *out = (struct steady){0};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        struct repetitions found;
        if (training_find(model, phases, kinds[k], need_bytes, TRAINING_SAME_LAUNCHES, &found))
            keep(&found, kinds[k], out);
        free(found.at);
    }
    return out->total;
}

uint32_t training_steps(const char *path, uint64_t need_bytes)
{
    struct model *model;
    struct phases phases = {0};
    struct steady steady = {0};
    if (access(path, R_OK) != 0 || model_open(path, &model) != EXIT_OK) return 0;
    if (phases_find(model, &phases)) training_steady(model, &phases, need_bytes, &steady);
    phases_free(&phases);
    model_close(model);
    return steady.total;
}
