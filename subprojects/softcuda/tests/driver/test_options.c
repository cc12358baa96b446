/* SOFTCUDA_* variables: sizes parse, profiles decide, bad values are counted and replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "log.h"
#include "options.h"

static const char *names[8], *values[8];
static size_t count;

static void set(const char *name, const char *value)
{
    names[count] = name;
    values[count++] = value;
}

static const char *lookup(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return values[i];
    return NULL;
}

static int setup(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

static void defaults_come_from_the_profile(void **state)
{
    (void)state;
    struct sc_options options;
    set("PROFILE", "laptop");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_int_equal(options.memory_bytes, UINT64_C(8) << 30);
    assert_int_equal(options.order, SC_SCHEDULE_LATE);
    set("MEMORY", "192M");
    set("LINK_IN", "12.5");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_int_equal(options.memory_bytes, 192 << 20);
    assert_true(options.link_in_gbps == 12.5);
}

static void costs_come_from_the_driver(void **state)
{
    (void)state;
    struct sc_options options;
    set("DRIVER", "ideal");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_string_equal(options.driver, "ideal");
    assert_int_equal(options.map_ns + options.unmap_ns + options.remap_ns + options.discard_ns, 0);
    count = 0;
    set("UNMAP_NS", "0");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_string_equal(options.driver, "580");
    assert_int_equal(options.map_ns, 100000);
    assert_int_equal(options.unmap_ns, 0);
    assert_true(options.both_part == 0.75);
    assert_int_equal(options.driver_version, 13000);
    count = 0;
    set("DRIVER", "535");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_string_equal(options.driver, "535");
    assert_int_equal(options.driver_version, 12020);
    assert_int_equal(options.map_ns, 100000);
    count = 0;
    set("DRIVER", "581");
    set("MAP_NS", "1000000001");
    set("DISCARD_NS", "-1");
    set("BOTH_PART", "1.5");
    set("HOST_PAGES", "1G");
    assert_int_equal(sc_options_parse(&options, lookup), 5);
    assert_string_equal(options.driver, "580");
    assert_int_equal(options.driver_version, 13000);
    assert_int_equal(options.map_ns, 100000);
    assert_int_equal(options.discard_ns, 20000);
    assert_true(options.both_part == 0.75);
    assert_false(options.small_pages);
}

static void sizes_have_suffixes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {{"4096", 4096},
                {"1.5G", UINT64_C(3) << 29},
                {"2k", 2048},
                {"3MiB", 3 << 20},
                {"1T", UINT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sc_options options;
        count = 0;
        set("MEMORY", rows[i].text);
        assert_int_equal(sc_options_parse(&options, lookup), 0);
        assert_int_equal(options.memory_bytes, rows[i].bytes);
    }
}

static void bad_values_are_replaced(void **state)
{
    (void)state;
    struct sc_options options;
    set("MEMORY", "lots");
    set("LINK_IN", "-3");
    set("SCHEDULE", "random:x");
    set("PROFILE", "toaster");
    set("CALL_NS", "10ns");
    assert_int_equal(sc_options_parse(&options, lookup), 5);
    assert_string_equal(options.profile, "h100-pcie5");
    assert_int_equal(options.memory_bytes, UINT64_C(80) << 30);
    assert_int_equal(options.order, SC_SCHEDULE_LATE);
    assert_int_equal(options.call_ns, 1000);
}

static void schedules_have_a_seed(void **state)
{
    (void)state;
    struct sc_options options;
    set("SCHEDULE", "random:42");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_int_equal(options.order, SC_SCHEDULE_RANDOM);
    assert_int_equal(options.seed, 42);
}

/* A row with a value that does not parse would be softcuda's own mistake, told to every user. */
static void each_card_has_values(void **state)
{
    static const char *const cards[] = {"v100-16",    "v100-32", "a100-pcie4", "a100-80", "h100-pcie5",
                                        "h100-sxm",   "h200",    "rtx3060",    "rtx3090", "rtx4060ti",
                                        "rtx4070tis", "rtx4090", "rtx5060ti",  "rtx5090", "laptop"};
    for (size_t c = 0; c < sizeof cards / sizeof *cards; c++) {
        struct sc_options options;
        setup(state);
        set("PROFILE", cards[c]);
        assert_int_equal(sc_options_parse(&options, lookup), 0);
        assert_true(options.memory_bytes >= UINT64_C(8) << 30 && options.device_gbps > 0 &&
                    options.tflops > 0);
        assert_true(options.link_both_gbps <= options.link_in_gbps && options.capability >= 7);
    }
}

static void kernels_are_executed_wholly_or_in_part(void **state)
{
    struct sc_options options;
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_false(options.sampled);
    set("EXECUTE", "sample");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_true(options.sampled);
    set("RACES", "report");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_false(options.sampled); /* memory that was not written would hide them */
    setup(state);
    set("EXECUTE", "some");
    assert_int_equal(sc_options_parse(&options, lookup), 1);
    assert_false(options.sampled);
}

static void races_are_off_or_reported_or_errors(void **state)
{
    struct sc_options options;
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_int_equal(options.race_mode, SC_RACES_OFF);
    set("RACES", "error");
    assert_int_equal(sc_options_parse(&options, lookup), 0);
    assert_int_equal(options.race_mode, SC_RACES_ERROR);
    setup(state);
    set("RACES", "yes");
    assert_int_equal(sc_options_parse(&options, lookup), 1);
    assert_int_equal(options.race_mode, SC_RACES_OFF);
}

static void paths_name_the_process(void **state)
{
    (void)state;
    char path[64], tiny[4];
    sc_expand_path("a-%p-b%", path, sizeof path);
    assert_null(strstr(path, "%p"));
    assert_non_null(strstr(path, "-b%"));
    sc_expand_path("%p%p%p%p", tiny, sizeof tiny);
    assert_true(strlen(tiny) < sizeof tiny);
}

/* Otherwise a device of the default size would be used without a word. */
static void unknown_variables_are_counted(void **state)
{
    (void)state;
    char *known[] = {"SOFTCUDA_MEMORY=1G", "SOFTCUDA_ISA=avx2", "PATH=/bin", "SOFTCUDAMEMORY=1", NULL};
    char *unknown[] = {"SOFTCUDA_MEMROY=1G", "SOFTCUDA_LINK_IN=3", "SOFTCUDA_=", "SOFTCUDA_memory=1G", NULL};
    assert_int_equal(sc_options_unknown(known), 0);
    assert_int_equal(sc_options_unknown(unknown), 3);
    assert_int_equal(sc_options_unknown(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_variables_are_counted),
        cmocka_unit_test_setup(defaults_come_from_the_profile, setup),
        cmocka_unit_test_setup(sizes_have_suffixes, setup),
        cmocka_unit_test_setup(costs_come_from_the_driver, setup),
        cmocka_unit_test_setup(bad_values_are_replaced, setup),
        cmocka_unit_test_setup(schedules_have_a_seed, setup),
        cmocka_unit_test_setup(each_card_has_values, setup),
        cmocka_unit_test_setup(kernels_are_executed_wholly_or_in_part, setup),
        cmocka_unit_test_setup(races_are_off_or_reported_or_errors, setup),
        cmocka_unit_test_setup(paths_name_the_process, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
