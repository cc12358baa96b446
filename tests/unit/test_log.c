/* The log: one line a message whatever is in it, errno kept, and never into a file that is not ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

static char folder[] = "/tmp/sluice-log-XXXXXX";
static char path[64];

static const char *content(const char *name)
{
    static char text[8192];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

static int fresh(void **state)
{
    (void)state;
    unlink(path);
    sl_log_open(0, path);
    return 0;
}

static int close_log(void **state)
{
    (void)state;
    sl_log_open(0, NULL);
    return 0;
}

static void levels_select(void **state)
{
    (void)state;
    sl_log(SL_LOG_INFO, "not shown");
    sl_log(SL_LOG_WARN, "shown %d", 1);
    sl_log_open(1, path);
    sl_log(SL_LOG_INFO, "shown %d", 2);
    sl_log(SL_LOG_DEBUG, "not shown");
    assert_string_equal(content(path), "sluice: shown 1\nsluice: shown 2\n");
}

static void the_file_is_private(void **state)
{
    (void)state;
    struct stat at;
    umask(0);
    assert_int_not_equal(stat(path, &at), 0); /* nothing was said */
    sl_log(SL_LOG_WARN, "x");
    assert_int_equal(stat(path, &at), 0);
    assert_int_equal(at.st_mode & 0777, 0600);
}

static void errno_survives(void **state)
{
    (void)state;
    errno = ERANGE;
    sl_log(SL_LOG_WARN, "x");
    assert_int_equal(errno, ERANGE);
    sl_log_open(0, "/no/such/folder/log");
    assert_int_equal(errno, ERANGE);
}

static void a_message_is_one_line(void **state)
{
    (void)state;
    char large[4000];
    memset(large, 'k', sizeof(large) - 1);
    large[sizeof(large) - 1] = 0;
    sl_log(SL_LOG_WARN, "kernel %s", "a\nsluice: forged\033[2J\u202e\xc2\x9b");
    sl_log(SL_LOG_WARN, "%s", large);
    const char *text = content(path);
    assert_non_null(strstr(text, "sluice: kernel a?sluice: forged?[2J?????\n"));
    const char *second = strchr(text, '\n') + 1;
    assert_true(strlen(second) < 2000);
    assert_string_equal(second + strlen(second) - 5, "k...\n");
}

static void once_is_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) sl_warn_once("only once");
    assert_string_equal(content(path), "sluice: only once\n");
}

static void links_and_pipes_are_refused(void **state)
{
    (void)state;
    char other[96], link[96], pipe_name[96];
    snprintf(other, sizeof(other), "%s/other", folder);
    snprintf(link, sizeof(link), "%s/link", folder);
    snprintf(pipe_name, sizeof(pipe_name), "%s/pipe", folder);
    fclose(fopen(other, "w"));
    assert_int_equal(symlink(other, link), 0);
    assert_int_equal(mkfifo(pipe_name, 0600), 0);
    sl_log_open(0, link);
    sl_log(SL_LOG_WARN, "through a link");
    assert_string_equal(content(other), "");
    sl_log_open(0, pipe_name);
    sl_log(SL_LOG_WARN, "would hang if it waited for a reader");
    unlink(other);
    unlink(link);
    unlink(pipe_name);
}

static void a_reused_descriptor_is_left_alone(void **state)
{
    (void)state;
    char other[96];
    snprintf(other, sizeof(other), "%s/program", folder);
    int theirs = open(other, O_WRONLY | O_CREAT, 0600);
    for (int fd = 3; fd < theirs; fd++) dup2(theirs, fd);
    sl_log(SL_LOG_WARN, "to stderr now");
    assert_string_equal(content(other), "");
    close_log(NULL);
    assert_true(fcntl(theirs, F_GETFD) >= 0);
    unlink(other);
}

/* In a shared folder, such a file may have been put there to be filled or to be found by us. */
static void files_of_others_and_second_names_are_refused(void **state)
{
    (void)state;
    char other[96], second[96];
    snprintf(other, sizeof(other), "%s/other", folder);
    snprintf(second, sizeof(second), "%s/second", folder);
    fclose(fopen(other, "w"));
    assert_int_equal(link(other, second), 0);
    sl_log_open(0, second);
    sl_log(SL_LOG_WARN, "through a second name");
    assert_string_equal(content(other), "");
    unlink(second);
    if (geteuid() == 0) {
        assert_int_equal(chown(other, 65534, (gid_t)-1), 0);
        sl_log_open(0, other);
        sl_log(SL_LOG_WARN, "into another user's file");
        assert_string_equal(content(other), "");
    }
    unlink(other);
}

/* Whatever number 2 is by then, it is not what we were told to write to. */
static void a_reused_stderr_is_left_alone(void **state)
{
    (void)state;
    char other[96];
    snprintf(other, sizeof(other), "%s/program", folder);
    int kept = dup(STDERR_FILENO);
    for (int closed_before = 0; closed_before < 2; closed_before++) {
        int theirs = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (closed_before) close(STDERR_FILENO);
        sl_log_open(0, NULL);
        dup2(theirs, STDERR_FILENO);
        sl_log(SL_LOG_WARN, "not into the program's file");
        dup2(kept, STDERR_FILENO);
        close(theirs);
        assert_string_equal(content(other), "");
    }
    close(kept);
    unlink(other);
}

/* The default of either signal ends the process. */
static void no_signal_is_raised(void **state)
{
    (void)state;
    int ends[2], stderr_before = dup(STDERR_FILENO);
    struct rlimit limit, none;
    sigset_t pending;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    sl_log_open(0, NULL);
    sl_log(SL_LOG_WARN, "into a pipe that nobody reads");
    dup2(stderr_before, STDERR_FILENO);
    close(ends[1]);
    close(stderr_before);

    sl_log_open(0, path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    sl_log(SL_LOG_WARN, "into a file that must not grow");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));
    assert_false(sigismember(&pending, SIGXFSZ));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(levels_select, fresh, close_log),
        cmocka_unit_test_setup_teardown(the_file_is_private, fresh, close_log),
        cmocka_unit_test_setup_teardown(errno_survives, fresh, close_log),
        cmocka_unit_test_setup_teardown(a_message_is_one_line, fresh, close_log),
        cmocka_unit_test_setup_teardown(once_is_once, fresh, close_log),
        cmocka_unit_test_setup_teardown(links_and_pipes_are_refused, fresh, close_log),
        cmocka_unit_test_setup_teardown(a_reused_descriptor_is_left_alone, fresh, close_log),
        cmocka_unit_test_setup_teardown(files_of_others_and_second_names_are_refused, fresh, close_log),
        cmocka_unit_test_setup_teardown(a_reused_stderr_is_left_alone, fresh, close_log),
        cmocka_unit_test_setup_teardown(no_signal_is_raised, fresh, close_log),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof(path), "%s/log", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
