/* What the driver is asked about kernels: of each kind what is safe to ask, and no more than there is room
 * for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/backend_cuda.h"

enum { KERNEL = 0x100, FUNCTION = 0x200, UNKNOWN = 0x300, LIBRARY = 0x400, MODULE = 0x500 };

static const char *named; /* what the driver calls the kernel */
static size_t parameters; /* how many it has */
static CUresult end, module_result,
    function_result; /* what the driver says behind the last; of a module; of a function */

/* Questions about kernels: a wrong one would be a crash. */
static CUresult kernel_name(const char **name, CUkernel kernel)
{
    assert_int_equal(kernel, KERNEL);
    *name = named;
    return named ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
static CUresult function_name(const char **name, CUfunction function)
{
    assert_int_equal(function, FUNCTION);
    *name = named; /* a driver may name nothing and find nothing wrong with it */
    return CUDA_SUCCESS;
}
static CUresult kernel_parameter(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    assert_int_equal(kernel, KERNEL);
    *offset = 8 * index;
    *bytes = 8;
    return index < parameters ? CUDA_SUCCESS : end;
}
static CUresult function_parameter(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    assert_int_equal(function, FUNCTION);
    *offset = 16 * index;
    *bytes = 4;
    return index < parameters ? CUDA_SUCCESS : end;
}
static CUresult kernel_function(CUfunction *function, CUkernel kernel)
{
    assert_int_equal(kernel, KERNEL);
    *function = (CUfunction)FUNCTION;
    return function_result;
}
static CUresult function_module(CUmodule *module, CUfunction function)
{
    assert_int_equal(function, FUNCTION);
    *module = (CUmodule)MODULE;
    return module_result;
}

static struct sl_cuda_driver driver;
static uint32_t offsets[SL_MAX_PARAMETERS + 1], sizes[SL_MAX_PARAMETERS + 1];
static struct sl_kernel_layout layout;

static int set_up(void **state)
{
    (void)state;
    driver = (struct sl_cuda_driver){.kernel_get_name = kernel_name,
                                     .func_get_name = function_name,
                                     .kernel_get_param_info = kernel_parameter,
                                     .func_get_param_info = function_parameter,
                                     .kernel_get_function = kernel_function,
                                     .func_get_module = function_module};
    named = "matmul";
    parameters = 3;
    end = CUDA_ERROR_INVALID_VALUE;
    module_result = function_result = CUDA_SUCCESS;
    layout = (struct sl_kernel_layout){.offsets = offsets, .sizes = sizes};
    sl_handle_note(KERNEL, SL_HANDLE_KERNEL, LIBRARY);
    sl_handle_note(FUNCTION, SL_HANDLE_FUNCTION, MODULE);
    return 0;
}

static void each_kind_of_handle_is_asked_about_as_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_OK);
    assert_string_equal(layout.name, "matmul");
    assert_int_equal(layout.parameter_count, 3);
    assert_int_equal(layout.offsets[2], 16);
    assert_int_equal(layout.module, MODULE);
    named = "of a module";
    parameters = 2;
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_OK);
    assert_string_equal(layout.name, "of a module");
    assert_int_equal(layout.parameter_count, 2);
    assert_int_equal(layout.offsets[1], 16);
    assert_int_equal(layout.sizes[1], 4);
    assert_int_equal(layout.module, MODULE);
}

static void a_handle_of_unknown_origin_is_not_asked_about(void **state)
{
    (void)state;
    assert_int_equal(sl_cuda_kernel_layout(&driver, UNKNOWN, &layout), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_cuda_kernel_layout(&driver, 0, &layout), SL_ERR_UNSUPPORTED);
}

/* Drivers before 12.4 have none of it, some others only a part: nothing is called that is not there. */
static void an_old_driver_is_not_asked(void **state)
{
    (void)state;
    const struct sl_cuda_driver whole = driver;
    driver.kernel_get_name = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_ERR_UNSUPPORTED);
    driver = whole;
    driver.func_get_name = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_ERR_UNSUPPORTED);
    driver = whole;
    driver.kernel_get_param_info = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_ERR_UNSUPPORTED);
    driver = whole;
    driver.func_get_param_info = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_ERR_UNSUPPORTED);
}

static void what_the_driver_refuses_is_not_known(void **state)
{
    (void)state;
    named = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_ERR_UNSUPPORTED);
    named = "matmul";
    end = CUDA_ERROR_DEINITIALIZED; /* no count, but a driver that is going away */
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_ERR_UNSUPPORTED);
}

/* The kernel is known all the same. */
static void a_module_may_be_unknown(void **state)
{
    (void)state;
    layout.module = 77;
    module_result = CUDA_ERROR_INVALID_HANDLE;
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_OK);
    assert_int_equal(layout.module, 0);
    driver.func_get_module = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, FUNCTION, &layout), SL_OK);
    assert_int_equal(layout.module, 0);
    driver.func_get_module = function_module;
    module_result = CUDA_SUCCESS;
    function_result = CUDA_ERROR_INVALID_HANDLE;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_OK);
    assert_int_equal(layout.module, 0);
    driver.kernel_get_function = NULL;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_OK);
    assert_int_equal(layout.module, 0);
    assert_int_equal(layout.parameter_count, 3);
}

/* A template's mangled name may be longer than any room, and a driver may know no end of parameters. */
static void no_more_is_taken_than_there_is_room_for(void **state)
{
    (void)state;
    static char name[1000];
    memset(name, 'k', sizeof(name) - 1);
    named = name;
    parameters = SIZE_MAX;
    offsets[SL_MAX_PARAMETERS] = sizes[SL_MAX_PARAMETERS] = 77;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_OK);
    assert_int_equal(layout.parameter_count, SL_MAX_PARAMETERS);
    assert_int_equal(offsets[SL_MAX_PARAMETERS - 1], 8 * (SL_MAX_PARAMETERS - 1));
    assert_int_equal(offsets[SL_MAX_PARAMETERS], 77);
    assert_int_equal(sizes[SL_MAX_PARAMETERS], 77);
    assert_int_equal(strlen(layout.name), sizeof(layout.name) - 1);
    parameters = 0;
    assert_int_equal(sl_cuda_kernel_layout(&driver, KERNEL, &layout), SL_OK);
    assert_int_equal(layout.parameter_count, 0);
}

/* What is known of handles: the last call that gave one out decides, and what was unloaded is forgotten. */
enum { OF_LIBRARY = 0x1000, OF_MODULE = 0x2000, HANDLES = 500 };

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
    sl_handle_note(16, SL_HANDLE_KERNEL, OF_LIBRARY);
    sl_handle_note(32, SL_HANDLE_FUNCTION, OF_MODULE);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_KERNEL);
    assert_int_equal(sl_handle_kind(32), SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_owner(16), OF_LIBRARY);
    assert_int_equal(sl_handle_owner(32), OF_MODULE);
    assert_int_equal(sl_handle_owner(48), 0);
}

static void no_handle_is_never_known(void **state)
{
    (void)state;
    sl_handle_note(0, SL_HANDLE_KERNEL, OF_LIBRARY);
    sl_handle_note_unless_known(0, SL_HANDLE_KERNEL);
    assert_int_equal(sl_handle_kind(0), SL_HANDLE_UNKNOWN);
    assert_int_equal(sl_handle_owner(0), 0);
}

/* A driver uses addresses again, for the other kind as well. */
static void a_later_call_overrides(void **state)
{
    (void)state;
    sl_handle_note(16, SL_HANDLE_KERNEL, OF_LIBRARY);
    sl_handle_note(16, SL_HANDLE_FUNCTION, OF_MODULE);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_owner(16), OF_MODULE);
}

static void what_the_driver_names_does_not_override(void **state)
{
    (void)state;
    sl_handle_note(16, SL_HANDLE_KERNEL, OF_LIBRARY);
    sl_handle_note_unless_known(16, SL_HANDLE_FUNCTION);
    sl_handle_note_unless_known(32, SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_KERNEL);
    assert_int_equal(sl_handle_kind(32), SL_HANDLE_FUNCTION);
}

static void what_is_unloaded_is_forgotten_and_nothing_else(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= HANDLES; i++)
        sl_handle_note(i * 64, i % 2 ? SL_HANDLE_KERNEL : SL_HANDLE_FUNCTION, i % 2 ? OF_LIBRARY : OF_MODULE);
    sl_handle_note_unless_known(16, SL_HANDLE_FUNCTION); /* of whatever is unloaded, for all that is known */
    sl_handles_forget(OF_LIBRARY);
    for (uint64_t i = 1; i <= HANDLES; i++)
        assert_int_equal(sl_handle_kind(i * 64), i % 2 ? SL_HANDLE_UNKNOWN : SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_kind(16), SL_HANDLE_UNKNOWN);
    sl_handle_note(64, SL_HANDLE_FUNCTION, OF_LIBRARY); /* another module at the library's address */
    sl_handles_forget(OF_MODULE);
    assert_int_equal(sl_handle_kind(64), SL_HANDLE_FUNCTION);
    assert_int_equal(sl_handle_kind(128), SL_HANDLE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_kind_of_handle_is_asked_about_as_what_it_is, set_up),
        cmocka_unit_test_setup(a_handle_of_unknown_origin_is_not_asked_about, set_up),
        cmocka_unit_test_setup(an_old_driver_is_not_asked, set_up),
        cmocka_unit_test_setup(what_the_driver_refuses_is_not_known, set_up),
        cmocka_unit_test_setup(a_module_may_be_unknown, set_up),
        cmocka_unit_test_setup(no_more_is_taken_than_there_is_room_for, set_up),
        cmocka_unit_test_setup(the_call_that_made_a_handle_tells_its_kind, forget_all),
        cmocka_unit_test_setup(no_handle_is_never_known, forget_all),
        cmocka_unit_test_setup(a_later_call_overrides, forget_all),
        cmocka_unit_test_setup(what_the_driver_names_does_not_override, forget_all),
        cmocka_unit_test_setup(what_is_unloaded_is_forgotten_and_nothing_else, forget_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
