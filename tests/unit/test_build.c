/* The core's parts, made and torn down: breaks if a device that refuses something is left with what it gave,
 * if one that is gone is still asked, or if threads are there in vain or left behind. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"
#include "core/planning.h"
#include "tests/host/backend_host.h"

#define CHUNK (2 * SL_MIB)
enum { MOST_EVENTS = 4096 };

/* The host backend, counted. It refuses one of the calls that may fail. */
static struct {
    struct sl_backend real;
    _Atomic int calls;  /* that may fail, */
    int refused;        /* of these, by number; -1: none */
    _Atomic int others; /* calls that cannot fail */
    sl_event_handle events[MOST_EVENTS];
    int event_count, slabs, closed;
} device;

static bool refuses(void)
{
    return device.calls++ == device.refused;
}

static enum sl_status memory_info(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return refuses() ? SL_ERR_DRIVER : device.real.memory_info(self, free_bytes, total_bytes);
}

/* Movers make and delete events beside the core's thread. */
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

static enum sl_status keep(enum sl_status status, const sl_event_handle *event)
{
    if (status) return status;
    pthread_mutex_lock(&events_lock);
    assert_in_range(device.event_count, 0, MOST_EVENTS - 1);
    device.events[device.event_count++] = *event;
    pthread_mutex_unlock(&events_lock);
    return SL_OK;
}

static enum sl_status event_new(void *self, sl_event_handle *out)
{
    return refuses() ? SL_ERR_DRIVER : keep(device.real.event_new(self, out), out);
}

static enum sl_status timed_event_new(void *self, sl_event_handle *out)
{
    return refuses() ? SL_ERR_DRIVER : keep(device.real.timed_event_new(self, out), out);
}

static void event_delete(void *self, sl_event_handle event)
{
    int e = 0;
    pthread_mutex_lock(&events_lock);
    while (e < device.event_count && device.events[e] != event) e++;
    assert_in_range(e, 0, device.event_count - 1);
    device.events[e] = device.events[--device.event_count];
    pthread_mutex_unlock(&events_lock);
    device.others++;
    device.real.event_delete(self, event);
}

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    if (refuses()) return SL_ERR_NO_MEMORY;
    device.slabs++;
    return device.real.slab_new(self, bytes, address);
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    device.slabs--;
    device.others++;
    device.real.slab_delete(self, address, bytes);
}

static enum sl_status thread_attach(void *self)
{
    return refuses() ? SL_ERR_DRIVER : device.real.thread_attach(self);
}

static void close_device(void *self)
{
    device.closed++;
    device.others++;
    device.real.close(self);
}

static struct sl_options options;

/* A core on a new device that refuses call `refused`; not built. */
static struct sl_core *new_core(int refused)
{
    memset(&device, 0, sizeof device);
    device.refused = refused;
    assert_int_equal(sl_backend_host_new(SL_GIB, &device.real), SL_OK);
    struct sl_core *core = sl_core_new(&device.real, 0);
    assert_non_null(core);
    core->backend.memory_info = memory_info;
    core->backend.event_new = event_new;
    core->backend.timed_event_new = timed_event_new;
    core->backend.event_delete = event_delete;
    core->backend.slab_new = slab_new;
    core->backend.slab_delete = slab_delete;
    core->backend.thread_attach = thread_attach;
    core->backend.close = close_device;
    core->options = &options;
    core->policy = sl_policy_traits(options.policy);
    return core;
}

static struct sl_core *built_core(void)
{
    struct sl_core *core = new_core(-1);
    assert_int_equal(sl_core_build(core), SL_OK);
    return core;
}

static void tear_down(struct sl_core *core)
{
    sl_core_tear_down(core, false);
    sl_core_delete(core);
    assert_int_equal(device.closed, 1);
    assert_int_equal(device.event_count, 0);
    assert_int_equal(device.slabs, 0);
}

static int begin(void **state)
{
    (void)state;
    sl_runtime_load();
    options = *sl_options_in_force();
    options.daemon = SL_DAEMON_INLINE;
    return 0;
}

/* But for what it is made with. The counters may become a file's: see live.h. */
static void a_new_core_is_zeroed(void **state)
{
    (void)state;
    sl_core_delete(NULL);
    struct sl_core *core = sl_core_new(&device.real, 1);
    assert_non_null(core);
    assert_int_equal(core->number, 1);
    core->number = 0;
    memset(&core->backend, 0, sizeof core->backend);
    core->options = NULL;
    core->policy = NULL;
    for (size_t i = 0; i < sizeof *core; i++) assert_int_equal(((const char *)core)[i], 0);
    sl_core_delete(core);
}

/* Has each part take something of the device, as far as that gives it. */
static void use_all_parts(struct sl_core *core)
{
    uint32_t slot;
    struct sl_launch launch = {.tick = 1};
    struct sl_free_stream stream = {.handle = (sl_stream)16};
    (void)sl_place(&core->placement, CHUNK, 1, &slot);
    (void)sl_stall_new(&core->sampling);
    sl_core_under_pressure(core);
    core->history.ticks.now = core->history.ticks.open[launch.tick] = launch.tick;
    core->history.streak = SL_STEADY_STREAK;
    (void)sl_sample_begin(&core->sampling, &launch, 0, 0, true, 0);
    sl_points_void(&core->reuse.frees, sl_points_record(&core->reuse.frees, &stream, 1));
    sl_stream_is_used(&core->streams, sl_stream_number(&core->streams, stream.handle));
    sl_stream_may_capture(&core->streams, stream.handle);
}

/* Each of the driver's refusals in turn: the core is there and works, or all that the device gave is given
 * back. */
static void whatever_the_device_refuses_it_gets_everything_back(void **state)
{
    (void)state;
    int failed = 0, refused = -1, calls;
    do {
        struct sl_core *core = new_core(++refused);
        enum sl_status status = sl_core_build(core);
        if (status == SL_OK) use_all_parts(core);
        failed += status != SL_OK;
        calls = device.calls;
        assert_true(status || refused > 0); /* without the size of the device there is no budget */
        tear_down(core);
    } while (calls > refused);
    /* Most is what movements begin with; the last few are the parts' of a core that is there. */
    assert_in_range(failed, 1 + 2 * SL_EVENTS_LEAST, refused - 7);
}

static void one_that_is_gone_is_asked_for_nothing(void **state)
{
    (void)state;
    struct sl_core *core = built_core();
    use_all_parts(core);
    uint64_t address = core->placement.slots[0].address;
    int calls = device.calls, others = device.others;
    struct sl_host_books *books = sl_backend_host_books(&device.real);
    uint64_t all = books->calls;
    sl_core_tear_down(core, true);
    sl_core_delete(core);
    assert_int_equal(device.calls, calls);
    assert_int_equal(device.others, others);
    assert_int_equal(books->calls, all);
    assert_int_equal(device.slabs, 1);
    for (int e = 0; e < device.event_count; e++) device.real.event_delete(device.real.self, device.events[e]);
    device.real.slab_delete(device.real.self, address & ~(SL_GIB - 1), SL_GIB);
    device.real.close(device.real.self);
}

/* Of ours. */
static int threads(void)
{
    int count = 0;
    struct dirent *task;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while ((task = readdir(tasks))) {
        char path[64], name[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file)) count += !strncmp(name, "sluice-", 7);
        if (file) fclose(file);
    }
    closedir(tasks);
    return count;
}

static void threads_are_for_policies_that_move_ahead(void **state)
{
    (void)state;
    static const struct {
        int policy, daemon;
        bool threads, plans_ahead;
    } cases[] = {{SL_POLICY_PLAN, SL_DAEMON_THREAD, true, true},
                 {SL_POLICY_NEXT, SL_DAEMON_THREAD, true, true},
                 {SL_POLICY_BELADY, SL_DAEMON_THREAD, false, false},
                 {SL_POLICY_LRU, SL_DAEMON_THREAD, false, false},
                 {SL_POLICY_PLAN, SL_DAEMON_INLINE, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.policy = cases[i].policy;
        options.daemon = cases[i].daemon;
        struct sl_core *core = built_core();
        assert_int_equal(core->schedule.daemon != NULL, cases[i].threads);
        assert_int_equal(core->planning.planner != NULL, cases[i].plans_ahead);
        if (core->planning.planner)
            assert_int_equal(sl_planner_is_here(core->planning.planner), !cases[i].threads);
        tear_down(core);
        /* One that was waited for may still be listed. */
        for (int look = 0; look < 100000 && threads(); look++) sched_yield();
        assert_int_equal(threads(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_new_core_is_zeroed, begin),
        cmocka_unit_test_setup(whatever_the_device_refuses_it_gets_everything_back, begin),
        cmocka_unit_test_setup(one_that_is_gone_is_asked_for_nothing, begin),
        cmocka_unit_test_setup(threads_are_for_policies_that_move_ahead, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
