/* Movements wait for what they have to and for nothing else, however far the host is ahead of the device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "core/core.h"
#include "tools/sim/backend_sim.h"

#define BLOCKS 1000 /* more than there are events to begin with */
#define BLOCK_BYTES (2 * SL_MIB)
#define NS 2097152.0 /* that a block takes to come; it takes twice as long to leave */

struct setup {
    struct sl_backend backend;
    struct sl_migrator *migrator;
    sl_chunk chunks[BLOCKS];
};

static void finish(struct setup *s)
{
    assert_int_equal(sl_backend_sim_finish_all(&s->backend), SL_OK);
}

static uint64_t bring(struct setup *s, int block)
{
    sl_lock(&s->migrator->in.lock);
    uint64_t sequence = sl_migrator_fetch(s->migrator, s->chunks[block], BLOCK_BYTES, 0, SL_CAUSE_DEMAND);
    sl_unlock(&s->migrator->in.lock);
    assert_int_not_equal(sequence, 0);
    return sequence;
}

static uint64_t release(struct setup *s, int block)
{
    sl_lock(&s->migrator->out.lock);
    uint64_t sequence = sl_migrator_evict(s->migrator, s->chunks[block], NULL, SL_CAUSE_DEMAND);
    sl_unlock(&s->migrator->out.lock);
    assert_int_not_equal(sequence, 0);
    return sequence;
}

static int start(void **state)
{
    static struct setup s;
    struct sl_sim_device device = {.bytes = SL_GIB * 64,
                                   .in_bytes_per_s = 1000000000,
                                   .out_bytes_per_s = 500000000,
                                   .driver = {.both_percent = 100},
                                   .queue = UINT32_MAX};
    setenv("SLUICE_DEVICE_BUDGET", "32G", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_HOST_LIMIT", "32G", 1);
    setenv("SLUICE_POLICY", "lru", 1);
    setenv("SLUICE_DAEMON", "inline", 1);
    sl_runtime_load();
    if (sl_backend_sim_new(&device, &s.backend) || sl_runtime_start(&s.backend)) return -1;
    struct sl_core *core = sl_core_running();
    s.migrator = &core->migrator;
    for (int b = 0; b < BLOCKS; b++) {
        uint64_t address;
        if (sl_runtime_alloc(BLOCK_BYTES, 1, 0, NULL, &address)) return -1;
        struct sl_launch launch = {
            .kind = SL_LAUNCH_MEMSET, .spans = {{address, BLOCK_BYTES, true}}, .span_count = 1};
        sl_runtime_launch_begin(&launch);
        sl_runtime_launch_end(&launch, true);
        s.chunks[b] = sl_arena_chunk(&core->arena, address);
    }
    for (int b = 0; b < BLOCKS; b++) release(&s, b);
    finish(&s);
    *state = &s;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    sl_runtime_stop(false);
    return 0;
}

static double now_ns(struct setup *s)
{
    struct sl_sim_mark mark;
    sl_backend_sim_mark(&s->backend, s->migrator->in.enqueued.stream, &mark);
    finish(s);
    return mark.time_ns;
}

static void an_eviction_waits_for_its_own_fetch(void **state)
{
    struct setup *s = *state;
    struct sl_sim_mark left;
    double begin = now_ns(s);
    for (int b = 0; b < BLOCKS; b++) bring(s, b);
    release(s, 0);
    sl_backend_sim_mark(&s->backend, s->migrator->out.enqueued.stream, &left);
    finish(s);
    assert_true(left.time_ns - begin >= 3 * NS);
    assert_true(left.time_ns - begin < 4 * NS);
    for (int b = 1; b < BLOCKS; b++) release(s, b);
    finish(s);
}

static void a_fetch_waits_for_its_own_eviction(void **state)
{
    struct setup *s = *state;
    struct sl_sim_mark came;
    double begin = now_ns(s);
    for (int b = 0; b < BLOCKS; b++) bring(s, b);
    for (int b = 0; b < BLOCKS; b++) release(s, b);
    bring(s, 100);
    sl_backend_sim_mark(&s->backend, s->migrator->in.enqueued.stream, &came);
    finish(s);
    assert_true(came.time_ns - begin >= (BLOCKS + 1) * NS);
    assert_true(came.time_ns - begin < (BLOCKS + 2) * NS);
    release(s, 100);
    finish(s);
}

static void room_is_behind_the_eviction_that_makes_it(void **state)
{
    struct setup *s = *state;
    uint64_t first = 0;
    for (int b = 1; b < BLOCKS; b++) bring(s, b);
    for (int b = 1; b < BLOCKS; b++) {
        uint64_t sequence = release(s, b);
        if (b == 1) first = sequence;
    }
    for (uint64_t frames = 1; frames < BLOCKS - 1; frames += 7)
        assert_int_equal(sl_migrator_room_after(s->migrator, s->chunks[0], BLOCK_BYTES, frames * BLOCK_BYTES),
                         first + BLOCKS - 1 - frames);
    finish(s);
}

static void events_are_used_again_when_movements_are_done(void **state)
{
    struct setup *s = *state;
    uint32_t before = s->migrator->in.enqueued.event_count;
    for (int round = 0; round < 3; round++) {
        for (int b = 0; b < BLOCKS; b++) bring(s, b);
        for (int b = 0; b < BLOCKS; b++) release(s, b);
        finish(s);
    }
    assert_true(s->migrator->in.enqueued.event_count <= before + SL_EVENTS_LEAST);
    assert_true(s->migrator->in.enqueued.event_count <= BLOCKS + SL_EVENTS_LEAST);
}

/* Too few events make it late, and never early. */
static void without_more_events_it_waits_longer(void **state)
{
    struct setup *s = *state;
    struct sl_sim_mark left;
    double begin = now_ns(s);
    for (int b = 0; b < SL_EVENTS_MOST + BLOCKS; b++) {
        bring(s, b % BLOCKS);
        release(s, b % BLOCKS);
    }
    assert_int_equal(s->migrator->in.enqueued.event_count, SL_EVENTS_MOST);
    uint64_t held = bring(s, 0);
    assert_false(sl_link_direction_has_event(&s->migrator->in, held - SL_EVENTS_MOST));
    assert_true(sl_link_direction_has_event(&s->migrator->in, held - SL_EVENTS_MOST + 1));
    release(s, 0);
    sl_backend_sim_mark(&s->backend, s->migrator->out.enqueued.stream, &left);
    finish(s);
    assert_true(left.time_ns - begin >= 2 * NS * (SL_EVENTS_MOST + BLOCKS + 1));
}

/* Gives the chunk to an allocation and takes it back, as a program does whose threads free and allocate. */
struct owner {
    struct setup *s;
    _Atomic bool moving, done, promised_in_vain;
};

static void *own_now_and_then(void *argument)
{
    struct owner *o = argument;
    struct sl_chunk_record *chunk = sl_arena_record(o->s->migrator->arena, o->s->chunks[0]);
    while (!atomic_load(&o->done)) {
        int dead = SL_CONTENT_RESIDENT_DEAD, resident = SL_CONTENT_RESIDENT;
        atomic_compare_exchange_strong(&chunk->content, &dead, SL_CONTENT_RESIDENT);
        uint64_t promised = atomic_load(&chunk->out_sequence);
        while (atomic_load(&o->s->migrator->out.issued) < promised)
            if (!atomic_load(&o->moving) && atomic_load(&o->s->migrator->out.issued) < promised) {
                atomic_store(&o->promised_in_vain, true);
                return NULL;
            }
        atomic_compare_exchange_strong(&chunk->content, &resident, SL_CONTENT_RESIDENT_DEAD);
    }
    return NULL;
}

/* Who takes a chunk waits for what moves in it: for ever, if that never comes. */
static void a_number_that_was_told_comes(void **state)
{
    struct setup *s = *state;
    struct owner owner = {.s = s};
    pthread_t thread;
    bring(s, 0);
    assert_int_equal(pthread_create(&thread, NULL, own_now_and_then, &owner), 0);
    for (int i = 0; i < 300000 && !atomic_load(&owner.promised_in_vain); i++) {
        atomic_store(&owner.moving, true);
        sl_lock(&s->migrator->out.lock);
        sl_migrator_evict(s->migrator, s->chunks[0], NULL, SL_CAUSE_DEMAND);
        sl_unlock(&s->migrator->out.lock);
        atomic_store(&owner.moving, false);
        sl_lock(&s->migrator->in.lock);
        sl_migrator_fetch(s->migrator, s->chunks[0], BLOCK_BYTES, 0, SL_CAUSE_DEMAND);
        sl_unlock(&s->migrator->in.lock);
        if (i % 500 == 0) finish(s);
    }
    atomic_store(&owner.done, true);
    pthread_join(thread, NULL);
    assert_false(atomic_load(&owner.promised_in_vain));
    finish(s);
}

/* A device that shares its link plans with its part of it, until what it really has is measured. */
static void a_shared_link_is_taken_to_carry_a_part(void **state)
{
    struct setup *s = *state;
    struct sl_migrator *migrator = s->migrator;
    uint64_t in = migrator->link_in_bytes_per_s, out = migrator->link_out_bytes_per_s;
    migrator->link_in_bytes_per_s = migrator->assumed_bytes_per_s;
    migrator->link_out_bytes_per_s = 11000000000; /* measured */
    sl_migrator_share_link(migrator, 4);
    assert_int_equal(migrator->link_in_bytes_per_s, SL_ASSUMED_LINK_BYTES_PER_S / 4);
    assert_int_equal(migrator->link_out_bytes_per_s, 11000000000);
    sl_migrator_share_link(migrator, 2); /* some have gone */
    assert_int_equal(migrator->link_in_bytes_per_s, SL_ASSUMED_LINK_BYTES_PER_S / 2);
    migrator->link_in_bytes_per_s = 5000000000;
    sl_migrator_share_link(migrator, 1);
    assert_int_equal(migrator->link_in_bytes_per_s, 5000000000);
    migrator->link_in_bytes_per_s = in;
    migrator->link_out_bytes_per_s = out;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_eviction_waits_for_its_own_fetch),
        cmocka_unit_test(a_fetch_waits_for_its_own_eviction),
        cmocka_unit_test(room_is_behind_the_eviction_that_makes_it),
        cmocka_unit_test(a_shared_link_is_taken_to_carry_a_part),
        cmocka_unit_test(events_are_used_again_when_movements_are_done),
        cmocka_unit_test(without_more_events_it_waits_longer),
        cmocka_unit_test(a_number_that_was_told_comes),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
