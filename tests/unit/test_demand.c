/* Fetching on demand while another thread allocates: the budget is kept. A process of its own, since the core
 * runs once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"

#define SITE 7
#define SMALL_BYTES (128 * SL_KIB)
#define SMALL_COUNT 48 /* 6 MiB in all */

static const uint32_t offsets[] = {0}, sizes[] = {8};
static const struct sl_host_kernel kernel = {"kernel", 1, offsets, sizes};
static enum sl_status (*evict)(void *self, uint64_t address, uint64_t bytes, sl_stream stream);
static uint64_t grown; /* the allocation that came meanwhile */

static void use(uint64_t *address)
{
    void *parameters[] = {address};
    core_launch(core_kernel(&kernel, parameters, 1));
}

static void *allocate(void *unused)
{
    (void)unused;
    grown = core_take_at(SITE, SMALL_BYTES);
    return NULL;
}

/* What makes room for a launch is just leaving. */
static enum sl_status evict_while_another_allocates(void *self, uint64_t address, uint64_t bytes,
                                                    sl_stream stream)
{
    pthread_t other;
    if (!grown && (pthread_create(&other, NULL, allocate, NULL) || pthread_join(other, NULL))) _exit(4);
    return evict(self, address, bytes, stream);
}

/* 6 of 8 MiB of a packed chunk are needed; some of the last two are taken while room is made for the six. */
static void a_chunk_that_grows_meanwhile(void **state)
{
    (void)state;
    setenv("SLUICE_DEVICE_BUDGET", "14M", 1);
    setenv("SLUICE_CHUNK", "8M", 1);
    core_say_nothing = true;
    if (!core_in_child("inline")) return;
    struct sl_core *core = sl_core_running();
    uint64_t packed[SMALL_COUNT], six = core_take(6 * SL_MIB), eight = core_take(8 * SL_MIB);
    for (int i = 0; i < SMALL_COUNT; i++) packed[i] = core_take_at(SITE, SMALL_BYTES);
    use(&six);
    use(&eight);
    evict = core->backend.evict;
    core->backend.evict = evict_while_another_allocates;
    use(&packed[0]);
    const struct sl_chunk_record *chunk =
        sl_arena_record(&core->arena, sl_arena_chunk(&core->arena, packed[0]));
    bool good = grown && sl_arena_chunk(&core->arena, grown) == sl_arena_chunk(&core->arena, packed[0]) &&
                chunk->frame_bytes == 6 * SL_MIB;
    use(&grown);
    core_end_child(good && chunk->frame_bytes == 8 * SL_MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_chunk_that_grows_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
