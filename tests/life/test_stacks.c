/* Allocations on stacks of every kind. Those that programs make themselves have guard pages beside them, end
 * where no return address is, and are freed and mapped anew: where the call stack is followed too far, the
 * program ends with SIGSEGV. An argument names one part of the test. */
#include "trainer.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, FIBERS = 64, ROUNDS = 4 };

static struct trainer trainer;

/* `bytes` between two pages that cannot be read. */
static char *map_guarded(size_t bytes)
{
    char *all = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(all != MAP_FAILED && !mprotect(all + PAGE, bytes, PROT_READ | PROT_WRITE));
    return all + PAGE;
}

static void unmap_guarded(char *stack, size_t bytes)
{
    must(!munmap(stack - PAGE, bytes + 2 * PAGE));
}

static volatile bool is_short; /* never */

/* Where the program allocates, `depth` frames whose sizes vary further up; the first is the largest. */
static __attribute__((noinline)) void take(unsigned depth, unsigned seed)
{
    size_t bytes = 1200 - seed * 37 % 1100;
    volatile char *room = alloca(bytes);
    room[0] = room[bytes - 1] = (char)depth;
    if (depth && !is_short) {
        take(depth - 1, seed * 5 + 3);
    } else {
        CUdeviceptr memory;
        must(!cuMemAlloc(&memory, 65536) && !cuMemsetD8(memory, 1, 65536) && !cuMemFree(memory));
    }
    must(room[bytes - 1] == (char)depth);
}

/* --- fibers */

static ucontext_t scheduler, fibers[FIBERS];

static void run_fiber(int number)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        take((unsigned)number % 7, (unsigned)number * 11 + round);
        must(!swapcontext(&fibers[number], &scheduler));
    }
}

static void start_fiber(int number, char *stack, size_t bytes)
{
    must(!getcontext(&fibers[number]));
    fibers[number].uc_stack.ss_sp = stack;
    fibers[number].uc_stack.ss_size = bytes;
    fibers[number].uc_link = &scheduler;
    makecontext(&fibers[number], (void (*)(void))run_fiber, 1, number);
}

static void resume(int number)
{
    must(!swapcontext(&scheduler, &fibers[number]));
}

static void use_fibers(void)
{
    enum { BYTES = 65536 };
    static char *stacks[FIBERS];
    for (int i = 0; i < FIBERS; i++) start_fiber(i, stacks[i] = map_guarded(BYTES), BYTES);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FIBERS; i++) resume(round & 1 ? FIBERS - 1 - i : i);
    for (int i = 0; i < FIBERS; i++) unmap_guarded(stacks[i], BYTES);
}

/* Two small stacks with a guard page between lie where a large one was. */
static void use_remapped(void)
{
    enum { LARGE = 262144, SMALL = LARGE / 4 };
    for (int round = 0; round < 4; round++) {
        char *stack = map_guarded(LARGE);
        start_fiber(0, stack, LARGE);
        resume(0);
        must(!mprotect(stack, LARGE, PROT_NONE));
        for (int i = 1; i <= 3; i++) {
            char *small = stack + LARGE - i * (SMALL + PAGE);
            must(!mprotect(small, SMALL, PROT_READ | PROT_WRITE));
            start_fiber(i, small, SMALL);
            resume(i);
        }
        for (int i = 3; i >= 1; i--) resume(i);
        unmap_guarded(stack, LARGE);
    }
}

/* Fibers go on in other threads than those that began them. */
static void *resume_all(void *unused)
{
    must(!trainer_enter(&trainer));
    for (int i = 0; i < FIBERS; i++) resume(i);
    return unused;
}

static void run_in_thread(void *(*work)(void *), const pthread_attr_t *attributes)
{
    pthread_t thread;
    must(!pthread_create(&thread, attributes, work, NULL) && !pthread_join(thread, NULL));
}

static void use_wandering(void)
{
    enum { BYTES = 65536 };
    for (int i = 0; i < FIBERS; i++) start_fiber(i, map_guarded(BYTES), BYTES);
    for (int round = 0; round < ROUNDS; round++)
        if (round & 1)
            resume_all(NULL);
        else
            run_in_thread(resume_all, NULL);
}

/* --- threads on stacks of the program's */

static void *take_in_thread(void *unused)
{
    must(!trainer_enter(&trainer));
    for (unsigned i = 0; i < 20; i++) take(i % 4, i);
    return unused;
}

static void use_threads(void)
{
    enum { BYTES = 65536 };
    pthread_attr_t attributes;
    must(!pthread_attr_init(&attributes));
    for (int i = 0; i < 8; i++) {
        char *stack = map_guarded(BYTES);
        must(!pthread_attr_setstack(&attributes, stack, BYTES));
        run_in_thread(take_in_thread, &attributes);
        unmap_guarded(stack, BYTES);
    }
}

/* --- signals */

static void handle(int signal)
{
    (void)signal;
    for (unsigned i = 0; i < 10; i++) take(i % 5, i);
}

static __attribute__((noinline)) void raise_below(unsigned depth)
{
    volatile char room[300];
    room[depth] = 1;
    if (depth)
        raise_below(depth - 1);
    else
        must(!raise(SIGUSR1));
    must(room[depth] == 1);
}

static void use_signals(void)
{
    enum { BYTES = 65536 };
    stack_t stack = {.ss_sp = map_guarded(BYTES), .ss_size = BYTES};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    must(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL));
    for (unsigned i = 0; i < 10; i++) raise_below(i);
}

#ifdef __x86_64__

/* --- coroutines by hand */

/* enter_stack goes on at `code` with the given stack and frame pointers, until leave_stack is called. */
void enter_stack(void *stack, const void *code, const void *frame);
_Noreturn void leave_stack(void);
/* Calls run_coroutine, as its table says from where it was called: the word above its two. */
extern const char begin_coroutine[];
/* Stand in functions that, by their tables, have their frames where the frame pointer is; the second one has
 * the caller's in it. */
extern const char framed_code[], aligned_code[], aligned_too_code[];
void *left_stack;

__asm__(
    ".text\n"
    ".globl enter_stack, leave_stack, begin_coroutine, framed_code, aligned_code, aligned_too_code\n"
    "enter_stack: push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
    "  mov left_stack@GOTPCREL(%rip), %rax; mov %rsp, (%rax); mov %rdi, %rsp; mov %rdx, %rbp; jmp *%rsi\n"
    "leave_stack: mov left_stack@GOTPCREL(%rip), %rax; mov (%rax), %rsp\n"
    "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret\n"
    "begin_coroutine: .cfi_startproc\n"
    "  sub $16, %rsp; .cfi_adjust_cfa_offset 16; call run_coroutine@PLT; ud2\n"
    "  .cfi_endproc\n"
    "framed: .cfi_startproc\n"
    "  push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16; mov %rsp, %rbp; .cfi_def_cfa_register %rbp\n"
    "  call leave_stack; framed_code: ud2\n"
    "  .cfi_endproc\n"
    "aligned: .cfi_startproc\n"
    "  .cfi_escape 0x10, 6, 2, 0x76, 0; .cfi_escape 0x0f, 3, 0x76, 0x78, 6\n"
    "  call leave_stack; aligned_code: ud2; call leave_stack; aligned_too_code: ud2\n"
    "  .cfi_endproc\n");

__attribute__((used)) void run_coroutine(void);
void run_coroutine(void)
{
    for (unsigned i = 0; i < 12; i++) take(i % 4, i);
    leave_stack();
}

/* The word that the table takes for the return address lies beyond the stack. */
static void use_coroutines(void)
{
    enum { BYTES = 32768 };
    char *guarded = map_guarded(BYTES), *heap = aligned_alloc(PAGE, BYTES);
    must(heap);
    for (int round = 0; round < 3; round++) {
        enter_stack(guarded + BYTES, begin_coroutine, NULL);
        memset(heap, round ? 0x55 : 0xff, BYTES);
        enter_stack(heap + BYTES, begin_coroutine, heap);
        enter_stack(heap + BYTES - 64, begin_coroutine, heap);
    }
    unmap_guarded(guarded, BYTES);
    free(heap);
}

/* The return address is one of code whose frame is found by a register, which has anything. */
static void use_registers(void)
{
    enum { BYTES = 32768 };
    char *stack = map_guarded(BYTES), *top = stack + BYTES - 64;
    char *last = stack + BYTES - sizeof(void *);
    /* Each kind of code begins with a pointer that leads beyond the stack in its own way. */
    const void *pointers[] = {stack + BYTES,
                              stack + BYTES + 64,
                              stack + BYTES,
                              stack + BYTES - 16,
                              stack - 64,
                              stack - 16,
                              NULL,
                              (void *)1,
                              top + 4,
                              (void *)0x123456780,
                              (void *)(UINTPTR_MAX - 15),
                              (void *)0x8000000000000000,
                              (void *)0x7ffffffff000};
    const void *codes[] = {framed_code, aligned_code, aligned_too_code};
    enum { POINTERS = sizeof pointers / sizeof *pointers, CODES = sizeof codes / sizeof *codes };
    memcpy(last, &last, sizeof(char *));
    for (int i = 0; i < 3 * POINTERS; i++)
        for (int code = 0; code < CODES; code++) {
            memcpy(top, &codes[code], sizeof codes[code]);
            enter_stack(top, begin_coroutine, pointers[(i + code) % POINTERS]);
        }
    unmap_guarded(stack, BYTES);
}

/* --- code that is made at run time and has no tables */

static void called_from_thunk(void)
{
    for (unsigned i = 0; i < 12; i++) take(i % 4, i);
}

/* push %rbp; mov $0x8, %rbp; mov $FUNCTION, %rax; call *%rax; pop %rbp; ret */
static void use_thunks(void)
{
    unsigned char code[] = {0x55, 0x48, 0xc7, 0xc5, 8, 0, 0, 0,    0x48, 0xb8, 0,
                            0,    0,    0,    0,    0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
    void (*function)(void) = called_from_thunk, (*call)(void);
    memcpy(code + 10, &function, sizeof function);
    for (int round = 0; round < 3; round++) {
        void *thunk = map_guarded(PAGE);
        memcpy(thunk, code, sizeof code);
        must(!mprotect(thunk, PAGE, PROT_READ | PROT_EXEC));
        memcpy(&call, &thunk, sizeof call);
        call();
        unmap_guarded(thunk, PAGE);
    }
}

#endif

/* --- a stack that has grown since it was looked at */

static void use_deep(void)
{
    take(2, 1);
    for (unsigned depth = 10; depth < 3000; depth *= 3) take(depth, depth);
    take(2, 1);
}

#ifdef SPLIT_STACKS

static void *go_deep(void *unused)
{
    must(!trainer_enter(&trainer));
    use_deep();
    return unused;
}

/* A thread whose stack is 64 KiB and then as many segments as it needs, which are given back and taken again.
 */
static void use_segments(void)
{
    pthread_attr_t attributes;
    must(!pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, 65536));
    for (int i = 0; i < 4; i++) run_in_thread(go_deep, &attributes);
}

#endif

static const struct {
    const char *name;
    void (*use)(void);
} parts[] = {
    {"fibers", use_fibers},         {"remapped", use_remapped},   {"wandering", use_wandering},
    {"threads", use_threads},       {"signals", use_signals},     {"deep", use_deep},
#ifdef SPLIT_STACKS
    {"segments", use_segments},
#endif
#ifdef __x86_64__
    {"coroutines", use_coroutines}, {"registers", use_registers}, {"thunks", use_thunks},
#endif
};

int main(int count, char **arguments)
{
    bool found = count < 2;
    must(!trainer_start(&trainer));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (count > 1 && strcmp(arguments[1], parts[i].name) != 0) continue;
        parts[i].use();
        found = true;
    }
    must(found && !trainer_steps(&trainer, 2) && !trainer_check(&trainer) && !trainer_stop(&trainer));
    return 0;
}
