/* A model under construction, shared by model.c, model_launches.c and model_lives.c. */
#ifndef SLUICE_TOOL_MODEL_BUILD_H
#define SLUICE_TOOL_MODEL_BUILD_H

#include "base/map.h"
#include "tools/model/model.h"

enum {
    MODEL_MOST =
        1 << 28, /* bound of all counts: indices have 32 bits, and a file must not request all memory */
    MODEL_THREADS = 1024, /* threads whose launches are assembled separately */
    MODEL_STREAMS = 1 << 16,
    MODEL_SLABS = 4096, /* the bound in sluice */
};

/* A thread's launch while its accesses are being read. */
struct pending {
    uint64_t tick;
    uint32_t launch; /* SL_NONE: there is none */
    MODEL_ARRAY(uint32_t) ranges;
};

/* A launch that refers to one that has not been read yet, or never will be. */
struct reference {
    uint32_t launch;
    uint64_t tick;
};

/* An allocation or a free out of order. */
struct stray {
    uint64_t time_ns, tick;
    uint32_t slot;
    bool free;
    uint64_t on; /* as in struct model_life */
};

/* The state of a slot after its records so far. */
struct slot_state {
    uint64_t last_ns;
    uint32_t life; /* the open life, or SL_NONE */
    bool tangled;  /* some of its records are strays */
};

struct model_build {
    struct model *model;
    bool no_memory;
    struct pending pending[MODEL_THREADS];
    MODEL_ARRAY(struct reference) references;
    struct sl_map heads; /* tick of a launch with known accesses -> its shape */
    struct sl_map range_of, set_of, shape_of, stream_of; /* hash -> index */
    struct sl_map slot_of; /* the file's slot + 1 -> the newest slot of that number */
    MODEL_ARRAY(struct slot_state) slot_states;
    MODEL_ARRAY(struct stray) strays;
};

/* Makes room for one more element; on failure returns false and records it. */
bool model_reserve(struct model_build *build, void *array, size_t count, size_t *room, size_t size);

/* Appends `value`; 1 on success. */
#define MODEL_PUSH(build, array, ...)                                                                        \
    (model_reserve(build, &(array).at, (array).count, &(array).room, sizeof(*(array).at))                    \
         ? ((array).at[(array).count++] = (__VA_ARGS__), true)                                               \
         : false)

void model_put(struct model_build *build, struct sl_map *map, uint64_t key, uint32_t value);

/* model_launches.c */
void model_add_launch(struct model_build *build, const struct sl_trace_record *record);
void model_add_access(struct model_build *build, const struct sl_trace_record *record);
void model_finish_launches(struct model_build *build);

/* model_lives.c */
/* The slot of this number at this position of the file. */
uint32_t model_slot(struct model_build *build, uint32_t id);
void model_add_alloc(struct model_build *build, const struct sl_event *event);
void model_add_free(struct model_build *build, const struct sl_event *event);
void model_finish_lives(struct model_build *build);

#endif
