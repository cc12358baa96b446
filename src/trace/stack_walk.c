#include "trace/stack_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <libunwind.h>

/* --- what is readable */

enum { SIGNAL_SET_BYTES = 8, NO_SUCH_CHANGE = -1 };

/* The thread's own stack, as far as it is known. */
static _Thread_local struct {
    uintptr_t start, end;
    uint32_t strangers; /* frames that were outside */
    bool is_main;
} thread_stack __attribute__((tls_model("initial-exec")));

/* The kernel's list shows the main thread's stack as far as it has grown, in a line with its name and no
 * file. Reads the list in small pieces, because it may be long and the stack small. */
static void find_main_stack(void)
{
    char piece[256], line[128];
    size_t length = 0;
    ssize_t got = 1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    while (got > 0) { /* open, read and close would be cancellation points */
        got = syscall(SYS_read, fd, piece, sizeof piece);
        for (ssize_t i = 0; i < got; i++) {
            line[length] = piece[i] == '\n' ? 0 : piece[i];
            length += line[length] && length + 1 < sizeof line;
            if (piece[i] != '\n') continue;
            length = 0;
            const char *name = strrchr(line, ' ');
            if (name && !strcmp(name, " [stack]") && !strchr(line, '/'))
                sscanf(line, "%lx-%lx", &thread_stack.start, &thread_stack.end);
        }
    }
    syscall(SYS_close, fd);
}

/* The stack that the thread was created with, which stays as it is. */
static void find_thread_stack(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attributes)) return;
    if (!pthread_attr_getstack(&attributes, &start, &bytes)) {
        thread_stack.start = (uintptr_t)start;
        thread_stack.end = thread_stack.start + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* For a frame that is outside. The main thread's stack may have grown: it is looked for at the first such
 * frame, the second, the fourth and so on, because fibers stay outside. */
static __attribute__((noinline)) void look_again(void)
{
    uint32_t count = ++thread_stack.strangers;
    int error = errno;
    if (count & (count - 1) || (count > 1 && !thread_stack.is_main)) return;
    thread_stack.is_main = syscall(SYS_gettid) == getpid();
    if (thread_stack.is_main)
        find_main_stack();
    else
        find_thread_stack();
    errno = error;
}

static bool is_own(uintptr_t frame)
{
    return frame - thread_stack.start < thread_stack.end - thread_stack.start;
}

struct sl_stack_reach sl_stack_reach_from(const void *frame)
{
    uintptr_t at = (uintptr_t)frame;
    if (!is_own(at)) look_again();
    uintptr_t end_of_page = ((at + sizeof(uintptr_t)) & -SL_STACK_PAGE) + SL_STACK_PAGE;
    return (struct sl_stack_reach){.end = is_own(at) ? thread_stack.end : end_of_page};
}

/* A change of the signal mask that does not exist is refused as such only if the mask can be read. */
bool sl_stack_ask(struct sl_stack_reach *reach, uintptr_t word)
{
    uintptr_t page = word & -SL_STACK_PAGE;
    if (page == reach->page) return page;
    int error = errno;
    bool readable =
        syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, page, NULL, SIGNAL_SET_BYTES) == -1 && errno == EINVAL;
    errno = error;
    if (readable) reach->page = page;
    return readable;
}

/* Includes the shim's own frames, which the walk passes first. */
#define MOST_FRAMES (SL_SITE_FRAMES + 16)
#define WORD sizeof(uint64_t)

/* --- remembered rules */

/* A rule in 31 bits: how the caller's stack pointer (CFA) is found (2), from how many words away (20), and
 * how many words below it the caller's frame pointer is saved (9; 0: it is unchanged). */
enum { NOT_KNOWN, FROM_STACK, FROM_POINTER, HELD_BELOW_POINTER };
enum { WAY_BITS = 2, WORDS_BITS = 19, SAVED_BITS = 9, RULE_BITS = WAY_BITS + WORDS_BITS + SAVED_BITS };

static uint32_t code_of(uint32_t way, uint32_t words, uint32_t saved)
{
    return saved << (WAY_BITS + WORDS_BITS) | words << WAY_BITS | way;
}

static uint32_t way_of(uint32_t code)
{
    return code & ((1u << WAY_BITS) - 1);
}

static uintptr_t bytes_of(uint32_t code)
{
    return WORD * (code >> WAY_BITS & ((1u << WORDS_BITS) - 1));
}

static uintptr_t saved_bytes_of(uint32_t code)
{
    return WORD * (code >> (WAY_BITS + WORDS_BITS));
}

/* There is no caller: no step leads to higher addresses. */
#define OUTERMOST code_of(FROM_STACK, 0, 0)

/* Return addresses, without loss: of the 47 bits of one, mixed, 14 are the index, and 34 lie beside the rule.
 * The bit in both says which of two neighbours the index names; the other one
 * serves where that is taken. */
enum { ADDRESS_BITS = 47, INDEX_BITS = 14, TAG_BITS = 1 + ADDRESS_BITS - INDEX_BITS };
_Static_assert(TAG_BITS + RULE_BITS == 64, "a place is one word");
static _Atomic uint64_t places[1 << INDEX_BITS];

/* No two addresses become one: the factor is odd. */
static uint64_t mix(uint64_t address)
{
    return ((address ^ address >> 24) * 0x4f1bbcdc676f) & (((uint64_t)1 << ADDRESS_BITS) - 1);
}

static uint64_t index_of(uint64_t mixed)
{
    return mixed >> (ADDRESS_BITS - INDEX_BITS);
}

static uint64_t read_place(uint64_t index)
{
    return atomic_load_explicit(&places[index], memory_order_relaxed);
}

static inline uint32_t recall(uint64_t address)
{
    uint64_t mixed = mix(address), tag = mixed & (((uint64_t)1 << TAG_BITS) - 1),
             place = read_place(index_of(mixed));
    if (place >> RULE_BITS != tag) place = read_place(index_of(mixed) ^ 1);
    return place >> RULE_BITS == tag && !(address >> ADDRESS_BITS) ? place & ((1u << RULE_BITS) - 1)
                                                                   : NOT_KNOWN;
}

static void remember(uint64_t address, uint32_t code)
{
    uint64_t mixed = mix(address), index = index_of(mixed),
             own = mixed << RULE_BITS | code; /* tag and rule */
    if (way_of(code) == NOT_KNOWN || address >> ADDRESS_BITS || recall(address) == code) return;
    uint64_t present = read_place(index);
    bool is_taken = present && present >> RULE_BITS != own >> RULE_BITS;
    if (is_taken && !read_place(index ^ 1)) index ^= 1;
    atomic_store_explicit(&places[index], own, memory_order_relaxed);
}

/* NOT_KNOWN: the rule is of a rarer kind, or too large. */
static uint32_t encode(const struct sl_frame_rule *rule)
{
    uint32_t words = (uint32_t)(rule->held ? -rule->offset : rule->offset) / WORD, saved = 0;
    if (rule->address_at != -(int32_t)WORD || words >> WORDS_BITS || !words) return NOT_KNOWN;
    if (rule->held) {
        bool usual = rule->base == SL_FRAME_POINTER && rule->saves_pointer && rule->pointer_at_pointer &&
                     !rule->pointer_at;
        return usual ? code_of(HELD_BELOW_POINTER, words, 0) : NOT_KNOWN;
    }
    if (rule->saves_pointer) {
        saved = (uint32_t)-rule->pointer_at / WORD;
        if (rule->pointer_at_pointer || !saved || saved >> SAVED_BITS) return NOT_KNOWN;
    }
    if (rule->base == SL_FRAME_STACK) return code_of(FROM_STACK, words, saved);
    return rule->base == SL_FRAME_POINTER ? code_of(FROM_POINTER, words, saved) : NOT_KNOWN;
}

/* --- with the unwinder */

static bool reads(struct sl_stack_reach *reach, uintptr_t stack, uintptr_t base, struct sl_frame_span span)
{
    uintptr_t first = base + (uintptr_t)(intptr_t)span.lowest,
              last = base + (uintptr_t)(intptr_t)span.highest;
    if (span.lowest > span.highest) return true;
    return first >= stack && first % WORD == 0 && last - first < SL_STACK_PAGE &&
           sl_stack_reaches(reach, first) && sl_stack_reaches(reach, last);
}

/* Whether a step by this rule leads up the stack and reads what is readable only. *cfa: where it leads. */
static bool may_step(const struct sl_frame_rule *rule, unw_cursor_t *cursor, struct sl_stack_reach *reach,
                     uintptr_t *cfa)
{
    unw_word_t stack, pointer, base;
    if (unw_get_reg(cursor, UNW_REG_SP, &stack) || unw_get_reg(cursor, SL_FRAME_POINTER, &pointer) ||
        unw_get_reg(cursor, rule->base, &base))
        return false;
    *cfa = base + (uintptr_t)(intptr_t)rule->offset;
    if (rule->held) {
        if (!reads(reach, stack, *cfa, (struct sl_frame_span){0, 0})) return false;
        memcpy(cfa, (const void *)*cfa, sizeof *cfa);
    }
    return *cfa > stack && reads(reach, stack, *cfa, rule->from_cfa) &&
           reads(reach, stack, pointer, rule->from_pointer);
}

/* To the caller's frame; false: there is none, or it cannot be known. */
static bool step(unw_cursor_t *cursor, struct sl_stack_reach *reach, bool was_called)
{
    struct sl_frame_rule rule;
    unw_proc_info_t info;
    unw_word_t address, stack;
    uintptr_t cfa;
    if (unw_get_reg(cursor, UNW_REG_IP, &address)) return false;
    bool known = !unw_get_proc_info(cursor, &info) && info.unwind_info &&
                 sl_frame_rule_read((const void *)info.unwind_info, info.start_ip, address, &rule);
    if (was_called) remember(address, known ? encode(&rule) : OUTERMOST);
    return known && may_step(&rule, cursor, reach, &cfa) && unw_step(cursor) >= 0 &&
           !unw_get_reg(cursor, UNW_REG_SP, &stack) && stack == cfa;
}

void sl_stack_walk_open(void)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
}

void sl_stack_unwind(const void *caller, struct sl_stack *stack)
{
    struct sl_stack_reach reach = sl_stack_reach_from(__builtin_frame_address(0));
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t address;
    bool above = false;
    stack->count = 0;
    unw_getcontext(&context);
    bool begun = !unw_init_local(&cursor, &context);
    for (int i = 0; begun && i < MOST_FRAMES && stack->count < SL_SITE_FRAMES; i++) {
        if (!step(&cursor, &reach, i > 0) || unw_get_reg(&cursor, UNW_REG_IP, &address) || !address) break;
        above |= address == (uintptr_t)caller;
        if (above) stack->at[stack->count++] = (const void *)address;
    }
    if (!stack->count) stack->at[stack->count++] = caller;
}

/* --- from remembered rules */

/* A frame that waits for a call: what its registers are when the call returns to `address`. */
struct frame {
    uint64_t address;
    uintptr_t stack, pointer;
};

static uint64_t word_at(uintptr_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)address, sizeof word);
    return word;
}

/* To the caller's frame; false as above. */
static bool follow(uint32_t code, struct frame *frame, struct sl_stack_reach *reach)
{
    uintptr_t cfa = (way_of(code) == FROM_STACK ? frame->stack : frame->pointer) + bytes_of(code), saved = 0;
    if (saved_bytes_of(code)) saved = cfa - saved_bytes_of(code);
    if (way_of(code) == HELD_BELOW_POINTER) {
        uintptr_t held = frame->pointer - bytes_of(code);
        saved = frame->pointer;
        if (held < frame->stack || held % WORD || !sl_stack_reaches(reach, held)) return false;
        cfa = word_at(held);
    }
    if (cfa <= frame->stack || cfa % WORD) return false;
    if (saved) {
        if (saved < frame->stack || saved % WORD || !sl_stack_reaches(reach, saved)) return false;
        frame->pointer = word_at(saved);
    }
    if (!sl_stack_reaches(reach, cfa - WORD)) return false;
    frame->address = word_at(cfa - WORD);
    frame->stack = cfa;
    return frame->address;
}

bool sl_stack_recall(const void *frame, const void *caller, struct sl_stack *stack)
{
#ifdef __x86_64__
    struct sl_stack_reach reach = sl_stack_reach_from(frame);
    uintptr_t own = (uintptr_t)frame;
    struct frame at = {word_at(own + WORD), own + 2 * WORD, word_at(own)};
    bool above = false;
    stack->count = 0;
    for (int i = 0; i < MOST_FRAMES; i++) {
        above |= at.address == (uint64_t)caller;
        if (above) stack->at[stack->count++] = (const void *)at.address;
        if (stack->count == SL_SITE_FRAMES) return true;
        uint32_t code = recall(at.address);
        if (way_of(code) == NOT_KNOWN) return false;
        if (!follow(code, &at, &reach)) return above;
    }
#else
    (void)frame;
    (void)caller;
    (void)stack;
#endif
    return false;
}
