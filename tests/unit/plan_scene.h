/* Inputs for plans, launch by launch or by chance. */
#ifndef SLUICE_TESTS_PLAN_SCENE_H
#define SLUICE_TESTS_PLAN_SCENE_H

#include "plan/plan.h"

enum { SCENE_LAUNCHES = 60, SCENE_CHUNKS = 16, SCENE_ACCESSES = 5, SCENE_DEATHS = 3 };

/* One input with its arrays. It points into itself: not to be copied. */
struct scene {
    struct sl_plan_input in;
    struct sl_plan_launch launches[SCENE_LAUNCHES];
    struct sl_plan_access accesses[SCENE_LAUNCHES * SCENE_ACCESSES];
    sl_chunk deaths[SCENE_LAUNCHES * SCENE_DEATHS];
    uint64_t bytes[SCENE_CHUNKS];
    enum sl_chunk_content content[SCENE_CHUNKS];
    size_t access_count, death_count;
    double launch_ns[SCENE_LAUNCHES]; /* the durations, 1 where there is none */
};

/* Dead chunks of one byte, and no launches yet; the link takes a ns for a byte. */
void scene_begin(struct scene *s, size_t chunks, uint64_t budget_bytes);

void scene_launch(struct scene *s, uint64_t duration_ns);
void scene_use(struct scene *s, sl_chunk chunk); /* in the last launch, all of the chunk */
void scene_die(struct scene *s, sl_chunk chunk);

/* Launches that use one chunk each, named by a letter; a letter in capitals dies after its launch. */
void scene_string(struct scene *s, const char *letters);

/* All launches so far come so many times. */
void scene_repeat(struct scene *s, size_t times);

/* Everything by chance; the chunks rarely exceed the budget at the start. */
void scene_random(struct scene *s, uint64_t *seed);

#endif
