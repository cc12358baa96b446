#include "tools/analyses/chunk_at.h"

uint32_t chunk_at(const struct model *model, uint64_t address, uint64_t *end)
{
    *end = UINT64_MAX;
    for (size_t i = 0; i < model->slabs.count && model->chunk_bytes; i++) {
        const struct model_slab *slab = &model->slabs.at[i];
        if (address < slab->address || address - slab->address >= slab->bytes) continue;
        uint64_t index = (address - slab->address) / model->chunk_bytes;
        uint64_t chunk_end = slab->address + (index + 1) * model->chunk_bytes;
        if (chunk_end <= address) continue; /* not a figure that sluice wrote */
        *end = chunk_end;
        return slab->chunk + (uint32_t)index;
    }
    return SL_NONE;
}
