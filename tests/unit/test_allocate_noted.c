/* Memory that the driver gave while the core only records: breaks if an allocation is known where there is
 * none any more, if one that ended unseen hides the next at its place, or if the driver's memory is noted
 * where it is not to be. Each test is a process of its own, since the core runs once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core_fixture.h"
#include "trace_file.h"

#define BASE (64 * SL_GIB) /* addresses of the driver's: nobody reads what is there */

static char path[] = "/tmp/sluice-noted-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) ? -1 : 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* In a child whose core only records. */
static bool in_recording_child(void)
{
    setenv("SLUICE_POLICY", "off", 1);
    setenv("SLUICE_TRACE", path, 1);
    setenv("SLUICE_TRACE_FULL", "wait", 1);
    bool in_child = core_in_child("inline");
    unsetenv("SLUICE_POLICY");
    unsetenv("SLUICE_TRACE");
    if (in_child) assert_true(sl_runtime_records_only());
    return in_child;
}

static bool is_known(uint64_t address, uint64_t start, uint64_t bytes)
{
    struct sl_allocation found;
    return sl_runtime_owns(address) && sl_runtime_find(address, &found) && found.address == start &&
           found.bytes == bytes;
}

static bool is_unknown(uint64_t address)
{
    struct sl_allocation found;
    return !sl_runtime_owns(address) && !sl_runtime_find(address, &found);
}

static void what_the_driver_gave_is_known_until_it_is_freed(void **state)
{
    (void)state;
    if (!in_recording_child()) return;
    struct sl_noted noted = {1, 2, 3};
    uint64_t address;
    assert_int_equal(sl_runtime_alloc(4096, 1, 0, NULL, &address), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_runtime_alloc(4096, 1, 0, &(sl_stream){NULL}, &address), SL_ERR_UNSUPPORTED);
    sl_runtime_note_alloc(BASE, 4096, 7);
    sl_runtime_note_alloc(BASE + 4096, 100, 8);
    assert_true(is_known(BASE, BASE, 4096) && is_known(BASE + 4095, BASE, 4096));
    assert_true(is_known(BASE + 4096, BASE + 4096, 100) && is_known(BASE + 4195, BASE + 4096, 100));
    assert_true(is_unknown(BASE - 1) && is_unknown(BASE + 4196));
    assert_true(sl_runtime_tag(BASE + 5, 0, 2));
    assert_false(sl_runtime_note_free(BASE + 1, &noted)); /* nothing starts there */
    assert_false(sl_runtime_note_free(BASE - 4096, &noted));
    assert_true(noted.address == 1 && noted.bytes == 2 && noted.site == 3);
    assert_true(sl_runtime_note_free(BASE, &noted));
    assert_true(noted.address == BASE && noted.bytes == 4096 && noted.site == 7);
    assert_true(is_unknown(BASE) && is_unknown(BASE + 4095));
    assert_false(sl_runtime_note_free(BASE, &noted));
    uint64_t free_bytes, total_bytes;
    assert_false(sl_runtime_memory_info(&free_bytes, &total_bytes)); /* the driver's to answer */
    assert_true(sl_runtime_note_free(BASE + 4096, NULL));
    core_end_child(sl_core_running()->placement.live_count == 0);
}

/* The driver gives an address again only when what was there has ended, in whatever way. */
static void what_ended_unseen_makes_way(void **state)
{
    (void)state;
    if (!in_recording_child()) return;
    const struct sl_core *core = sl_core_running();
    for (uint64_t i = 0; i < 4; i++) sl_runtime_note_alloc(BASE + i * 4096, 4096, i);
    uint64_t fed = core->history.fed;
    sl_runtime_note_alloc(BASE + 2048, 8192, 9); /* a part of three of them */
    assert_true(is_known(BASE + 2048, BASE + 2048, 8192) && is_known(BASE + 10239, BASE + 2048, 8192));
    assert_true(is_unknown(BASE) && is_unknown(BASE + 10240));
    assert_true(is_known(BASE + 3 * 4096, BASE + 3 * 4096, 4096));
    assert_int_equal(core->placement.live_count, 2);
    core_end_child(core->history.fed == fed + 4); /* their ends are symbols as well */
}

static void what_is_unmapped_in_part_is_gone(void **state)
{
    (void)state;
    if (!in_recording_child()) return;
    for (uint64_t i = 0; i < 4; i++) sl_runtime_note_alloc(BASE + i * 4096, 4096, i);
    sl_runtime_note_unmap(BASE + 4095, 4098); /* up to one byte of the third */
    assert_true(is_unknown(BASE) && is_unknown(BASE + 4096) && is_unknown(BASE + 2 * 4096));
    assert_true(is_known(BASE + 3 * 4096, BASE + 3 * 4096, 4096));
    sl_runtime_note_unmap(BASE + 2 * 4096, 4096); /* beside it */
    sl_runtime_note_unmap(BASE + 3 * 4096 + 100, 0);
    sl_runtime_note_unmap(BASE + 3 * 4096, UINT64_MAX); /* beyond all addresses */
    assert_true(is_known(BASE + 3 * 4096, BASE + 3 * 4096, 4096));
    sl_runtime_note_unmap(0, UINT64_MAX);
    core_end_child(is_unknown(BASE + 3 * 4096));
}

static void what_cannot_be_is_not_noted(void **state)
{
    (void)state;
    if (!in_recording_child()) return;
    const struct sl_core *core = sl_core_running();
    sl_runtime_note_alloc(BASE, 4096, 1);
    uint64_t fed = core->history.fed;
    sl_runtime_note_alloc(BASE + 100, 0, 2);
    sl_runtime_note_alloc(BASE, UINT64_MAX, 2); /* around the end of all addresses */
    sl_runtime_note_alloc(UINT64_C(1) << 47, 4096, 2);
    sl_runtime_note_alloc((UINT64_C(1) << 47) - 4096, 8192, 2);
    assert_int_equal(core->placement.live_count, 1);
    assert_int_equal(core->history.fed, fed);
    core_end_child(is_known(BASE, BASE, 4096) && is_unknown((UINT64_C(1) << 47) - 4096));
}

/* What is in the file is all that is left of it. */
static void the_trace_has_their_lives(void **state)
{
    (void)state;
    if (in_recording_child()) {
        sl_runtime_note_alloc(BASE, 4096, 1);
        sl_runtime_note_alloc(BASE, 512, 2); /* in the place of the first */
        sl_runtime_note_unmap(BASE, 1);
        core_end_child(true);
    }
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    uint64_t lives[4], count = 0;
    for (size_t i = 0; i < content.count; i++) {
        const struct sl_event *event = &content.records[i].event;
        if (event->type != SL_EVENT_ALLOC && event->type != SL_EVENT_FREE) continue;
        assert_in_range(count, 0, 3);
        assert_int_equal(event->a, BASE);
        assert_int_equal(event->type, count % 2 ? SL_EVENT_FREE : SL_EVENT_ALLOC);
        lives[count++] = event->b;
    }
    assert_int_equal(count, 4);
    assert_true(lives[0] == 4096 && lives[1] == 4096 && lives[2] == 512 && lives[3] == 512);
    trace_content_free(&content);
}

static void a_core_that_moves_memory_notes_none(void **state)
{
    (void)state;
    if (!core_in_child("inline")) return;
    uint64_t own = core_take(4096);
    sl_runtime_note_alloc(BASE, 4096, 1);
    assert_false(sl_runtime_note_free(BASE, NULL));
    assert_false(sl_runtime_note_free(own, NULL));
    sl_runtime_note_unmap(own, 4096);
    core_end_child(is_unknown(BASE) && is_known(own, own, 4096));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_driver_gave_is_known_until_it_is_freed),
        cmocka_unit_test(what_ended_unseen_makes_way),
        cmocka_unit_test(what_is_unmapped_in_part_is_gone),
        cmocka_unit_test(what_cannot_be_is_not_noted),
        cmocka_unit_test(the_trace_has_their_lives),
        cmocka_unit_test(a_core_that_moves_memory_notes_none),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
