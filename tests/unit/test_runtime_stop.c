/* The end of a process is not held up: not by a device that never finishes what the daemon waits for, and not
 * by a lock whose holder does not go on. What other threads are in the middle of ends well. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/runtime.h"
#include "move/link_direction.h"
#include "tests/host/backend_host.h"
#include "move/schedule.h"

#define BLOCKS 12
#define LEAST_USES (2 * SL_SCHEDULE_NEAR)
#define MOST_USES (LEAST_USES << 12)
#define ITERATIONS 64
#define BEFORE_THE_STOP 5000 /* launches */

static struct sl_backend host;
static pthread_t launching;
static bool daemon_waits, is_over;
static int launches;

static enum sl_status wait_for_ever(void *self, sl_event_handle event)
{
    if (pthread_equal(pthread_self(), launching)) return host.event_wait(self, event);
    __atomic_store_n(&daemon_waits, true, __ATOMIC_RELEASE);
    for (;;) pause();
    return SL_OK;
}

static enum sl_status end_inside(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)self, (void)address, (void)bytes, (void)stream;
    sl_runtime_stop(false);
    _exit(0);
}

static bool does_wait(void)
{
    return __atomic_load_n(&daemon_waits, __ATOMIC_ACQUIRE);
}

/* A loop that is predicted and does not fit, until the daemon is in a wait. Each block is used so often that
 * the next ones come well before their launches, which would fetch them otherwise; how often that is depends
 * on when the machine lets the daemon run. */
static bool train(void)
{
    uint64_t blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        if (sl_runtime_alloc(2 * SL_MIB, 1, 0, NULL, &blocks[i]) != SL_OK) return false;
    for (int uses = LEAST_USES; uses <= MOST_USES && !does_wait(); uses *= 2)
        for (int i = 0; i < ITERATIONS * BLOCKS * uses && !does_wait(); i++) {
            struct sl_launch launch = {
                .kind = SL_LAUNCH_MEMSET, .spans = {{blocks[i / uses % BLOCKS], 64, true}}, .span_count = 1};
            sl_runtime_launch_begin(&launch);
            sl_runtime_launch_end(&launch, true);
            sched_yield();
        }
    return does_wait();
}

static bool start(const char *daemon, struct sl_backend *backend)
{
    setenv("SLUICE_DEVICE_BUDGET", "8M", 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_HOST_LIMIT", "1G", 1);
    setenv("SLUICE_DAEMON", daemon, 1);
    sl_runtime_load();
    launching = pthread_self();
    return sl_runtime_start(backend) == SL_OK;
}

static int in_child(void (*body)(void))
{
    int status;
    pid_t child = fork();
    if (!child) {
        body();
        _exit(3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop_while_the_daemon_waits(void)
{
    if (sl_backend_host_new(64 * SL_MIB, &host) != SL_OK) _exit(4);
    struct sl_backend backend = host;
    backend.event_wait = wait_for_ever;
    sl_link_direction_patience_s = 1; /* a launch waits for the daemon */
    if (!start("thread", &backend) || !train()) _exit(5);
    sl_runtime_stop(false);
    _exit(0);
}

static void a_wait_for_the_device_does_not_hold_the_end_up(void **state)
{
    (void)state;
    assert_int_equal(in_child(stop_while_the_daemon_waits), 0);
}

/* As exit in a signal handler that interrupted a launch. */
static void stop_inside_a_launch(void)
{
    if (sl_backend_host_new(64 * SL_MIB, &host) != SL_OK) _exit(4);
    struct sl_backend backend = host;
    backend.fetch = end_inside;
    if (!start("inline", &backend)) _exit(5);
    train();
}

static void a_lock_that_is_never_released_does_not_either(void **state)
{
    (void)state;
    assert_int_equal(in_child(stop_inside_a_launch), 0);
}

/* Plans all the time, because the loop is short. */
static void *launch_on(void *unused)
{
    uint64_t blocks[BLOCKS];
    launching = pthread_self();
    for (int i = 0; i < BLOCKS; i++)
        if (sl_runtime_alloc(2 * SL_MIB, 1, 0, NULL, &blocks[i]) != SL_OK) _exit(6);
    for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++) {
        struct sl_launch launch = {
            .kind = SL_LAUNCH_MEMSET, .spans = {{blocks[i % BLOCKS], 64, true}}, .span_count = 1};
        sl_runtime_launch_begin(&launch);
        sl_runtime_launch_end(&launch, true);
        __atomic_store_n(&launches, i, __ATOMIC_RELEASE);
    }
    return unused;
}

static void stop_beside_launches(void)
{
    pthread_t thread;
    if (sl_backend_host_new(64 * SL_MIB, &host) != SL_OK) _exit(4);
    struct sl_backend backend = host;
    if (!start("thread", &backend) || pthread_create(&thread, NULL, launch_on, NULL)) _exit(5);
    while (__atomic_load_n(&launches, __ATOMIC_ACQUIRE) < BEFORE_THE_STOP) sched_yield();
    sl_runtime_stop(false);
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    _exit(0);
}

static void launches_under_way_finish_without_the_core(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) assert_int_equal(in_child(stop_beside_launches), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_the_device_does_not_hold_the_end_up),
        cmocka_unit_test(a_lock_that_is_never_released_does_not_either),
        cmocka_unit_test(launches_under_way_finish_without_the_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
