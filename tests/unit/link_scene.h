/* A direction of the link on a noted device, whose movers' events are marks; and threads that wait for its
 * movements. */
#ifndef SLUICE_TEST_LINK_SCENE_H
#define SLUICE_TEST_LINK_SCENE_H

#include "move/link_direction.h"

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

enum { MOVEMENTS = 4 };
#define LONG_S 3600u /* nobody waits so long */

static struct noted_device device;
static struct sl_link_direction direction;
static struct noted_event marks[SL_MOVER_EVENTS_KEPT]; /* movers' events, by movement */
static int other_stream;                               /* its address is one */
static sl_stream other = &other_stream;

static inline int start(void **state)
{
    (void)state;
    noted_device_begin(&device);
    memset(&direction, 0, sizeof direction);
    memset(marks, 0, sizeof marks);
    sl_link_direction_patience_s = LONG_S;
    if (sl_link_direction_init(&direction, &device.backend, &device.out, SL_LOCK_OUT)) return -1;
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    sl_test_delay_hook = NULL;
    sl_link_direction_patience_s = 10;
    sl_link_direction_close(&direction, &device.backend);
    return device.deleted == device.made ? 0 : -1;
}

static inline uint64_t enqueue(void)
{
    enum sl_status status = SL_OK;
    sl_lock(&direction.lock);
    uint64_t sequence = sl_link_direction_submitted(&direction, &device.backend, true, &status);
    sl_unlock(&direction.lock);
    assert_int_equal(status, SL_OK);
    return sequence;
}

#define CLAIMED 100 /* bytes */

static inline uint64_t claim_bytes(uint64_t bytes)
{
    sl_lock(&direction.lock);
    uint64_t sequence = sl_link_direction_claim(&direction, bytes);
    sl_unlock(&direction.lock);
    return sequence;
}

static inline uint64_t claim(void)
{
    return claim_bytes(CLAIMED);
}

static inline struct noted_event *mark_of(uint64_t sequence)
{
    return &marks[sequence % SL_MOVER_EVENTS_KEPT];
}

static inline void land(uint64_t sequence)
{
    sl_link_direction_landed(&direction, sequence, mark_of(sequence));
}

static inline struct noted_event *event_of(uint64_t sequence)
{
    return sl_link_direction_event(&direction, sequence);
}

static inline bool known_done(uint64_t sequence)
{
    return sl_link_direction_known_done(&direction, sequence);
}

static inline bool ask_done(uint64_t sequence)
{
    return sl_link_direction_ask_done(&direction, &device.backend, sequence);
}

static inline enum sl_status wait_on_host(uint64_t sequence)
{
    return sl_link_direction_wait(&direction, &device.backend, sequence, NULL);
}

static inline bool has_room(uint64_t sequence)
{
    return sl_link_direction_has_room(&direction, sequence);
}

static inline enum sl_status wait_for_room(uint64_t sequence)
{
    return sl_link_direction_wait_room(&direction, &device.backend, sequence);
}

static inline enum sl_status wait_on_stream(uint64_t sequence)
{
    return sl_link_direction_wait(&direction, &device.backend, sequence, &other);
}

static inline uint64_t waits_for(const struct noted_event *event)
{
    return noted_stream_waits(&device, other, (sl_event_handle)event);
}

static inline uint64_t host_waits_for(const struct noted_event *event)
{
    return noted_host_waits(&device, (sl_event_handle)event);
}

/* Threads that wait, and how many of them were about to sleep. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t asleep;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void note_sleep(enum sl_delay_place place)
{
    if (place != SL_DELAY_SLEEP) return;
    pthread_mutex_lock(&seen.lock);
    seen.asleep++;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static inline void await_sleepers(uint32_t count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.asleep < count) pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

struct waiter {
    pthread_t thread;
    uint64_t sequence;
    bool by_host, for_room;
    enum sl_status status;
    _Atomic bool back;
};

static inline void *wait_in_thread(void *argument)
{
    struct waiter *waiter = argument;
    waiter->status = waiter->for_room  ? wait_for_room(waiter->sequence)
                     : waiter->by_host ? wait_on_host(waiter->sequence)
                                       : wait_on_stream(waiter->sequence);
    atomic_store(&waiter->back, true);
    return NULL;
}

static inline void begin_wait(struct waiter *waiter)
{
    if (sl_test_delay_hook != note_sleep) { /* no other thread waits */
        seen.asleep = 0;
        sl_test_delay_hook = note_sleep;
    }
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_in_thread, waiter), 0);
}

static inline enum sl_status end_wait(struct waiter *waiter)
{
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    return waiter->status;
}

static enum sl_delay_place meanwhile; /* when another thread acts */

static inline void land_meanwhile(enum sl_delay_place place)
{
    if (place == meanwhile) land(atomic_load(&direction.given));
}

#endif
