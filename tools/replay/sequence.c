#include "tools/replay/sequence.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "tools/replay/floor.h"
#include "tools/text/json.h"

struct launch {
    uint64_t took_ns;
    size_t first_use, first_death;
};

struct use {
    uint32_t chunk; /* numbered from 0, by first use */
    bool writes;
};

#define ARRAY(type)                                                                                          \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t count, room;                                                                                  \
    }

struct sequence {
    ARRAY(struct launch) launches;
    ARRAY(struct use) uses;
    ARRAY(sl_chunk) alive;        /* numbers of the core */
    ARRAY(sl_chunk) deaths;       /* numbers of the core */
    ARRAY(sl_chunk) early_deaths; /* before the first launch */
    ARRAY(uint64_t) chunk_bytes;
    ARRAY(uint64_t) least_bytes; /* of each chunk: at any of its uses */
    struct sl_map numbers;       /* the core's number + 1 -> number in the sequence */
    bool no_memory;
};

static bool grow(struct sequence *sequence, void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return true;
    size_t larger = *room ? 2 * *room : 256;
    void *moved = realloc(*(void **)array, larger * size);
    if (!moved) {
        sequence->no_memory = true;
        return false;
    }
    *(void **)array = moved;
    *room = larger;
    return true;
}

#define PUSH(sequence, array, ...)                                                                           \
    do {                                                                                                     \
        if (grow(sequence, &(array).at, (array).count, &(array).room, sizeof(*(array).at)))                  \
            (array).at[(array).count++] = (__VA_ARGS__);                                                     \
    } while (0)

struct sequence *sequence_new(void)
{
    return calloc(1, sizeof(struct sequence));
}

void sequence_delete(struct sequence *sequence)
{
    if (!sequence) return;
    free(sequence->launches.at);
    free(sequence->uses.at);
    free(sequence->alive.at);
    free(sequence->deaths.at);
    free(sequence->early_deaths.at);
    free(sequence->chunk_bytes.at);
    free(sequence->least_bytes.at);
    sl_map_free(&sequence->numbers);
    free(sequence);
}

void sequence_alive(struct sequence *sequence, sl_chunk chunk)
{
    PUSH(sequence, sequence->alive, chunk);
}

void sequence_launch(struct sequence *sequence, uint64_t took_ns)
{
    PUSH(sequence, sequence->launches,
         (struct launch){took_ns, sequence->uses.count, sequence->deaths.count});
}

void sequence_use(struct sequence *sequence, sl_chunk chunk, uint64_t bytes, bool writes)
{
    uint32_t number = sl_map_get(&sequence->numbers, (uint64_t)chunk + 1);
    if (number == SL_NONE) {
        number = (uint32_t)sequence->chunk_bytes.count;
        PUSH(sequence, sequence->chunk_bytes, 0);
        PUSH(sequence, sequence->least_bytes, bytes);
        if (sequence->no_memory || !sl_map_put(&sequence->numbers, (uint64_t)chunk + 1, number)) {
            sequence->no_memory = true;
            return;
        }
    }
    if (bytes > sequence->chunk_bytes.at[number]) sequence->chunk_bytes.at[number] = bytes;
    if (bytes < sequence->least_bytes.at[number]) sequence->least_bytes.at[number] = bytes;
    PUSH(sequence, sequence->uses, (struct use){number, writes});
}

void sequence_death(struct sequence *sequence, sl_chunk chunk)
{
    if (sequence->launches.count)
        PUSH(sequence, sequence->deaths, chunk);
    else
        PUSH(sequence, sequence->early_deaths, chunk);
}

static void write_uses(struct json *json, const struct sequence *sequence, size_t launch, bool writes)
{
    size_t end = launch + 1 < sequence->launches.count ? sequence->launches.at[launch + 1].first_use
                                                       : sequence->uses.count;
    json_array(json, writes ? "writes" : "reads", false);
    for (size_t u = sequence->launches.at[launch].first_use; u < end; u++)
        if (sequence->uses.at[u].writes == writes) json_number(json, NULL, sequence->uses.at[u].chunk);
    json_close(json);
}

/* Leaves out chunks that no launch uses. */
static void write_chunks(struct json *json, const struct sequence *sequence, const sl_chunk *chunks,
                         size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        uint32_t number = sl_map_get(&sequence->numbers, (uint64_t)chunks[i] + 1);
        if (number != SL_NONE) json_number(json, NULL, number);
    }
}

static void write_deaths(struct json *json, const struct sequence *sequence, size_t launch)
{
    bool last = launch + 1 == sequence->launches.count;
    size_t begin = sequence->launches.at[launch].first_death;
    size_t end = last ? sequence->deaths.count : sequence->launches.at[launch + 1].first_death;
    json_array(json, "deaths", false);
    write_chunks(json, sequence, sequence->deaths.at, begin, end);
    if (last) write_chunks(json, sequence, sequence->early_deaths.at, 0, sequence->early_deaths.count);
    json_close(json);
}

bool sequence_write(struct sequence *sequence, const char *name, FILE *to)
{
    struct json json = {.to = to};
    errno = ENOMEM;
    if (sequence->no_memory) return false;
    json_object(&json, NULL, true);
    json_text(&json, "kind", SEQUENCE_KIND);
    json_text(&json, "name", name);
    json_array(&json, "chunk_bytes", false);
    for (size_t c = 0; c < sequence->chunk_bytes.count; c++)
        json_number(&json, NULL, sequence->chunk_bytes.at[c]);
    json_close(&json);
    json_array(&json, "alive", false);
    write_chunks(&json, sequence, sequence->alive.at, 0, sequence->alive.count);
    json_close(&json);
    json_array(&json, "launches", true);
    for (size_t l = 0; l < sequence->launches.count; l++) {
        json_object(&json, NULL, false);
        json_number(&json, "ns", sequence->launches.at[l].took_ns);
        write_uses(&json, sequence, l, false);
        write_uses(&json, sequence, l, true);
        write_deaths(&json, sequence, l);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
    return fflush(to) == 0 && !ferror(to);
}

/* The numbers of the chunks at `chunks`, from out[count] on. Leaves out chunks that no launch uses. */
static size_t list_chunks(const struct sequence *sequence, const sl_chunk *chunks, size_t begin, size_t end,
                          uint32_t *out, size_t count)
{
    for (size_t i = begin; i < end; i++) {
        uint32_t number = sl_map_get(&sequence->numbers, (uint64_t)chunks[i] + 1);
        if (number != SL_NONE) out[count++] = number;
    }
    return count;
}

/* The arrays of *out have room for everything. */
static void list_launches(const struct sequence *sequence, size_t *first_use, uint32_t *used,
                          size_t *first_death, uint32_t *dead)
{
    size_t launches = sequence->launches.count, deaths = 0;
    for (size_t u = 0; u < sequence->uses.count; u++) used[u] = sequence->uses.at[u].chunk;
    for (size_t l = 0; l < launches; l++) {
        bool last = l + 1 == launches;
        size_t end = last ? sequence->deaths.count : sequence->launches.at[l + 1].first_death;
        first_use[l] = sequence->launches.at[l].first_use;
        first_death[l] = deaths;
        deaths = list_chunks(sequence, sequence->deaths.at, sequence->launches.at[l].first_death, end, dead,
                             deaths);
        if (last)
            deaths = list_chunks(sequence, sequence->early_deaths.at, 0, sequence->early_deaths.count, dead,
                                 deaths);
    }
    first_use[launches] = sequence->uses.count;
    first_death[launches] = deaths;
}

bool sequence_least_bytes(const struct sequence *sequence, uint64_t budget_bytes, uint64_t *out)
{
    size_t launches = sequence->launches.count, chunks = sequence->chunk_bytes.count;
    size_t *first_use = calloc(launches + 1, sizeof(*first_use));
    size_t *first_death = calloc(launches + 1, sizeof(*first_death));
    uint32_t *used = calloc(sequence->uses.count + 1, sizeof(*used));
    uint32_t *dead = calloc(sequence->deaths.count + sequence->early_deaths.count + 1, sizeof(*dead));
    uint32_t *blocks = calloc(chunks + 1, sizeof(*blocks));
    bool *alive = calloc(chunks + 1, sizeof(*alive));
    bool good = !sequence->no_memory && first_use && first_death && used && dead && blocks && alive;
    uint64_t count = 0;
    if (good) {
        list_launches(sequence, first_use, used, first_death, dead);
        for (size_t c = 0; c < chunks; c++)
            blocks[c] = (uint32_t)((sequence->least_bytes.at[c] + SL_BLOCK_BYTES - 1) / SL_BLOCK_BYTES);
        for (size_t i = 0; i < sequence->alive.count; i++) {
            uint32_t number = sl_map_get(&sequence->numbers, (uint64_t)sequence->alive.at[i] + 1);
            if (number != SL_NONE) alive[number] = true;
        }
        good = floor_blocks(
            &(struct floor_sequence){launches, first_use, used, first_death, dead, chunks, blocks, alive},
            budget_bytes / SL_BLOCK_BYTES, &count);
    }
    if (good) *out = count * SL_BLOCK_BYTES;
    free(first_use);
    free(first_death);
    free(used);
    free(dead);
    free(blocks);
    free(alive);
    return good;
}
