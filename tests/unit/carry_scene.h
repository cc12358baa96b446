/* A migrator on a noted device that notes its movements, and two movers without threads, which carry out what
 * a test gives them. */
#ifndef SLUICE_TEST_CARRY_SCENE_H
#define SLUICE_TEST_CARRY_SCENE_H

#include "move/carry_out.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/test_hooks.h"
#include "noted_device.h"

#define CHUNK (2 * SL_MIB)
#define MS UINT64_C(1000000)

enum { CHUNKS = 8, MOST_CALLS = 100 };
enum what { FETCHES, EVICTS, DISCARDS };

static struct noted_device device;
static struct sl_arena *arena;
static struct sl_stats stats;
static struct sl_migrator migrator;
static struct sl_mover mover, second;
static _Atomic int captures;

static struct {
    struct call {
        enum what what;
        sl_chunk chunk;
        uint64_t bytes;
        sl_stream stream;
        uint32_t waits;             /* that there were before it */
        uint64_t in_over, out_over; /* movements that were known to be over by then */
    } calls[MOST_CALLS];
    uint32_t count;
    enum sl_status answer;
    uint64_t takes_ns;
} seen;

static inline enum sl_status note(enum what what, uint64_t address, uint64_t bytes, sl_stream stream)
{
    assert_true(seen.count < MOST_CALLS);
    seen.calls[seen.count++] = (struct call){what,
                                             sl_arena_chunk(arena, address),
                                             bytes,
                                             stream,
                                             device.wait_count,
                                             atomic_load(&migrator.in.done),
                                             atomic_load(&migrator.out.done)};
    device.now_ns += seen.takes_ns;
    return seen.answer;
}

static inline enum sl_status fetch(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)self;
    return note(FETCHES, address, bytes, stream);
}

static inline enum sl_status evict(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)self;
    return note(EVICTS, address, bytes, stream);
}

static inline enum sl_status discard(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)self;
    return note(DISCARDS, address, bytes, stream);
}

static char log_path[] = "/tmp/sluice-carry-out-XXXXXX";

static inline int start(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    noted_device_begin(&device);
    device.backend.fetch = fetch;
    device.backend.evict = evict;
    device.backend.discard = discard;
    sl_link_direction_patience_s = 3600; /* nobody waits so long */
    arena = calloc(1, sizeof *arena);
    if (!arena) return -1;
    sl_arena_init(arena, &device.backend, CHUNK);
    if (sl_stats_init(&stats) || sl_migrator_init(&migrator, &device.backend, arena, &stats, &captures) ||
        sl_movers_new(&migrator.movers) || sl_mover_open(&mover, &device.backend) ||
        sl_mover_open(&second, &device.backend))
        return -1;
    for (sl_chunk c = 0; c < CHUNKS; c++) {
        sl_chunk taken;
        if (sl_arena_take(arena, CHUNK, &taken) || taken != c) return -1;
    }
    strcpy(log_path + strlen(log_path) - 6, "XXXXXX");
    int file = mkstemp(log_path);
    if (file < 0) return -1;
    close(file);
    sl_log_open(0, log_path);
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    sl_test_delay_hook = NULL;
    sl_link_direction_patience_s = 10;
    sl_log_open(0, NULL);
    unlink(log_path);
    sl_mover_close(&mover, &device.backend);
    sl_mover_close(&second, &device.backend);
    sl_migrator_close(&migrator, false);
    sl_arena_close(arena, false);
    sl_stats_close(&stats);
    free(arena);
    return device.made == device.deleted && device.streams_made == device.streams_deleted ? 0 : -1;
}

static inline struct sl_chunk_record *record(sl_chunk c)
{
    return sl_arena_record(arena, c);
}

static inline uint64_t bring_behind(sl_chunk c, uint64_t after_out)
{
    sl_lock(&migrator.in.lock);
    uint64_t sequence = sl_migrator_fetch(&migrator, c, CHUNK, after_out, SL_CAUSE_DEMAND);
    sl_unlock(&migrator.in.lock);
    return sequence;
}

static inline uint64_t bring(sl_chunk c)
{
    return bring_behind(c, 0);
}

static inline uint64_t release_behind(sl_chunk c, struct sl_fence *fence)
{
    sl_lock(&migrator.out.lock);
    uint64_t sequence = sl_migrator_evict(&migrator, c, fence, SL_CAUSE_DEMAND);
    sl_unlock(&migrator.out.lock);
    return sequence;
}

static inline uint64_t release(sl_chunk c)
{
    return release_behind(c, NULL);
}

/* As a thread of the daemon does. */
static inline void carry(struct sl_mover *by, struct sl_movement *movement)
{
    assert_non_null(movement);
    sl_carry_out_wait_before(&migrator, by, movement);
    sl_carry_out_call(&migrator, by, movement);
    sl_carry_out_wait_behind(&migrator, movement);
    sl_carry_out_land(&migrator, by, movement);
}

static inline void carry_next(bool out)
{
    carry(&mover, sl_movers_take(migrator.movers, out));
}

static inline void bring_now(sl_chunk c)
{
    bring(c);
    carry_next(false);
}

static inline bool is_handed_over(bool out)
{
    return migrator.movers->first[out] != NULL;
}

static inline const struct call *last_call(void)
{
    assert_true(seen.count > 0);
    return &seen.calls[seen.count - 1];
}

#endif
