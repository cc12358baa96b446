/* The option table: sizes, refused values, unknown variables, and that enum names match their C enums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/text/option_flags.h"

static char messages[] = "/tmp/sluice-options-XXXXXX";

/* Reads the options as a program would, its messages kept in a file; returns what was said. */
static const char *read_options(struct sl_options *out)
{
    static char said[4096];
    assert_int_equal(truncate(messages, 0), 0);
    setenv("SLUICE_LOG", messages, 1);
    sl_options_read(out);
    FILE *file = fopen(messages, "r");
    assert_non_null(file);
    size_t bytes = fread(said, 1, sizeof(said) - 1, file);
    said[bytes] = 0;
    fclose(file);
    return said;
}

static int clear(void **state)
{
    (void)state;
    for (char **entry = environ; *entry;) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        if (strncmp(name, "SLUICE_", 7))
            entry++;
        else
            unsetenv(name);
    }
    return 0;
}

static void sizes_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"4096B", 4096},
        {"8G", 8 * SL_GIB},
        {"8GB", 8 * SL_GIB},
        {"512m", 512 * SL_MIB},
        {"1.5GiB", 3 * SL_GIB / 2},
        {"0.5k", 512},
        {"2t", 2048 * SL_GIB},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", 16777215 * (SL_GIB << 10)},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        uint64_t bytes = 77;
        assert_true(sl_parse_size(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    static const char *const bad[] = {"",          "-1",
                                      "+1",        " 1",
                                      "1 ",        "G",
                                      "1.5",       "1.G",
                                      ".5G",       "1e9",
                                      "0x10",      "8Q",
                                      "8iG",       "8GGB",
                                      "8,5G",      "18446744073709551616",
                                      "16777216T", "1.0000000000000000000G"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        uint64_t bytes = 77;
        assert_false(sl_parse_size(bad[i], &bytes));
        assert_int_equal(bytes, 77);
    }
}

static void defaults_without_environment(void **state)
{
    (void)state;
    struct sl_options options;
    assert_string_equal(read_options(&options), "");
    assert_int_equal(options.device_budget, 0);
    assert_int_equal(options.chunk, 0);
    assert_int_equal(options.policy, SL_POLICY_PLAN);
    assert_int_equal(options.daemon, SL_DAEMON_THREAD);
    assert_int_equal(options.trace_full, SL_TRACE_DROP);
    assert_string_equal(options.trace, "");
    assert_int_equal(options.host_reserve, 0);
}

static void values_are_taken(void **state)
{
    (void)state;
    struct sl_options options;
    setenv("SLUICE_DEVICE_BUDGET", "1.5G", 1);
    setenv("SLUICE_CHUNK", "32M", 1);
    setenv("SLUICE_TRACE", "/tmp/x.%p", 1);
    setenv("SLUICE_STATS", "", 1);
    assert_string_equal(read_options(&options), "");
    assert_int_equal(options.device_budget, 3 * SL_GIB / 2);
    assert_int_equal(options.chunk, 32 * SL_MIB);
    assert_string_equal(options.trace, "/tmp/x.%p");
    assert_string_equal(options.stats, "");

    static const struct {
        const char *variable, *value;
        size_t offset;
        int expected;
    } names[] = {
        {"SLUICE_POLICY", "plan", offsetof(struct sl_options, policy), SL_POLICY_PLAN},
        {"SLUICE_POLICY", "next", offsetof(struct sl_options, policy), SL_POLICY_NEXT},
        {"SLUICE_POLICY", "belady", offsetof(struct sl_options, policy), SL_POLICY_BELADY},
        {"SLUICE_POLICY", "lru", offsetof(struct sl_options, policy), SL_POLICY_LRU},
        {"SLUICE_POLICY", "demand", offsetof(struct sl_options, policy), SL_POLICY_DEMAND},
        {"SLUICE_POLICY", "driver", offsetof(struct sl_options, policy), SL_POLICY_DRIVER},
        {"SLUICE_POLICY", "off", offsetof(struct sl_options, policy), SL_POLICY_OFF},
        {"SLUICE_DAEMON", "thread", offsetof(struct sl_options, daemon), SL_DAEMON_THREAD},
        {"SLUICE_DAEMON", "inline", offsetof(struct sl_options, daemon), SL_DAEMON_INLINE},
        {"SLUICE_TRACE_FULL", "drop", offsetof(struct sl_options, trace_full), SL_TRACE_DROP},
        {"SLUICE_TRACE_FULL", "wait", offsetof(struct sl_options, trace_full), SL_TRACE_WAIT},
        {"SLUICE_VERBOSE", "2", offsetof(struct sl_options, verbose), 2},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        setenv(names[i].variable, names[i].value, 1);
        read_options(&options);
        assert_int_equal(*(int *)((char *)&options + names[i].offset), names[i].expected);
    }
}

static void strings_outlive_the_environment(void **state)
{
    (void)state;
    struct sl_options options;
    char entry[] = "SLUICE_TRACE=/tmp/before";
    putenv(entry);
    read_options(&options);
    memset(entry + 13, 'x', strlen(entry + 13));
    assert_string_equal(options.trace, "/tmp/before");
    unsetenv("SLUICE_TRACE");
}

static void bad_values_give_one_line_and_the_default(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *value, *allowed, *fallback;
    } bad[] = {
        {"SLUICE_CHUNK", "3M", "a power of two from 2 MiB to 1 GiB", "automatic"},
        {"SLUICE_CHUNK", "2G", "a power of two", "automatic"},
        {"SLUICE_CHUNK", "1M", "a power of two", "automatic"},
        {"SLUICE_DEVICE_BUDGET", "lots", "a size from 8 MiB", "automatic"},
        {"SLUICE_DEVICE_BUDGET", "-8G", "a size", "automatic"},
        {"SLUICE_HOST_RESERVE", "1.5", "a size", "automatic"},
        {"SLUICE_POLICY", "Plan", "plan|next|belady|lru|demand|driver|off", "plan"},
        {"SLUICE_POLICY", "plan|demand", "plan|next|belady|lru|demand|driver|off", "plan"},
        {"SLUICE_DAEMON", "in", "thread|inline", "thread"},
        {"SLUICE_VERBOSE", "3", "0 to 2", "0"},
        {"SLUICE_VERBOSE", "yes", "0 to 2", "0"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sl_options options = {0}, defaults = {0};
        clear(NULL);
        read_options(&defaults);
        setenv(bad[i].variable, bad[i].value, 1);
        const char *said = read_options(&options);
        assert_non_null(strstr(said, bad[i].variable));
        assert_non_null(strstr(said, bad[i].value));
        assert_non_null(strstr(said, bad[i].allowed));
        assert_non_null(strstr(said, bad[i].fallback));
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
        assert_memory_equal(&options, &defaults, sizeof(options));
    }
}

static void unknown_variables_name_their_neighbour(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *answer;
    } unknown[] = {
        {"SLUICE_DEVICE_BUGDET", "did you mean SLUICE_DEVICE_BUDGET?"},
        /* named like the flag --budget, --force, --trace-ful */
        {"SLUICE_BUDGET", "did you mean SLUICE_DEVICE_BUDGET?"},
        {"SLUICE_FORCE", "did you mean SLUICE_OVERWRITE?"},
        {"SLUICE_TRACE_FUL", "did you mean SLUICE_TRACE_FULL?"},
        {"SLUICE_SOMETHING", "sluice run --help lists all"},
        {"SLUICE_", "sluice run --help lists all"},
    };
    struct sl_options options;
    setenv("SLUICE_CACHE", "/tmp", 1); /* the tests' own */
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
        char expected[128];
        setenv(unknown[i].variable, "8G", 1);
        snprintf(expected, sizeof(expected), "sluice: unknown variable %s is ignored; %s\n",
                 unknown[i].variable, unknown[i].answer);
        assert_string_equal(read_options(&options), expected);
        unsetenv(unknown[i].variable);
    }
}

static void flags_name_their_variable(void **state)
{
    (void)state;
    bool takes_value = false;
    assert_string_equal(sl_options_env_for_flag("budget", &takes_value), "SLUICE_DEVICE_BUDGET");
    assert_true(takes_value);
    assert_string_equal(sl_options_env_for_flag("verbose", &takes_value), "SLUICE_VERBOSE");
    assert_false(takes_value);
    assert_null(sl_options_env_for_flag("budge", &takes_value));
    size_t count = 0;
    for (; sl_options_flag(count); count++) {
        assert_non_null(sl_options_env_for_flag(sl_options_flag(count), &takes_value));
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(sl_options_flag(i), sl_options_flag(count));
    }
    assert_true(count > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sizes_parse, clear),
        cmocka_unit_test_setup(defaults_without_environment, clear),
        cmocka_unit_test_setup(values_are_taken, clear),
        cmocka_unit_test_setup(strings_outlive_the_environment, clear),
        cmocka_unit_test_setup(bad_values_give_one_line_and_the_default, clear),
        cmocka_unit_test_setup(unknown_variables_name_their_neighbour, clear),
        cmocka_unit_test_setup(flags_name_their_variable, clear),
    };
    int fd = mkstemp(messages);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(messages);
    return failed;
}
