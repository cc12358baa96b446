/* Signals of calls that write: the program never sees those that we raised, and keeps its own. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/signals.h"

static bool is_pending(int signal)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal);
}

static bool is_blocked(int signal)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

/* Writes to a pipe that nobody reads. */
static void write_in_vain(void)
{
    struct sl_quiet_signals quiet;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    sl_quiet_signals_begin(&quiet);
    assert_true(is_blocked(SIGPIPE) && is_blocked(SIGXFSZ));
    assert_int_equal(write(ends[1], "x", 1), -1);
    int error = errno;
    sl_quiet_signals_end(&quiet, error);
    assert_int_equal(errno, error);
    close(ends[1]);
}

/* Breaks, by the end of the process, if the signal of a failed write stays. */
static void what_we_raised_is_taken_back(void **state)
{
    (void)state;
    write_in_vain();
    assert_false(is_pending(SIGPIPE));
    assert_false(is_blocked(SIGPIPE) || is_blocked(SIGXFSZ));
}

static void what_was_on_its_way_before_stays(void **state)
{
    (void)state;
    sigset_t one, before;
    int number;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    assert_int_equal(pthread_kill(pthread_self(), SIGPIPE), 0);
    write_in_vain();
    assert_true(is_pending(SIGPIPE));
    assert_int_equal(sigwait(&one, &number), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

/* A call that succeeded, or failed for another reason, raised nothing. */
static void nothing_is_taken_without_need(void **state)
{
    (void)state;
    struct sl_quiet_signals quiet;
    sl_quiet_signals_begin(&quiet);
    errno = EAGAIN;
    sl_quiet_signals_end(&quiet, 0);
    assert_int_equal(errno, EAGAIN);
    sl_quiet_signals_begin(&quiet);
    sl_quiet_signals_end(&quiet, ENOSPC);
    assert_false(is_blocked(SIGPIPE) || is_blocked(SIGXFSZ));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_we_raised_is_taken_back),
        cmocka_unit_test(what_was_on_its_way_before_stays),
        cmocka_unit_test(nothing_is_taken_without_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
