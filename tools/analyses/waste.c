#include "tools/analyses/waste.h"

#include <stdlib.h>

#include "tools/model/sorted.h"

/* Limits the memory and time that a file can request. */
enum { MOST_CHUNKS = 1 << 22, MOST_CHANGES = 1 << 27 };

struct chunk_use {
    uint32_t live; /* number of allocations */
    uint64_t bytes;
};

struct slab_use {
    uint64_t address, bytes;
    struct chunk_use *chunks;
};

struct death {
    uint64_t time_ns;
    uint32_t slot;
};

struct count {
    const struct model *model;
    struct slab_use *slabs; /* by address */
    size_t slab_count;
    struct chunk_use *chunks;
    struct death *deaths;
    size_t death_count, changes;
    uint64_t placed_bytes, live_bytes;
};

static bool is_sound(const struct model *model)
{
    uint64_t chunk = model->chunk_bytes;
    return model->slabs.count && chunk >= SL_BLOCK_BYTES && chunk <= SL_GIB && !(chunk & (chunk - 1));
}

/* The first slab that ends after `address`. */
static size_t slab_at(const struct count *count, uint64_t address)
{
    size_t low = 0, high = count->slab_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (count->slabs[middle].address + count->slabs[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void change(struct count *count, struct chunk_use *chunk, uint64_t end, bool born)
{
    uint64_t bytes = (end + SL_BLOCK_BYTES - 1) & ~(SL_BLOCK_BYTES - 1);
    count->changes++;
    if (born) {
        chunk->live++;
        if (bytes <= chunk->bytes) return;
        count->placed_bytes += bytes - chunk->bytes;
        chunk->bytes = bytes;
    } else if (chunk->live && !--chunk->live) {
        count->placed_bytes -= chunk->bytes;
        chunk->bytes = 0;
    }
}

static void add(struct count *count, uint32_t slot, bool born)
{
    const struct model_slot *what = &count->model->slots.at[slot];
    uint64_t chunk_bytes = count->model->chunk_bytes, at = what->address, end = at + what->bytes;
    if (end < at) return;
    for (size_t s = slab_at(count, at); s < count->slab_count && count->slabs[s].address < end; s++) {
        const struct slab_use *slab = &count->slabs[s];
        uint64_t slab_end = slab->address + slab->bytes, to = end < slab_end ? end : slab_end;
        if (at < slab->address) at = slab->address;
        count->live_bytes += born ? to - at : at - to;
        for (uint64_t c; at < to; at = slab->address + (c + 1) * chunk_bytes) {
            c = (at - slab->address) / chunk_bytes;
            uint64_t rest = to - slab->address - c * chunk_bytes;
            change(count, &slab->chunks[c], rest < chunk_bytes ? rest : chunk_bytes, born);
        }
    }
}

/* Takes the slabs that sluice may have written, that is, slabs that do not overlap others. */
static bool take_slabs(struct count *count)
{
    const struct model *model = count->model;
    size_t chunks = 0;
    count->slabs = malloc(model->slabs.count * sizeof(*count->slabs));
    if (!count->slabs) return false;
    for (size_t s = 0; s < model->slabs.count; s++) {
        const struct model_slab *slab = &model->slabs.at[s];
        bool good = slab->bytes && slab->bytes <= SL_GIB && slab->address <= UINT64_MAX - 2 * SL_GIB;
        if (good) count->slabs[count->slab_count++] = (struct slab_use){slab->address, slab->bytes, NULL};
    }
    if (!sort_by_key(count->slabs, count->slab_count, sizeof(*count->slabs), 0)) return false;
    size_t kept = 0;
    for (size_t s = 0; s < count->slab_count; s++) {
        const struct slab_use *slab = &count->slabs[s], *last = kept ? &count->slabs[kept - 1] : NULL;
        size_t more = (size_t)((slab->bytes + model->chunk_bytes - 1) / model->chunk_bytes);
        if ((last && slab->address < last->address + last->bytes) || chunks + more > MOST_CHUNKS) continue;
        chunks += more;
        count->slabs[kept++] = *slab;
    }
    count->slab_count = kept;
    count->chunks = calloc(chunks + 1, sizeof(*count->chunks));
    if (!count->chunks) return false;
    chunks = 0;
    for (size_t s = 0; s < kept; s++) {
        count->slabs[s].chunks = count->chunks + chunks;
        chunks += (size_t)((count->slabs[s].bytes + model->chunk_bytes - 1) / model->chunk_bytes);
    }
    return true;
}

static bool take_deaths(struct count *count)
{
    const struct model *model = count->model;
    count->deaths = malloc((model->lives.count + 1) * sizeof(*count->deaths));
    if (!count->deaths) return false;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->died_ns != MODEL_ALWAYS)
            count->deaths[count->death_count++] = (struct death){life->died_ns, life->slot};
    }
    return sort_by_key(count->deaths, count->death_count, sizeof(*count->deaths),
                       offsetof(struct death, time_ns));
}

static void find_peak(struct count *count, struct waste *out)
{
    const struct model *model = count->model;
    size_t next = 0;
    for (size_t i = 0; i < model->lives.count && count->changes < MOST_CHANGES; i++) {
        const struct model_life *life = &model->lives.at[i];
        for (; next < count->death_count && count->deaths[next].time_ns <= life->born_ns; next++)
            add(count, count->deaths[next].slot, false);
        add(count, life->slot, true);
        if (count->placed_bytes < out->chunk_bytes ||
            (count->placed_bytes == out->chunk_bytes && count->live_bytes <= out->live_bytes))
            continue;
        *out = (struct waste){count->placed_bytes, count->live_bytes};
    }
    if (count->changes >= MOST_CHANGES) *out = (struct waste){0};
}

bool waste_make(const struct model *model, struct waste *out)
{
    struct count count = {.model = model};
    *out = (struct waste){0};
    if (!is_sound(model)) return true;
    bool good = take_slabs(&count) && take_deaths(&count);
    if (good) find_peak(&count, out);
    free(count.slabs);
    free(count.chunks);
    free(count.deaths);
    return good;
}
