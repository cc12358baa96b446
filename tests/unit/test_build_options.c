/* What options make of the core: breaks if chunks are too large for a budget, if the program sees another
 * size the second time, or if rules and traces that cannot be had stop more than they have to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/core.h"
#include "tests/host/backend_host.h"
#include "trace_file.h"

static struct sl_options options;

static int begin(void **state)
{
    (void)state;
    sl_runtime_load();
    options = *sl_options_in_force();
    options.daemon = SL_DAEMON_INLINE;
    return 0;
}

/* A core on a device with so much memory; not built. */
static struct sl_core *new_core(uint64_t device_bytes)
{
    struct sl_backend backend;
    assert_int_equal(sl_backend_host_new(device_bytes, &backend), SL_OK);
    struct sl_core *core = sl_core_new(&backend, 0);
    assert_non_null(core);
    core->options = &options;
    core->policy = sl_policy_traits(options.policy);
    return core;
}

static struct sl_core *built_core(void)
{
    struct sl_core *core = new_core(SL_GIB);
    assert_int_equal(sl_core_build(core), SL_OK);
    return core;
}

static void tear_down(struct sl_core *core)
{
    sl_core_tear_down(core, false);
    sl_core_delete(core);
}

static uint64_t chunk_for(uint64_t budget_bytes, uint64_t given_chunk)
{
    options.device_budget = budget_bytes;
    options.chunk = given_chunk;
    struct sl_core *core = new_core(256 * SL_GIB);
    assert_int_equal(sl_core_build(core), SL_OK);
    uint64_t chunk_bytes = core->arena.chunk_bytes;
    assert_int_equal(core->budget.bytes, budget_bytes);
    tear_down(core);
    return chunk_bytes;
}

static void chunks_are_large_but_many(void **state)
{
    (void)state;
    assert_int_equal(chunk_for(8 * SL_MIB, 0), 2 * SL_MIB);
    assert_int_equal(chunk_for(512 * SL_MIB - 1, 0), 2 * SL_MIB);
    assert_int_equal(chunk_for(512 * SL_MIB, 0), 4 * SL_MIB);
    assert_int_equal(chunk_for(4 * SL_GIB - 1, 0), 16 * SL_MIB);
    assert_int_equal(chunk_for(4 * SL_GIB, 0), 32 * SL_MIB);
    assert_int_equal(chunk_for(200 * SL_GIB, 0), 32 * SL_MIB);
    assert_int_equal(chunk_for(200 * SL_GIB, 64 * SL_MIB), 64 * SL_MIB); /* as it is given */
}

static void rules_for_pinned_memory_need_some(void **state)
{
    (void)state;
    options.backing = "from:1M=pinned";
    struct sl_core *core = built_core();
    assert_int_equal(core->placement.backing.count, 1);
    tear_down(core);
    core = new_core(SL_GIB);
    core->backend.pinned_new = NULL;
    assert_int_equal(sl_core_build(core), SL_OK);
    assert_int_equal(sl_backing_of(&core->placement.backing, 1, SL_MIB), SL_BACKING_UNIFIED);
    tear_down(core);
    /* Those for device memory need none. */
    options.backing = "from:1M=pinned,site:7=device";
    core = new_core(SL_GIB);
    core->backend.pinned_new = NULL;
    assert_int_equal(sl_core_build(core), SL_OK);
    assert_int_equal(sl_backing_of(&core->placement.backing, 7, 1), SL_BACKING_DEVICE);
    tear_down(core);
}

static char path[] = "/tmp/sluice-build-XXXXXX";

static void a_trace_begins_with_its_thread_and_the_budget(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    assert_int_not_equal(fd, -1);
    close(fd);
    options.trace = path;
    struct sl_core *core = built_core();
    assert_ptr_equal(core->stats.trace, core->recorder.trace);
    assert_non_null(core->sampling.sampler);
    uint64_t budget_bytes = core->budget.bytes, chunk_bytes = core->arena.chunk_bytes;
    tear_down(core);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(content.problem.status, SL_OK);
    assert_true(content.count > 2);
    const struct sl_event *thread = &content.records[0].event, *budget = &content.records[1].event;
    assert_int_equal(thread->type, SL_EVENT_THREAD);
    assert_int_equal(thread->a, getpid());
    assert_int_equal(budget->type, SL_EVENT_BUDGET);
    assert_true(budget->a == budget_bytes && budget->b == chunk_bytes && budget->c == SL_GIB);
    trace_content_free(&content);
}

/* In a child: the options that are in force are the process's. */
static int status_of(void (*body)(void))
{
    int status;
    pid_t child = fork();
    if (!child) {
        setenv("CMOCKA_TEST_ABORT", "1", 1);
        body();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void start_with_no_trace(void)
{
    static char no_file[] = "/nonexistent/folder/trace";
    sl_runtime_load();
    options = *sl_options_in_force();
    options.trace = no_file;
    struct sl_core *core = new_core(SL_GIB);
    enum sl_status status = sl_core_build(core);
    assert_null(core->recorder.trace);
    assert_int_equal(status != SL_OK, sl_runtime_records_only());
    tear_down(core);
    _exit(0);
}

/* Without its trace a core that only records would have nothing to do. */
static void a_trace_that_cannot_be_written_stops_only_who_records(void **state)
{
    (void)state;
    assert_int_equal(status_of(start_with_no_trace), 0);
    setenv("SLUICE_POLICY", "off", 1);
    int status = status_of(start_with_no_trace);
    unsetenv("SLUICE_POLICY");
    assert_int_equal(status, 0);
}

static void ask_for_the_virtual_size_again(void)
{
    setenv("SLUICE_VIRTUAL_SIZE", "3G", 1);
    sl_runtime_load();
    assert_int_equal(sl_core_virtual_size(), 3 * SL_GIB);
    setenv("SLUICE_VIRTUAL_SIZE", "5G", 1);
    sl_runtime_load();
    assert_int_equal(sl_core_virtual_size(), 3 * SL_GIB);
    struct sl_core *core = built_core();
    assert_int_equal(core->budget.virtual_size_bytes, 3 * SL_GIB);
    tear_down(core);
    _exit(0);
}

/* A program that asked twice would see its memory grow or shrink. */
static void the_virtual_size_is_decided_once(void **state)
{
    (void)state;
    assert_int_equal(status_of(ask_for_the_virtual_size_again), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Before any other asks for it. */
        cmocka_unit_test_setup(the_virtual_size_is_decided_once, begin),
        cmocka_unit_test_setup(chunks_are_large_but_many, begin),
        cmocka_unit_test_setup(rules_for_pinned_memory_need_some, begin),
        cmocka_unit_test_setup(a_trace_begins_with_its_thread_and_the_budget, begin),
        cmocka_unit_test_setup(a_trace_that_cannot_be_written_stops_only_who_records, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
