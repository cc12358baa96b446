/* What is recalled of a call stack is what the unwinder says, on stacks of every kind. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

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
/* The frame begins at a multiple, wherever the caller's ends; on x86-64 the table finds the caller's through
 * the frame. */
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
__attribute__((noinline)) static int
aligned(unsigned path, int depth)
{
    _Alignas(128) volatile char room[128];
    room[path % sizeof room] = 1;
    return call(path, depth) + room[path % sizeof room];
}

static int (*const functions[])(unsigned, int) = {narrow, wide, variable, narrow, twice, aligned, wide};

static int call(unsigned path, int depth)
{
    if (!depth) return hook() + 1;
    return functions[path % 7](path / 3 + 7, depth - 1) + 1;
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

/* Where the code lies differs from run to run, so two frames may now and then want the same place, and one
 * look is unwound again. */
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

/* Whatever its size, a frame is known by where its function says that it lies. */
static void frames_that_vary_need_no_unwinding_either(void **state)
{
    enum { SIZES = 40 };
    int (*const varying[])(unsigned, int) = {variable, aligned};
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (volatile unsigned path = 0; path < SIZES; path++) {
            if (path == 1) begin();
            varying[i](path, 0);
        }
        assert_int_equal(wrong, 0);
        assert_in_range(recalled, SIZES - 2, SIZES - 1);
    }
}

static void *go_down_once(void *argument)
{
    call(0, 2);
    return argument;
}

/* The rules hold for all threads. */
static void a_new_thread_recalls_what_another_unwound(void **state)
{
    (void)state;
    int counts[4] = {0};
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        begin();
        assert_int_equal(pthread_create(&thread, NULL, go_down_once, NULL), 0);
        pthread_join(thread, NULL);
        assert_int_equal(wrong, 0);
        counts[i] = recalled;
    }
    assert_int_equal(counts[0], 0);
    assert_true(counts[1] + counts[2] + counts[3] >= 2);
}

/* --- stacks that the program makes */

static ucontext_t outside, inside;

static void walk_inside(void)
{
    for (volatile unsigned path = 0; path < 20; path++) call(path * 31, (int)path % 3);
}

/* On `bytes` of stack between pages that cannot be read. */
static void walk_on_a_guarded_stack(size_t bytes)
{
    enum { PAGE = 4096 };
    char *stack = mmap(NULL, bytes + 2 * (size_t)PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(stack, MAP_FAILED);
    assert_int_equal(mprotect(stack + PAGE, bytes, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = stack + PAGE;
    inside.uc_stack.ss_size = bytes;
    inside.uc_link = &outside;
    makecontext(&inside, walk_inside, 0);
    assert_int_equal(swapcontext(&outside, &inside), 0);
    assert_int_equal(munmap(stack, bytes + 2 * (size_t)PAGE), 0);
}

static void stacks_of_fibers(void **state)
{
    (void)state;
    begin();
    for (size_t bytes = 1 << 17; bytes >= 1 << 15; bytes /= 2)
        for (int i = 0; i < 3; i++) walk_on_a_guarded_stack(bytes);
    assert_int_equal(wrong, 0);
    assert_true(recalled > 100);
}

#ifdef __x86_64__

/* A frame at `pointer` and what is above. By the tables of the functions below, the caller's frame is found
 * by the frame pointer. */
struct made {
    uintptr_t pointer, address, rest[14];
};

__attribute__((noinline)) static int count_from(const struct made *made)
{
    struct sl_stack stack;
    assert_true(sl_stack_recall(made, (const void *)made->address, &stack));
    return stack.count;
}

/* Where a call returns to in a frame of any size, and in one that is aligned, which has its caller's in it.
 */
static uintptr_t varying_code, aligned_code;

__attribute__((noinline)) static int note_caller(uintptr_t *code)
{
    *code = (uintptr_t)__builtin_return_address(0);
    return hook();
}

__attribute__((noinline)) static int vary(size_t bytes)
{
    volatile char *room = alloca(bytes);
    room[0] = 1;
    return note_caller(&varying_code) + room[0];
}

/* What compilers make of a function that aligns its frame and needs the caller's. */
int align_and_call(uintptr_t *code, int (*function)(uintptr_t *));
__asm__(".text\n"
        "align_and_call: .cfi_startproc\n"
        "  lea 8(%rsp), %r10; .cfi_def_cfa %r10, 0; and $-128, %rsp; push -8(%r10); push %rbp\n"
        "  .cfi_escape 0x10, 6, 2, 0x76, 0; mov %rsp, %rbp; push %r10; .cfi_escape 0x0f, 3, 0x76, 0x78, 6\n"
        "  sub $8, %rsp; call *%rsi; add $8, %rsp\n"
        "  pop %r10; .cfi_def_cfa %r10, 0; pop %rbp; lea -8(%r10), %rsp; .cfi_def_cfa %rsp, 8; ret\n"
        "  .cfi_endproc\n");

/* At the end of a page; the two behind it cannot be read. */
static struct made *make_frame(void)
{
    enum { PAGE = 4096 };
    char *pages = mmap(NULL, 3 * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, 2 * (size_t)PAGE, PROT_NONE), 0);
    return (struct made *)(pages + PAGE) - 1;
}

/* Registers and words that lead nowhere end the walk. */
static void frame_pointers_that_are_none(void **state)
{
    (void)state;
    vary(100);
    align_and_call(&aligned_code, note_caller);
    struct made *made = make_frame();
    const uintptr_t at = (uintptr_t)made, end = at + sizeof *made;
    /* clang-format off */
    const uintptr_t nowhere[] = {
        0, 1, at - 64, at + 20, end - 16, end - 8, end - 4, end - 1, end, end + 4, end + 8, end + 4096, end + 8184,
        UINTPTR_MAX - 7, UINTPTR_MAX - 15, (uintptr_t)1 << 63, (uintptr_t)1 << 47,
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        *made = (struct made){.pointer = nowhere[i], .address = varying_code};
        assert_int_equal(count_from(made), 1);
        *made = (struct made){.pointer = nowhere[i], .address = aligned_code};
        assert_int_equal(count_from(made), 1);
        *made = (struct made){.pointer = at + 32, .address = aligned_code, .rest[1] = nowhere[i]};
        assert_int_equal(count_from(made), 1);
    }
    /* A step to a frame that says that it has no caller. */
    *made = (struct made){at + 32, varying_code, {0, 0, 0, varying_code}};
    assert_int_equal(count_from(made), 2);
    *made = (struct made){at + 32, aligned_code, {0, at + 72, 0, 0, 0, 0, varying_code}};
    assert_int_equal(count_from(made), 2);
}

#endif

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
        cmocka_unit_test(frames_that_vary_need_no_unwinding_either),
        cmocka_unit_test(a_new_thread_recalls_what_another_unwound),
        cmocka_unit_test(stacks_of_fibers),
#ifdef __x86_64__
        cmocka_unit_test(frame_pointers_that_are_none),
#endif
        cmocka_unit_test(a_caller_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
