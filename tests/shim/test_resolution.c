/* Runs with the shim preloaded and the driver of numbers.h. A wrong version, a wrong stream variant or a
 * function that slips past shows as a wrong number or a wrong object. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "numbers.h"
#include "where.h"

typedef CUresult any_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                        uintptr_t, uintptr_t, uintptr_t, uintptr_t);

struct row {
    const char *symbol, *name;
    int version, number;
    bool per_thread;
};

static const struct row rows[] = {
#define SL_ROW0(symbol, name, version) {#symbol, name, version, NUMBER_##symbol, false},
#define SL_ROW(symbol, name, version, declarations, arguments) SL_ROW0(symbol, name, version)
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    SL_ROW0(symbol, name, version){#symbol "_" #suffix, name, thread_version, NUMBER_##symbol##_##suffix,    \
                                   true},
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void *driver;
static sl_fn_cuGetProcAddress_v2 *resolver_v2;
static sl_fn_cuGetProcAddress *resolver_v1;

static int setup(void **state)
{
    (void)state;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) return -1;
    resolver_v2 = (sl_fn_cuGetProcAddress_v2 *)dlsym(driver, "cuGetProcAddress_v2");
    resolver_v1 = (sl_fn_cuGetProcAddress *)dlsym(driver, "cuGetProcAddress");
    return resolver_v1 && resolver_v2 ? 0 : -1;
}

static bool is_resolver(const struct row *row)
{
    return row->number == NUMBER_cuGetProcAddress || row->number == NUMBER_cuGetProcAddress_v2;
}

/* The function must be the shim's, and lead to the driver's function of that row. Every argument is 0 or
 * points to zeroes, which the hooks must bear as the driver would. */
static void expect_row(const void *function, const struct row *row)
{
    static const uint64_t zeroes[64];
    uintptr_t z = (uintptr_t)zeroes;
    if (!lies_in(function, "libsluice.so")) fail_msg("%s is not intercepted", row->symbol);
    if (is_resolver(row)) return;
    CUresult result = ((any_fn *)function)(z, z, z, 0, 0, 0, 0, 0, 0, 0, 0);
    if ((int)result != row->number) fail_msg("%s leads to %d, not %d", row->symbol, result, row->number);
}

static void dlsym_finds_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) expect_row(dlsym(driver, rows[i].symbol), &rows[i]);
}

static void dlsym_on_the_whole_process_finds_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) expect_row(dlsym(RTLD_DEFAULT, rows[i].symbol), &rows[i]);
}

/* The driver has no symbol versions: with one, nothing is found, and the error is the loader's. */
static void dlvsym_answers_as_without_the_shim(void **state)
{
    (void)state;
    assert_null(dlvsym(driver, "cuMemFree_v2", "ANY_1.0"));
    assert_non_null(strstr(dlerror(), "ANY_1.0"));
}

static void resolver_finds_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        void *function = NULL;
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        assert_int_equal(
            resolver_v2(rows[i].name, &function, rows[i].version, rows[i].per_thread ? 2 : 1, &status), 0);
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        expect_row(function, &rows[i]);
    }
}

static void first_resolver_finds_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        void *function = NULL;
        assert_int_equal(resolver_v1(rows[i].name, &function, rows[i].version, rows[i].per_thread ? 2 : 0),
                         0);
        expect_row(function, &rows[i]);
    }
}

/* As the CUDA runtime does: the resolver is asked for itself, and each version takes its own number of
 * arguments. */
static void resolver_finds_itself(void **state)
{
    (void)state;
    void *old = NULL, *recent = NULL;
    assert_int_equal(resolver_v2("cuGetProcAddress", &old, 11030, 0, NULL), 0);
    assert_int_equal(resolver_v2("cuGetProcAddress", &recent, 12000, 0, NULL), 0);
    assert_ptr_equal(old, (void *)resolver_v1);
    assert_ptr_equal(recent, (void *)resolver_v2);
}

static void status_is_always_written(void **state)
{
    (void)state;
    void *function = (void *)1;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    assert_int_equal(resolver_v2("cuNoSuchThing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(function);
    status = CU_GET_PROC_ADDRESS_SUCCESS;
    assert_int_equal(resolver_v2("cuSilent", &function, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_int_equal(resolver_v2("", &function, 0, 0, &status), CUDA_ERROR_NOT_FOUND);
}

static void other_functions_stay_the_drivers(void **state)
{
    (void)state;
    void *function = NULL;
    assert_true(lies_in(dlsym(driver, "cuInit"), "libcuda.so.1"));
    assert_int_equal(resolver_v2("cuInit", &function, 2000, 0, NULL), 0);
    assert_true(lies_in(function, "libcuda.so.1"));
    assert_true(lies_in(dlsym(driver, "cuMemAlloc"), "libcuda.so.1"));
    assert_int_equal(resolver_v2("cuMemAlloc", &function, 2000, 0, NULL), 0);
    assert_int_equal(((CUresult(*)(unsigned *, unsigned))function)(NULL, 0), NUMBERS_OLD_ALLOC);
    assert_null(dlsym(driver, "cuNoSuchThing"));
    assert_non_null(strstr(dlerror(), "cuNoSuchThing"));
}

static void the_drivers_own_lookups_stay_its_own(void **state)
{
    (void)state;
    void *(*own_lookup)(void) = (void *(*)(void))dlsym(driver, "numbers_own_lookup");
    assert_true(lies_in(own_lookup(), "libcuda.so.1"));
}

/* A program forks after its imports, which are full of look-ups: they may neither initialise CUDA nor start a
 * thread. */
static void lookups_start_nothing(void **state)
{
    (void)state;
    int (*initialisations)(void) = (int (*)(void))dlsym(driver, "numbers_initialisations");
    int entries = 0; /* two of them are the folder and its parent */
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    while (readdir(threads)) entries++;
    closedir(threads);
    assert_int_equal(entries, 3);
    assert_int_equal(initialisations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dlsym_finds_every_row),
        cmocka_unit_test(dlsym_on_the_whole_process_finds_every_row),
        cmocka_unit_test(dlvsym_answers_as_without_the_shim),
        cmocka_unit_test(resolver_finds_every_row),
        cmocka_unit_test(first_resolver_finds_every_row),
        cmocka_unit_test(resolver_finds_itself),
        cmocka_unit_test(status_is_always_written),
        cmocka_unit_test(other_functions_stay_the_drivers),
        cmocka_unit_test(the_drivers_own_lookups_stay_its_own),
        cmocka_unit_test(lookups_start_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
