/* Checks, once for each level: what is looked at, what a failed one says and counts, and that it ends the
 * process where all checks are compiled in and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/log.h"

static char folder[] = "/tmp/sluice-check-XXXXXX";
static char path[64];
static int looked;

static const char *content(void)
{
    static char text[8192];
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = 0;
    if (file) fclose(file);
    return text;
}

static int fresh(void **state)
{
    (void)state;
    unlink(path);
    sl_log_open(0, path);
    atomic_store(&sl_check_failures, 0);
    looked = 0;
    return 0;
}

/* A real one would have no effects. */
static bool look(bool holds)
{
    looked++;
    return holds;
}

static void what_the_level_has_is_looked_at(void **state)
{
    (void)state;
    SL_CHECK(look(true));
    assert_int_equal(looked, SLUICE_CHECK_LEVEL >= SL_CHECKS_CHEAP);
    assert_true(SL_CHECK_ALL(look(true)));
    SL_CHECK_ALL_SPARINGLY(SL_CHECK_SHARE, look(true));
    assert_int_equal(looked, SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL ? 3 : SLUICE_CHECK_LEVEL);
    assert_int_equal(sl_checks_failed(), 0);
    assert_string_equal(content(), "");
}

static void many_elements_are_looked_at_seldom(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) SL_CHECK_ALL_SPARINGLY(10 * SL_CHECK_SHARE, look(true));
    assert_int_equal(looked, SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL ? 10 : 0);
    _Atomic size_t spent = 0;
    for (int i = 0; i < 10; i++) assert_true(sl_check_spend(&spent, SL_CHECK_SHARE));
}

#if SLUICE_CHECK_LEVEL < SL_CHECKS_CHEAP

static void nothing_fails(void **state)
{
    (void)state;
    assert_true(SL_CHECK(look(false)));
    assert_true(SL_CHECK_ALL(look(false)));
    assert_int_equal(looked, 0);
    assert_int_equal(sl_checks_failed(), 0);
}

#elif SLUICE_CHECK_LEVEL < SL_CHECKS_ALL

static int first_line;

static bool first_place(void)
{
    first_line = __LINE__ + 1;
    return SL_CHECK(look(false));
}

static void a_failed_check_is_said_once_and_counted(void **state)
{
    (void)state;
    char wanted[512];
    errno = EXDEV;
    for (int i = 0; i < 3; i++) assert_false(first_place());
    assert_int_equal(errno, EXDEV);
    assert_int_equal(sl_checks_failed(), 3);
    snprintf(
        wanted, sizeof(wanted),
        "sluice: check failed: tests/unit/test_check.c:%d: look(false); the program goes on, and nothing is "
        "planned any more\n",
        first_line);
    assert_string_equal(content(), wanted);
    assert_false(SL_CHECK(looked < 0)); /* another place has a line of its own */
    assert_non_null(strstr(content(), ": looked < 0;"));
    assert_int_equal(sl_checks_failed(), 4);
}

static void what_is_not_cheap_is_left_out(void **state)
{
    (void)state;
    assert_true(SL_CHECK_ALL(look(false)));
    SL_CHECK_ALL_SPARINGLY(1, look(false));
    assert_int_equal(looked, 0);
    assert_int_equal(sl_checks_failed(), 0);
}

#else

static int *line; /* shared with the children */

static void fail_cheap(void)
{
    *line = __LINE__ + 1;
    SL_CHECK(look(false));
}

static void fail_all(void)
{
    *line = __LINE__ + 1;
    SL_CHECK_ALL(look(false));
}

static void fail_sparingly(void)
{
    *line = __LINE__ + 1;
    SL_CHECK_ALL_SPARINGLY(1, look(false));
}

static bool is_valid(void)
{
    return SL_HOLDS(looked < 0);
}

static void fail_with_an_invariant(void)
{
    *line = __LINE__ + 1;
    SL_CHECK_ALL(is_valid());
}

/* In a child, whose stderr is the file. `text`: of the check. */
static void expect_abort(void (*break_it)(void), const char *text)
{
    int status;
    char wanted[256];
    unlink(path);
    pid_t child = fork();
    if (!child) {
        signal(SIGABRT, SIG_DFL); /* CMocka's would go on */
        if (!freopen(path, "w", stderr)) _exit(2);
        break_it();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    snprintf(wanted, sizeof(wanted), "sluice: check failed: tests/unit/test_check.c:%d: %s", *line, text);
    assert_memory_equal(content(), wanted, strlen(wanted));
}

static void a_failed_check_ends_the_process(void **state)
{
    (void)state;
    line = mmap(NULL, sizeof *line, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(line, MAP_FAILED);
    expect_abort(fail_cheap, "look(false)\n");
    expect_abort(fail_all, "look(false)\n");
    expect_abort(fail_sparingly, "look(false)\n");
    expect_abort(fail_with_an_invariant, "is_valid(): not looked < 0 (tests/unit/test_check.c:");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_the_level_has_is_looked_at, fresh),
        cmocka_unit_test_setup(many_elements_are_looked_at_seldom, fresh),
#if SLUICE_CHECK_LEVEL < SL_CHECKS_CHEAP
        cmocka_unit_test_setup(nothing_fails, fresh),
#elif SLUICE_CHECK_LEVEL < SL_CHECKS_ALL
        cmocka_unit_test_setup(a_failed_check_is_said_once_and_counted, fresh),
        cmocka_unit_test_setup(what_is_not_cheap_is_left_out, fresh),
#else
        cmocka_unit_test_setup(a_failed_check_ends_the_process, fresh),
#endif
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof(path), "%s/log", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
