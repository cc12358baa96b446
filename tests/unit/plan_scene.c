#include "plan_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plan_check.h"

void scene_begin(struct scene *s, size_t chunks, uint64_t budget_bytes)
{
    *s = (struct scene){.in = {.first_tick = 1,
                               .launches = s->launches,
                               .accesses = s->accesses,
                               .deaths = s->deaths,
                               .chunk_count = chunks,
                               .chunk_bytes = s->bytes,
                               .content = s->content,
                               .budget_bytes = budget_bytes,
                               .in_bytes_per_s = 1000000000,
                               .out_bytes_per_s = 1000000000,
                               .attempts = 12}};
    for (size_t i = 0; i < chunks; i++) s->bytes[i] = 1;
}

void scene_launch(struct scene *s, uint64_t duration_ns)
{
    assert_true(s->in.launch_count < SCENE_LAUNCHES);
    s->launch_ns[s->in.launch_count] = duration_ns ? (double)duration_ns : 1;
    s->launches[s->in.launch_count++] =
        (struct sl_plan_launch){(uint32_t)s->access_count, 0, (uint32_t)s->death_count, 0, duration_ns};
}

void scene_use(struct scene *s, sl_chunk chunk)
{
    s->accesses[s->access_count++] = (struct sl_plan_access){chunk};
    s->launches[s->in.launch_count - 1].access_count++;
}

void scene_die(struct scene *s, sl_chunk chunk)
{
    s->deaths[s->death_count++] = chunk;
    s->launches[s->in.launch_count - 1].death_count++;
}

void scene_string(struct scene *s, const char *letters)
{
    for (; *letters; letters++) {
        bool dies = *letters >= 'A' && *letters <= 'Z';
        scene_launch(s, 1);
        scene_use(s, (sl_chunk)(*letters - (dies ? 'A' : 'a')));
        if (dies) scene_die(s, (sl_chunk)(*letters - 'A'));
    }
}

void scene_repeat(struct scene *s, size_t times)
{
    size_t launches = s->in.launch_count;
    for (size_t t = launches; t < times * launches; t++) {
        const struct sl_plan_launch *launch = &s->launches[t - launches];
        scene_launch(s, launch->duration_ns);
        for (uint32_t k = 0; k < launch->access_count; k++) {
            const struct sl_plan_access *use = &s->accesses[launch->first_access + k];
            scene_use(s, use->chunk);
            s->accesses[s->access_count - 1].bytes = use->bytes;
        }
        for (uint32_t k = 0; k < launch->death_count; k++) scene_die(s, s->deaths[launch->first_death + k]);
    }
}

void scene_random(struct scene *s, uint64_t *seed)
{
    size_t chunks = 1 + random_below(seed, SCENE_CHUNKS);
    scene_begin(s, chunks, 1 + random_below(seed, 40));
    s->in.first_tick = 1 + random_below(seed, 1000);
    s->in.in_bytes_per_s = 1 + random_below(seed, 2000000000);
    s->in.out_bytes_per_s = 1 + random_below(seed, 2000000000);
    bool uniform = random_below(seed, 3) == 0;
    uint64_t resident = 0;
    for (size_t i = 0; i < chunks; i++) {
        s->bytes[i] = uniform ? 4 : 1 + random_below(seed, 8);
        s->content[i] = (enum sl_chunk_content)random_below(seed, 4);
        bool above = resident + s->bytes[i] > s->in.budget_bytes && random_below(seed, 20) > 0;
        if (s->content[i] >= SL_CONTENT_RESIDENT && above) s->content[i] = SL_CONTENT_HOST;
        if (s->content[i] >= SL_CONTENT_RESIDENT) resident += s->bytes[i];
    }
    s->in.when = (enum sl_plan_when)random_below(seed, SL_PLAN_ON_DEMAND + 1);
    size_t launches = random_below(seed, SCENE_LAUNCHES);
    uint64_t part_seed = *seed;
    bool parts = random_below(&part_seed, 2);
    uint32_t deaths = random_below(seed, 3), accesses = 1 + random_below(seed, SCENE_ACCESSES);
    for (size_t t = 0; t < launches; t++) {
        scene_launch(s, random_below(seed, 4) * random_below(seed, 20));
        for (sl_chunk i = 0; i < chunks && s->launches[t].access_count < accesses; i++)
            if (random_below(seed, (uint32_t)chunks) < accesses) {
                scene_use(s, i);
                s->accesses[s->access_count - 1].bytes = parts ? random_below(&part_seed, 10) : 0;
            }
        for (uint32_t k = random_below(seed, deaths + 1); k > 0; k--)
            scene_die(s, random_below(seed, (uint32_t)chunks));
    }
}
