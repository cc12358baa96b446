/* Signals of calls that write: the program never sees those that we raised, and keeps its own. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

/* Threads of ours in somebody else's process: they take no signal of the program's, and have a stack of their
 * own size. */
static int refusal; /* what the next thread is refused with; 0: it is not */

/* The linker gives thread.c this for pthread_create(). */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                          void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                          void *argument)
{
    return refusal ? refusal : __real_pthread_create(thread, attributes, work, argument);
}

/* As the thread finds itself. */
struct seen {
    sigset_t blocked;
    size_t stack_bytes;
};

static void *look(void *argument)
{
    struct seen *seen = argument;
    pthread_attr_t attributes;
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    if (pthread_getattr_np(pthread_self(), &attributes)) return NULL;
    pthread_attr_getstacksize(&attributes, &seen->stack_bytes);
    pthread_attr_destroy(&attributes);
    return seen;
}

static struct seen started(const char *name)
{
    pthread_t thread;
    struct seen seen = {.stack_bytes = 0};
    void *returned;
    assert_int_equal(sl_thread_start(&thread, name, look, &seen), 0);
    assert_int_equal(pthread_join(thread, &returned), 0);
    assert_ptr_equal(returned, &seen);
    return seen;
}

/* The caller blocks this one and no other, before and after. */
static void assert_own_mask(int blocked)
{
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    for (int number = 1; number < SIGRTMIN; number++) {
        if (number == 32 || number == 33) continue; /* the C library's own */
        assert_int_equal(sigismember(&now, number), number == blocked);
    }
}

static int block_one(void **state)
{
    (void)state;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    return pthread_sigmask(SIG_SETMASK, &one, NULL);
}

static void signals_are_for_the_programs_threads(void **state)
{
    (void)state;
    struct seen seen = started("quiet");
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (number == SIGKILL || number == SIGSTOP || (number >= 32 && number < SIGRTMIN)) continue;
        assert_int_equal(sigismember(&seen.blocked, number), 1);
    }
    assert_own_mask(SIGUSR2);
}

/* A program with hundreds of threads makes their stacks small: a driver call would run over that. */
static void the_stack_is_not_the_programs_default(void **state)
{
    (void)state;
    pthread_attr_t before, small;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, (size_t)128 << 10), 0);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    assert_true(started("small").stack_bytes >= (size_t)1 << 20);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&before);
}

static void *wait_for_word(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

static void a_thread_is_found_by_its_name(void **state)
{
    (void)state;
    pthread_t thread;
    pthread_mutex_t word = PTHREAD_MUTEX_INITIALIZER;
    char name[16] = "";
    pthread_mutex_lock(&word);
    assert_int_equal(sl_thread_start(&thread, "sluice-test", wait_for_word, &word), 0);
    assert_int_equal(pthread_getname_np(thread, name, sizeof(name)), 0);
    assert_string_equal(name, "sluice-test");
    pthread_mutex_unlock(&word);
    assert_int_equal(pthread_join(thread, NULL), 0);
    started("a name that is longer than the kernel keeps"); /* is started all the same */
}

static void a_refusal_is_returned_and_leaves_no_signal_blocked(void **state)
{
    (void)state;
    pthread_t thread;
    refusal = EAGAIN;
    assert_int_equal(sl_thread_start(&thread, "none", look, NULL), EAGAIN);
    refusal = 0;
    assert_own_mask(SIGUSR2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_we_raised_is_taken_back),
        cmocka_unit_test(what_was_on_its_way_before_stays),
        cmocka_unit_test(nothing_is_taken_without_need),
        cmocka_unit_test_setup(signals_are_for_the_programs_threads, block_one),
        cmocka_unit_test_setup(the_stack_is_not_the_programs_default, block_one),
        cmocka_unit_test_setup(a_thread_is_found_by_its_name, block_one),
        cmocka_unit_test_setup(a_refusal_is_returned_and_leaves_no_signal_blocked, block_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
