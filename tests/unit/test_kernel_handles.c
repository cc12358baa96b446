/* What is known of handles: the last call that gave one out decides, and what was unloaded is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/cuda_kernel.h"

enum { LIBRARY = 0x1000, MODULE = 0x2000, HANDLES = 500 };

static int forget_all(void **state)
{
    (void)state;
    sl_handles_after_fork();
    return 0;
}

static void the_call_that_made_a_handle_tells_its_kind(void **state)
{
    (void)state;
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_UNKNOWN);
    sl_handle_note(16, SL_HANDLE_KERNEL, LIBRARY);
    sl_handle_note(32, SL_HANDLE_FUNCTION, MODULE);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_KERNEL);
    assert_int_equal(sl_handle_kind(32), SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_owner(16), LIBRARY);
    assert_int_equal(sl_handle_owner(32), MODULE);
    assert_int_equal(sl_handle_owner(48), 0);
}

static void no_handle_is_never_known(void **state)
{
    (void)state;
    sl_handle_note(0, SL_HANDLE_KERNEL, LIBRARY);
    sl_handle_note_unless_known(0, SL_HANDLE_KERNEL);
    assert_int_equal(sl_handle_kind(0), SL_HANDLE_UNKNOWN);
    assert_int_equal(sl_handle_owner(0), 0);
}

/* A driver uses addresses again, for the other kind as well. */
static void a_later_call_overrides(void **state)
{
    (void)state;
    sl_handle_note(16, SL_HANDLE_KERNEL, LIBRARY);
    sl_handle_note(16, SL_HANDLE_FUNCTION, MODULE);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_owner(16), MODULE);
}

static void what_the_driver_names_does_not_override(void **state)
{
    (void)state;
    sl_handle_note(16, SL_HANDLE_KERNEL, LIBRARY);
    sl_handle_note_unless_known(16, SL_HANDLE_FUNCTION);
    sl_handle_note_unless_known(32, SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_KERNEL);
    assert_int_equal(sl_handle_kind(32), SL_HANDLE_FUNCTION);
}

static void what_is_unloaded_is_forgotten_and_nothing_else(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= HANDLES; i++)
        sl_handle_note(i * 64, i % 2 ? SL_HANDLE_KERNEL : SL_HANDLE_FUNCTION, i % 2 ? LIBRARY : MODULE);
    sl_handle_note_unless_known(16, SL_HANDLE_FUNCTION); /* of whatever is unloaded, for all that is known */
    sl_handles_forget(LIBRARY);
    for (uint64_t i = 1; i <= HANDLES; i++)
        assert_int_equal(sl_handle_kind(i * 64), i % 2 ? SL_HANDLE_UNKNOWN : SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_UNKNOWN);
    sl_handle_note(64, SL_HANDLE_FUNCTION, LIBRARY); /* another module at the library's address */
    sl_handles_forget(MODULE);
    assert_int_equal(sl_handle_kind(64), SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_kind(128), SL_HANDLE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_call_that_made_a_handle_tells_its_kind, forget_all),
        cmocka_unit_test_setup(no_handle_is_never_known, forget_all),
        cmocka_unit_test_setup(a_later_call_overrides, forget_all),
        cmocka_unit_test_setup(what_the_driver_names_does_not_override, forget_all),
        cmocka_unit_test_setup(what_is_unloaded_is_forgotten_and_nothing_else, forget_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
