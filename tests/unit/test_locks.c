/* The checks of locks, which this program has whatever it is built for: each use that could let two threads
 * wait for each other, or the program wait for the device, ends the process; every other one goes through. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/locks.h"

static struct sl_lock locks[SL_LOCK_COUNT];

static int make_locks(void **state)
{
    (void)state;
    for (int rank = 0; rank < SL_LOCK_COUNT; rank++)
        if (!sl_lock_init(&locks[rank], (enum sl_lock_rank)rank, rank % 2)) return -1;
    return 0;
}

/* What a child says that does `use` with the two locks; "": it came to its end. */
static const char *said_by(void (*use)(struct sl_lock *, struct sl_lock *), int one, int other)
{
    static char said[256];
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        use(&locks[one], &locks[other]);
        _exit(0);
    }
    assert_true(child > 0);
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], said + used, sizeof(said) - 1 - used)) > 0; used += (size_t)got) {
    }
    said[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFEXITED(status) && WEXITSTATUS(status) == 0, used == 0);
    if (used) assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return said;
}

static const char *const names[] = {
#define NAME(rank, name, enqueues, moves) name,
    SL_LOCKS(NAME)
#undef NAME
};

static void take_both(struct sl_lock *one, struct sl_lock *other)
{
    sl_lock(one);
    sl_lock(other);
}

static void take_and_try(struct sl_lock *one, struct sl_lock *other)
{
    sl_lock(one);
    if (!sl_try_lock(other)) _exit(1);
}

/* Two threads that took them the other way round would wait for each other for ever. */
static void locks_are_taken_in_their_order(void **state)
{
    (void)state;
    char expected[96];
    for (int held = 0; held < SL_LOCK_COUNT; held++) {
        for (int next = 0; next < SL_LOCK_COUNT; next++) {
            bool ordered = next > held;
            bool direction = next == SL_LOCK_OUT || next == SL_LOCK_IN;
            snprintf(expected, sizeof(expected), "sluice: check failed: %s %s while %s is held\n",
                     ordered ? "waiting for" : "taking", names[next], names[held]);
            assert_string_equal(said_by(take_and_try, held, next), ordered ? "" : expected);
            assert_string_equal(said_by(take_both, held, next),
                                ordered && !(direction && held == SL_LOCK_ORDER) ? "" : expected);
        }
    }
}

static void give_up_both(struct sl_lock *one, struct sl_lock *other)
{
    sl_lock(one);
    sl_unlock(one);
    sl_unlock(other);
}

static void what_is_given_up_was_held(void **state)
{
    (void)state;
    assert_string_equal(said_by(give_up_both, SL_LOCK_IN, SL_LOCK_IN),
                        "sluice: check failed: giving up in while none is held\n");
}

static void (*may_use)(void);

static void use_under(struct sl_lock *one, struct sl_lock *other)
{
    may_use(); /* nothing is held */
    sl_lock(one);
    sl_unlock(one);
    may_use(); /* any more */
    sl_lock(one);
    if (other != one && !sl_try_lock(other)) _exit(1);
    may_use();
}

/* A stream whose queue is full holds up whoever enqueues, and a driver whoever moves memory: only a
 * direction's lock may be held meanwhile, and that of the times while their events are recorded. */
static void the_device_is_used_under_a_directions_lock_only(void **state)
{
    (void)state;
    static const struct {
        void (*may)(void);
        const char *said;
        bool under_times;
    } uses[] = {{sl_check_may_enqueue, "enqueueing work", true}, {sl_check_may_move, "moving memory", false}};
    char expected[96];
    for (int i = 0; i < 2; i++) {
        may_use = uses[i].may;
        const char *format = "sluice: check failed: %s while %s is held\n";
        for (int held = 0; held < SL_LOCK_COUNT; held++) {
            bool may =
                held == SL_LOCK_OUT || held == SL_LOCK_IN || (held == SL_LOCK_TIMES && uses[i].under_times);
            snprintf(expected, sizeof(expected), format, uses[i].said, names[held]);
            assert_string_equal(said_by(use_under, held, held), may ? "" : expected);
        }
        snprintf(expected, sizeof(expected), format, uses[i].said, "order");
        assert_string_equal(said_by(use_under, SL_LOCK_ORDER, SL_LOCK_OUT), expected);
        snprintf(expected, sizeof(expected), format, uses[i].said, "clock");
        assert_string_equal(said_by(use_under, SL_LOCK_OUT, SL_LOCK_CLOCK), expected);
        assert_string_equal(said_by(use_under, SL_LOCK_OUT, SL_LOCK_IN), "");
    }
}

static void *try_in_vain(void *taken)
{
    struct sl_lock *lock = taken;
    bool vain = !sl_try_lock(lock);
    sl_lock(&locks[SL_LOCK_ORDER]); /* what was not taken is not held, and neither is what others hold */
    sl_unlock(&locks[SL_LOCK_ORDER]);
    return vain ? taken : NULL;
}

static void try_in_two_threads(struct sl_lock *one, struct sl_lock *other)
{
    pthread_t thread;
    void *vain;
    sl_lock(one);
    if (pthread_create(&thread, NULL, try_in_vain, other) || pthread_join(thread, &vain)) _exit(1);
    if ((vain != NULL) != (one == other)) _exit(1);
    sl_unlock(one);
    if (!sl_try_lock(one)) _exit(1);
}

static void each_thread_holds_its_own(void **state)
{
    (void)state;
    for (int rank = 1; rank < SL_LOCK_COUNT; rank++)
        assert_string_equal(said_by(try_in_two_threads, rank, rank), "");
}

static void an_initialised_lock_has_its_rank(void **state)
{
    (void)state;
    struct sl_lock lock = SL_LOCK_INITIALIZER(SL_LOCK_FREES);
    assert_int_equal(lock.rank, SL_LOCK_FREES);
    assert_true(sl_try_lock(&lock));
    sl_unlock(&lock);
    for (int rank = 0; rank < SL_LOCK_COUNT; rank++) assert_int_equal(locks[rank].rank, rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_are_taken_in_their_order),
        cmocka_unit_test(what_is_given_up_was_held),
        cmocka_unit_test(the_device_is_used_under_a_directions_lock_only),
        cmocka_unit_test(each_thread_holds_its_own),
        cmocka_unit_test(an_initialised_lock_has_its_rank),
    };
    return cmocka_run_group_tests(tests, make_locks, NULL);
}
