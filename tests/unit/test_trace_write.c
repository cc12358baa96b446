/* The writer: nothing is lost unsaid, threads come and go, a killed program leaves a readable file, a forked
 * child does not touch it. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "trace/trace_sink.h"
#include "trace/trace_write.h"
#include "trace_file.h"

static char folder[] = "/tmp/sluice-trace-XXXXXX";
static char path[64];

static int remove_trace(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static const struct sl_trace_options dropping = {.full = SL_TRACE_DROP}, waiting = {.full = SL_TRACE_WAIT};

static struct sl_trace *open_trace(enum sl_trace_full full)
{
    struct sl_trace *trace = NULL;
    assert_int_equal(sl_trace_open(path, &(struct sl_trace_options){.full = full}, &trace), SL_OK);
    assert_non_null(trace);
    return trace;
}

static void push_launch(struct sl_trace *trace, uint64_t tick, uint64_t producer)
{
    sl_trace_push(trace,
                  &(struct sl_event){.type = SL_EVENT_LAUNCH, .tick = tick, .time_ns = tick, .b = producer});
}

/* As push_launch, with figures that cannot be compressed to nothing. */
static void push_noise(struct sl_trace *trace, uint64_t tick)
{
    uint64_t noise = tick * 0x9e3779b97f4a7c15;
    sl_trace_push(
        trace,
        &(struct sl_event){
            .type = SL_EVENT_LAUNCH, .tick = tick, .time_ns = tick, .a = noise, .c = noise ^ noise >> 29});
}

static void records_arrive_in_order(void **state)
{
    (void)state;
    struct sl_trace *trace = open_trace(SL_TRACE_DROP);
    for (size_t i = 0; i < trace_sample_count; i++) sl_trace_push(trace, &trace_samples[i]);
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, trace_sample_count);
    for (size_t i = 0; i < content.count; i++) {
        assert_int_equal(content.records[i].event.type, trace_samples[i].type);
        assert_int_equal(content.records[i].event.c, trace_samples[i].c);
    }
    assert_string_equal(content.records[2].event.text, trace_samples[2].text);
    assert_int_equal(content.header.process, getpid());
    struct stat at;
    assert_int_equal(stat(path, &at), 0);
    assert_int_equal(at.st_mode & 0777, 0600);
    trace_content_free(&content);
}

static void *push_and_tell(void *argument)
{
    struct sl_trace *trace = argument;
    push_launch(trace, 1, (uint64_t)syscall(SYS_gettid));
    push_launch(trace, 2, (uint64_t)syscall(SYS_gettid));
    return NULL;
}

/* Before its other records, also where it has the ring of one that ended. */
static void threads_say_which_they_are(void **state)
{
    (void)state;
    struct sl_trace *trace;
    assert_int_equal(sl_trace_open(path, &(struct sl_trace_options){.threads = true}, &trace), SL_OK);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, push_and_tell, trace), 0);
        pthread_join(thread, NULL);
    }
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.count, 9);
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        assert_int_equal(content.records[i].thread, i / 3 + 1);
        assert_int_equal(event->type, i % 3 ? SL_EVENT_LAUNCH : SL_EVENT_THREAD);
        assert_int_equal(i % 3 ? event->b : event->a, content.records[i / 3 * 3].event.a);
    }
    trace_content_free(&content);
}

enum { THREADS = 4, ROUNDS = 5 };
static const uint64_t per_thread = 3 * SL_RING_SLOTS;

struct producer {
    struct sl_trace *trace;
    uint64_t number;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    for (uint64_t tick = 1; tick <= per_thread; tick++) push_launch(producer->trace, tick, producer->number);
    return NULL;
}

/* Threads that end leave their ring to later ones. */
static uint64_t run_producers(struct sl_trace *trace, unsigned rounds)
{
    uint64_t number = 0;
    for (unsigned round = 0; round < rounds; round++) {
        pthread_t threads[THREADS];
        struct producer producers[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            producers[i] = (struct producer){trace, number++};
            assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    return number;
}

static void waiting_loses_nothing(void **state)
{
    (void)state;
    struct sl_trace *trace = open_trace(SL_TRACE_WAIT);
    uint64_t producers = run_producers(trace, ROUNDS), next[THREADS * ROUNDS] = {0};
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, producers * per_thread);
    uint32_t thread_of[THREADS * ROUNDS] = {0};
    for (size_t i = 0; i < content.count; i++) {
        uint64_t producer = content.records[i].event.b;
        assert_true(producer < producers);
        assert_int_equal(content.records[i].event.tick, ++next[producer]);
        if (!thread_of[producer]) thread_of[producer] = content.records[i].thread;
        assert_int_equal(content.records[i].thread, thread_of[producer]);
    }
    for (uint64_t i = 0; i < producers; i++)
        for (uint64_t j = 0; j < i; j++) assert_int_not_equal(thread_of[i], thread_of[j]);
    trace_content_free(&content);
}

/* Whatever is dropped is counted: for each producer, records and gaps add up, and a gap starts where records
 * end. */
static void dropping_says_what_is_lost(void **state)
{
    (void)state;
    struct sl_trace *trace = open_trace(SL_TRACE_DROP);
    uint64_t producers = run_producers(trace, 2), total = 0;
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    uint64_t next[THREADS * 2 + 1] = {0};
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_trace_record *record = &content.records[i];
        assert_in_range(record->thread, 1, producers);
        uint64_t *expected = &next[record->thread];
        assert_int_equal(record->event.tick, *expected + 1);
        *expected += record->event.type == SL_EVENT_GAP ? record->event.a : 1;
        total += record->event.type == SL_EVENT_GAP ? record->event.a : 1;
    }
    assert_int_equal(total, producers * per_thread);
    trace_content_free(&content);
}

/* The child records and says when its first records are in the file; then it is killed with more on the way.
 */
static void a_killed_program_leaves_a_readable_trace(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct sl_trace *trace;
        if (sl_trace_open(path, &waiting, &trace) != SL_OK) _exit(1);
        for (uint64_t tick = 1;; tick++) push_noise(trace, tick);
    }
    assert_true(child > 0);
    /* Long enough for several blocks; more than the writer's buffer can hold. */
    struct stat at = {0};
    int status;
    while (at.st_size < 1 << 20) {
        assert_int_equal(waitpid(child, &status, WNOHANG), 0);
        stat(path, &at);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_ERR_TRUNCATED);
    assert_true(content.problem.offset > (1 << 20) - (128 << 10));
    assert_true(content.count > 30000);
    for (size_t i = 0; i < content.count; i++) assert_int_equal(content.records[i].event.tick, i + 1);
    trace_content_free(&content);
}

/* Few records, no close: the writer's clock puts them in the file. */
static void a_quiet_program_is_flushed(void **state)
{
    (void)state;
    struct sl_trace *trace = open_trace(SL_TRACE_DROP);
    push_launch(trace, 1, 0);
    size_t count = 0;
    while (count == 0) {
        struct trace_content content = trace_read_file(path);
        count = content.count;
        trace_content_free(&content);
    }
    assert_int_equal(count, 1);
    sl_trace_close(trace);
}

static void a_forked_child_leaves_the_trace_alone(void **state)
{
    (void)state;
    struct sl_trace *trace = open_trace(SL_TRACE_WAIT);
    push_launch(trace, 1, 0);
    for (int abandon = 0; abandon < 2; abandon++) {
        pid_t child = fork();
        if (child == 0) {
            if (abandon) sl_trace_abandon(trace);
            /* More than a ring: it must not wait for a writer that is not there. */
            for (uint64_t tick = 2; tick < 2 * SL_RING_SLOTS; tick++) push_launch(trace, tick, 1);
            sl_trace_close(trace);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    push_launch(trace, 2, 0);
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, 2);
    trace_content_free(&content);
}

static void traces_may_follow_each_other(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 3; round++) {
        struct sl_trace *trace = open_trace(SL_TRACE_DROP);
        push_launch(trace, round, 0);
        sl_trace_close(trace);
        push_launch(trace, 99, 0); /* late: taken and forgotten */
        sl_trace_close(trace);
        struct trace_content content = trace_read_file(path);
        assert_int_equal(content.problem.status, SL_OK);
        assert_int_equal(content.count, 1);
        assert_int_equal(content.records[0].event.tick, round);
        trace_content_free(&content);
    }
    sl_trace_push(NULL, &trace_samples[0]);
    sl_trace_close(NULL);
    sl_trace_abandon(NULL);
}

static void signals_do_not_reach_the_writer(void **state)
{
    (void)state;
    struct sl_trace *trace = open_trace(SL_TRACE_DROP);
    sigset_t usr, kept, pending;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    /* Blocked here, so that a thread that does not block it would get it and end the test. */
    pthread_sigmask(SIG_BLOCK, &usr, &kept);
    kill(getpid(), SIGUSR1);
    sl_trace_close(trace);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    int number;
    sigwait(&usr, &number);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
}

/* The beginning and the end are there, what is missing between them is counted, and the laps are told to
 * those who record. */
static void a_limit_keeps_the_beginning_and_the_end(void **state)
{
    (void)state;
    const uint64_t limit = SL_MIB, all = 400000;
    struct sl_trace *trace = NULL;
    struct sl_trace_options options = {.full = SL_TRACE_WAIT, .limit_bytes = limit};
    assert_int_equal(sl_trace_open(path, &options, &trace), SL_OK);
    assert_int_equal(sl_trace_lap(trace), 0);
    for (uint64_t tick = 1; tick <= all; tick++) push_noise(trace, tick);
    sl_trace_close(trace);
    assert_true(sl_trace_lap(trace) > 2 * SL_TRACE_SEGMENTS);
    struct stat at;
    assert_int_equal(stat(path, &at), 0);
    assert_true((uint64_t)at.st_size <= limit);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    uint64_t tick = 0, gaps = 0;
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        tick++;
        if (event->type == SL_EVENT_GAP) {
            assert_int_equal(event->flags, SL_GAP_LIMIT);
            assert_in_range(tick, limit / 2 / 30, limit / 2 / 10);
            assert_int_equal(event->tick, tick);
            tick += event->a - 1;
            gaps++;
        } else {
            assert_int_equal(event->tick, tick);
        }
    }
    assert_int_equal(gaps, 1);
    assert_int_equal(tick, all);
    trace_content_free(&content);
}

static void damage_in_a_limited_file(void **state)
{
    (void)state;
    struct sl_trace *trace = NULL;
    struct sl_trace_options options = {.full = SL_TRACE_WAIT, .limit_bytes = SL_MIB};
    const uint64_t all = 200000;
    assert_int_equal(sl_trace_open(path, &options, &trace), SL_OK);
    for (uint64_t tick = 1; tick <= all; tick++) push_noise(trace, tick);
    sl_trace_close(trace);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static uint8_t bytes[SL_MIB];
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    for (size_t cut = 0; cut < size; cut += 65537) {
        struct trace_content content = trace_read_bytes(bytes, cut);
        /* The last lap may end before the file does. */
        assert_true(content.problem.status != SL_OK || content.records[content.count - 1].event.tick == all);
        trace_content_free(&content);
        bytes[cut] ^= 4;
        bool found;
        content = trace_read_past_damage(bytes, size, &found);
        uint64_t tick = 0;
        for (size_t i = 0; i < content.count; i++) {
            if (content.records[i].event.type == SL_EVENT_GAP) continue;
            assert_true(content.records[i].event.tick > tick);
            tick = content.records[i].event.tick;
        }
        trace_content_free(&content);
        bytes[cut] ^= 4;
    }
}

/* A full disk ends the trace, not the program; what was written stays readable. */
static void a_full_disk_ends_the_trace_only(void **state)
{
    (void)state;
    char log[80];
    snprintf(log, sizeof(log), "%s/log", folder);
    sl_log_open(0, log);
    struct rlimit kept, small;
    getrlimit(RLIMIT_FSIZE, &kept);
    small = (struct rlimit){.rlim_cur = 256 << 10, .rlim_max = kept.rlim_max};
    struct sl_trace *trace = open_trace(SL_TRACE_WAIT);
    setrlimit(RLIMIT_FSIZE, &small);
    for (uint64_t tick = 1; tick < 8 * SL_RING_SLOTS; tick++) push_noise(trace, tick);
    sl_trace_close(trace);
    setrlimit(RLIMIT_FSIZE, &kept);
    sl_log_open(0, NULL);
    struct stat at;
    assert_int_equal(stat(log, &at), 0);
    assert_in_range(at.st_size, 1, 300); /* one line */
    unlink(log);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_ERR_TRUNCATED);
    assert_true(content.count > 1000);
    trace_content_free(&content);
}

/* Two processes of one program with the same name for their traces: the first keeps its file. */
static void a_trace_in_use_is_not_overwritten(void **state)
{
    (void)state;
    char log[80];
    snprintf(log, sizeof(log), "%s/log", folder);
    struct sl_trace *first = open_trace(SL_TRACE_DROP), *second = NULL;
    push_launch(first, 1, 0);
    sl_log_open(0, log);
    assert_int_equal(sl_trace_open(path, &dropping, &second), SL_ERR_IO);
    sl_log_open(0, NULL);
    sl_trace_close(first);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, 1);
    trace_content_free(&content);
    char said[200] = "";
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    assert_non_null(fgets(said, sizeof(said), file));
    fclose(file);
    assert_non_null(strstr(said, "%p"));
    unlink(log);
    sl_trace_close(open_trace(SL_TRACE_DROP));
}

static void unwritable_paths_fail(void **state)
{
    (void)state;
    char log[80];
    snprintf(log, sizeof(log), "%s/log", folder);
    sl_log_open(0, log);
    struct sl_trace *trace = NULL;
    assert_int_equal(sl_trace_open("/no/such/folder/trace", &dropping, &trace), SL_ERR_IO);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(sl_trace_open(path, &dropping, &trace), SL_ERR_IO);
    assert_null(trace);
    sl_log_open(0, NULL);
    unlink(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(records_arrive_in_order, remove_trace),
        cmocka_unit_test_teardown(threads_say_which_they_are, remove_trace),
        cmocka_unit_test_teardown(waiting_loses_nothing, remove_trace),
        cmocka_unit_test_teardown(dropping_says_what_is_lost, remove_trace),
        cmocka_unit_test_teardown(a_killed_program_leaves_a_readable_trace, remove_trace),
        cmocka_unit_test_teardown(a_quiet_program_is_flushed, remove_trace),
        cmocka_unit_test_teardown(a_forked_child_leaves_the_trace_alone, remove_trace),
        cmocka_unit_test_teardown(traces_may_follow_each_other, remove_trace),
        cmocka_unit_test_teardown(signals_do_not_reach_the_writer, remove_trace),
        cmocka_unit_test_teardown(a_limit_keeps_the_beginning_and_the_end, remove_trace),
        cmocka_unit_test_teardown(damage_in_a_limited_file, remove_trace),
        cmocka_unit_test_teardown(a_full_disk_ends_the_trace_only, remove_trace),
        cmocka_unit_test_teardown(a_trace_in_use_is_not_overwritten, remove_trace),
        cmocka_unit_test_teardown(unwritable_paths_fail, remove_trace),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof(path), "%s/trace", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
