/* Paths in options: what stands for the process, the host and the rank, and where a path starts. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"

#define UNTOUCHED 0x5a

static char folder[PATH_MAX]; /* with a name that looks like a template */

static void templates_expand(void **state)
{
    (void)state;
    char out[128], expected[64], host[65] = "";
    snprintf(expected, sizeof(expected), "t.%d.%%", (int)getpid());
    assert_true(sl_options_expand("t.%p.%%", out, sizeof(out)));
    assert_string_equal(out, expected);
    gethostname(host, sizeof(host) - 1);
    assert_true(sl_options_expand("%h", out, sizeof(out)));
    assert_string_equal(out, host);
    assert_true(sl_options_expand("a%zb%", out, sizeof(out)));
    assert_string_equal(out, "a%zb%");
    assert_true(sl_options_expand("%%p", out, sizeof(out)));
    assert_string_equal(out, "%p");
    assert_true(sl_options_expand("abc", out, 4));
    assert_false(sl_options_expand("abcd", out, 4));
    assert_false(sl_options_expand("", out, 0));
}

static void assert_rank(const char *rank)
{
    char out[16], expected[16];
    struct sl_options options;
    sl_options_read(&options);
    snprintf(expected, sizeof(expected), "t.%s", rank);
    assert_true(sl_options_expand("t.%r", out, sizeof(out)));
    assert_string_equal(out, expected);
}

/* All launchers say something; then one after the other says what is no rank. */
static void the_rank_is_the_first_launchers(void **state)
{
    (void)state;
    static const char *const variables[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                            "PMI_RANK", "MV2_COMM_WORLD_RANK",  "SLURM_PROCID"};
    static const char *const ranks[] = {"0", "12345678901", "72", "73", "74", "75"};
    static const char *const no_ranks[] = {"", "-1", "1x", " 1", "0x1", "123456789012"};
    enum { COUNT = sizeof(variables) / sizeof(*variables) };
    for (int i = 0; i < COUNT; i++) unsetenv(variables[i]);
    assert_rank("0");
    assert_null(sl_options_rank());
    for (int i = 0; i < COUNT; i++) setenv(variables[i], ranks[i], 1);
    for (int i = 0; i < COUNT; i++) {
        assert_rank(ranks[i]);
        assert_string_equal(sl_options_rank(), ranks[i]);
        for (size_t j = 0; i + 1 < COUNT && j < sizeof(no_ranks) / sizeof(*no_ranks); j++) {
            setenv(variables[i], no_ranks[j], 1);
            assert_rank(ranks[i + 1]);
        }
        unsetenv(variables[i]);
    }
}

/* Calls `make` with every size of `out`: it succeeds where the text fits with its end, and writes nowhere
 * else. */
static void assert_bounded(bool (*make)(const char *, char *, size_t), const char *from)
{
    char whole[2 * PATH_MAX], out[2 * PATH_MAX];
    assert_true(make(from, whole, sizeof(whole)));
    for (size_t bytes = 0; bytes <= strlen(whole) + 2; bytes++) {
        memset(out, UNTOUCHED, sizeof(out));
        assert_int_equal(make(from, out, bytes), bytes > strlen(whole));
        if (bytes > strlen(whole)) assert_string_equal(out, whole);
        for (size_t i = bytes; i < sizeof(out); i++) assert_int_equal(out[i], UNTOUCHED);
    }
}

static void nothing_is_written_behind_the_end(void **state)
{
    (void)state;
    assert_bounded(sl_options_expand, "t.%p.%h.%r.%%.%z");
    assert_bounded(sl_options_expand, "");
    assert_bounded(sl_options_absolute, "name");
    assert_bounded(sl_options_absolute, "/from/the/root");
}

/* An absolute path is expanded later: the folder's own name must come out as it is. */
static void a_folders_name_is_no_template(void **state)
{
    (void)state;
    char path[2 * PATH_MAX], expanded[2 * PATH_MAX], expected[2 * PATH_MAX];
    assert_true(sl_options_absolute("t.%%", path, sizeof(path)));
    assert_true(sl_options_expand(path, expanded, sizeof(expanded)));
    snprintf(expected, sizeof(expected), "%s/t.%%", folder);
    assert_string_equal(expanded, expected);
    assert_true(sl_options_absolute("/t.%p", path, sizeof(path)));
    assert_string_equal(path, "/t.%p");
}

static void a_folder_that_is_gone_has_no_name(void **state)
{
    (void)state;
    char path[PATH_MAX], gone[] = "/tmp/sluice-gone-XXXXXX";
    assert_non_null(mkdtemp(gone));
    assert_int_equal(chdir(gone), 0);
    assert_int_equal(rmdir(gone), 0);
    assert_false(sl_options_absolute("name", path, sizeof(path)));
    assert_true(sl_options_absolute("/name", path, sizeof(path)));
    assert_int_equal(chdir(folder), 0);
}

static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/%%p%%%%h%%-XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") || rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_expand),
        cmocka_unit_test(the_rank_is_the_first_launchers),
        cmocka_unit_test(nothing_is_written_behind_the_end),
        cmocka_unit_test(a_folders_name_is_no_template),
        cmocka_unit_test(a_folder_that_is_gone_has_no_name),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
