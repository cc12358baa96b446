/* What is recalled of a call stack is what the unwinder says. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/stack_walk.h"

enum { PATHS = 64, DEPTH = 12 };

static int recalled, wrong;

/* Compares both. What is not recalled is unwound, and known the next time. */
__attribute__((noinline)) static int look(const void *caller)
{
    struct sl_stack fast, slow;
    bool known = sl_stack_recall(__builtin_frame_address(0), caller, &fast);
    sl_stack_unwind(caller, &slow);
    if (known) {
        recalled++;
        wrong +=
            fast.count != slow.count || memcmp(fast.at, slow.at, (size_t)slow.count * sizeof *slow.at) != 0;
    }
    return slow.count;
}

__attribute__((noinline)) static int hook(void)
{
    return look(__builtin_return_address(0)) + 1;
}

/* Functions whose frames differ; `path` says which calls which. */
static int call(unsigned path, int depth);

__attribute__((noinline)) static int narrow(unsigned path, int depth)
{
    return call(path, depth) + 1;
}
__attribute__((noinline)) static int wide(unsigned path, int depth)
{
    volatile char room[3000];
    room[path % sizeof room] = 1;
    return call(path, depth) + room[path % sizeof room];
}
__attribute__((noinline)) static int twice(unsigned path, int depth)
{
    return call(path, depth) + call(path / 2, depth);
}
/* The frame is as large as the arguments say. */
__attribute__((noinline)) static int variable(unsigned path, int depth)
{
    volatile char *room = alloca(16 + 64 * (path % 5));
    room[0] = 1;
    return call(path, depth) + room[0];
}

static int call(unsigned path, int depth)
{
    static int (*const functions[])(unsigned, int) = {narrow, wide, variable, narrow, twice, wide};
    if (!depth) return hook() + 1;
    return functions[path % 6](path / 3 + 7, depth - 1) + 1;
}

static void begin(void)
{
    recalled = wrong = 0;
}

static void what_is_recalled_is_what_was_unwound(void **state)
{
    (void)state;
    begin();
    for (unsigned round = 0; round < 3; round++)
        for (unsigned path = 0; path < PATHS; path++)
            for (int depth = 0; depth < DEPTH; depth++) call(path * 97, depth);
    assert_int_equal(wrong, 0);
    assert_true(recalled > PATHS);
}

/* On these paths no frame varies. Where the code lies differs from run to run, so two frames may now and then
 * want the same place, and one look is unwound again. */
__attribute__((noinline)) static void go_down(int *looks)
{
    begin();
    for (*looks = 0; *looks < 3; ++*looks) call(0, *looks);
}

static void the_second_time_needs_no_unwinding(void **state)
{
    (void)state;
    int looks;
    for (volatile int round = 0; round < 2; round++) go_down(&looks);
    assert_int_equal(wrong, 0);
    assert_in_range(recalled, looks - 1, looks);
}

static void *go_down_once(void *argument)
{
    call(0, 2);
    return argument;
}

static void *go_down_again(void *argument)
{
    int looks;
    for (volatile int round = 0; round < 2; round++) go_down(&looks);
    return argument;
}

static void run_in_thread(void *(*function)(void *))
{
    pthread_t thread;
    begin();
    assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
}

/* A thread's stack is known from its first unwinding on, and ends. */
static void threads_have_stacks_of_their_own(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        run_in_thread(go_down_again);
        assert_in_range(recalled, 2, 3);
    }
}

/* Nothing says how far the stack of a new thread may be read, though all frames are known. */
static void a_thread_that_was_never_unwound_recalls_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        run_in_thread(go_down_once);
        assert_int_equal(recalled, 0);
    }
}

/* A caller that is not on the stack, as one who jumped into the hook: it is all there is. */
static void a_caller_that_is_not_there(void **state)
{
    (void)state;
    struct sl_stack stack;
    sl_stack_unwind((const void *)8, &stack);
    assert_int_equal(stack.count, 1);
    assert_ptr_equal(stack.at[0], (const void *)8);
    assert_false(sl_stack_recall(__builtin_frame_address(0), (const void *)8, &stack));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_recalled_is_what_was_unwound),
        cmocka_unit_test(the_second_time_needs_no_unwinding),
        cmocka_unit_test(threads_have_stacks_of_their_own),
        cmocka_unit_test(a_thread_that_was_never_unwound_recalls_nothing),
        cmocka_unit_test(a_caller_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
