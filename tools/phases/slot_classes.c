#include <stdlib.h>

#include "tools/phases/phases.h"

uint8_t *phases_class_of_slots(const struct model *model, const struct phases *phases)
{
    const struct segments *segments = &phases->segments;
    uint8_t *classes = calloc(model->slots.count + 1, 1);
    for (size_t slot = 0; classes && slot < model->slots.count; slot++) {
        uint64_t bytes[CLASS_COUNT] = {0};
        unsigned most = CLASS_UNKNOWN;
        for (uint32_t s = segments->first_of_slot[slot]; s < segments->first_of_slot[slot + 1]; s++)
            bytes[phases->class_of[s]] += segments->at[s].bytes;
        for (unsigned c = 0; c < CLASS_COUNT; c++)
            if (bytes[c] > bytes[most]) most = c;
        classes[slot] = (uint8_t)most;
    }
    return classes;
}
