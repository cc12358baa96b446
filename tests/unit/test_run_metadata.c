/* Facts that change for hours: breaks if each value takes room among the texts that are kept for good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "trace/events.h"
#include "trace_file.h"

#define CHANGES 70000 /* there is room for 65536 texts */

static char path[64];

static int start(void **state)
{
    snprintf(path, sizeof path, "/tmp/sluice-facts-%d", (int)getpid());
    setenv("SLUICE_TRACE", path, 1);
    setenv("SLUICE_TRACE_FULL", "wait", 1);
    setenv("RANK", "11", 1);
    return core_start(state);
}

static int stop(void **state)
{
    (void)state;
    return unlink(path);
}

static void values_take_no_room_among_texts(void **state)
{
    struct sl_core *core = sl_core_running();
    for (uint64_t i = 1; i <= CHANGES; i++) {
        atomic_store(&core->stats.plans, i);
        sl_record_end(&core->recorder, &core->stats, &core->migrator);
    }
    assert_string_equal(sl_intern("something new"), "something new");
    core_stop(state);

    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    uint64_t plans = 0;
    bool policy = false, rank = false;
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_METADATA) continue;
        assert_string_not_equal(event->text, SL_INTERN_LOST);
        if (event->flags == SL_METADATA_NUMBER && !strcmp(event->text, "plans")) plans = event->a;
        if (event->flags == SL_METADATA_TEXT && !strcmp(event->text, "policy=plan")) policy = true;
        if (event->flags == SL_METADATA_TEXT && !strcmp(event->text, "rank=11")) rank = true;
    }
    assert_int_equal(plans, CHANGES);
    assert_true(policy);
    assert_true(rank);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_take_no_room_among_texts)};
    return cmocka_run_group_tests(tests, start, stop);
}
