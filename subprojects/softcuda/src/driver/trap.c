#include "trap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "queue.h"
#include "trap_report.h"

bool sc_trap_on;

static struct {
    pthread_mutex_t lock; /* guards everything but `before` */
    uint64_t begin, end;  /* of the addresses of managed memory */
    uint64_t used_end;    /* blocks behind it were never closed */
    bool *closed;         /* by block */
    uint64_t closed_count;
    unsigned working;        /* operations that are executed at this time */
    bool stale;              /* other blocks than those that are closed may be to be closed */
    struct sigaction before; /* the program's */
} trap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool *closed_at(uint64_t address)
{
    return &trap.closed[(address - trap.begin) >> SC_BLOCK_SHIFT];
}

/* Closes or opens blocks; neighbours in one system call. What the system refuses stays as it is. pre: the
 * trap's lock is held, and the bounds are those of blocks. */
static void protect(uint64_t begin, uint64_t end, bool close)
{
    for (uint64_t at = begin; at < end;) {
        uint64_t from = at;
        while (at < end && *closed_at(at) != close) at += SC_BLOCK_BYTES;
        uint64_t blocks = (at - from) >> SC_BLOCK_SHIFT;
        if (blocks && !mprotect((void *)from, at - from, close ? PROT_NONE : PROT_READ | PROT_WRITE)) {
            memset(closed_at(from), close, blocks);
            trap.closed_count += close ? blocks : -blocks;
            if (close && at > trap.used_end) trap.used_end = at;
        }
        at += SC_BLOCK_BYTES; /* which is as it is to be, or behind the end */
    }
}

/* The device that alone has the block, or NULL. pre: the driver's lock is held, here and below. */
static struct sc_device *holder_of(uint64_t address)
{
    for (int i = 0; i < sc_device_count(); i++) {
        const struct sc_managed_block *block = sc_managed_find(&sc_device_at(i)->timing.managed, address);
        if (block && block->residency == SC_ON_DEVICE) return sc_device_at(i);
    }
    return NULL;
}

/* Whether the memory is still there: a free gets its times late. */
static bool lives(const struct sc_managed_range *range)
{
    const struct sc_allocation *allocation = sc_space_find(range->begin);
    return allocation && allocation->kind == SC_MEMORY_MANAGED && allocation->begin == range->begin &&
           allocation->bytes == range->bytes;
}

static void settle_range(const struct sc_managed_range *range)
{
    uint64_t end = range->begin + range->block_count * SC_BLOCK_BYTES;
    for (uint64_t at = range->begin, next; at < end; at = next) {
        bool close = holder_of(at) != NULL;
        next = at + SC_BLOCK_BYTES;
        while (next < end && (holder_of(next) != NULL) == close) next += SC_BLOCK_BYTES;
        protect(at, next, close);
    }
}

void sc_trap_close(void)
{
    pthread_mutex_lock(&trap.lock);
    if (trap.stale && !trap.working) {
        const struct sc_managed *managed = &sc_device_at(0)->timing.managed; /* all have the same ranges */
        for (size_t i = 0; i < managed->range_count; i++)
            if (lives(managed->ranges[i])) settle_range(managed->ranges[i]);
        trap.stale = false;
    }
    pthread_mutex_unlock(&trap.lock);
}

void sc_trap_forget(uint64_t begin, uint64_t bytes)
{
    if (!sc_trap_on) return;
    pthread_mutex_lock(&trap.lock);
    protect(begin, begin + ((bytes + SC_BLOCK_BYTES - 1) & ~(SC_BLOCK_BYTES - 1)), false);
    pthread_mutex_unlock(&trap.lock);
}

void sc_trap_begin(void)
{
    if (!sc_trap_on) return;
    pthread_mutex_lock(&trap.lock);
    trap.working++;
    if (trap.closed_count) protect(trap.begin, trap.used_end, false);
    trap.stale = true;
    pthread_mutex_unlock(&trap.lock);
}

void sc_trap_end(void)
{
    if (!sc_trap_on) return;
    pthread_mutex_lock(&trap.lock);
    trap.working--;
    pthread_mutex_unlock(&trap.lock);
}

void sc_trap_moved(void)
{
    if (!sc_trap_on) return;
    pthread_mutex_lock(&trap.lock);
    trap.stale = true;
    pthread_mutex_unlock(&trap.lock);
}

static void open_block(uint64_t block)
{
    pthread_mutex_lock(&trap.lock);
    protect(block, block + SC_BLOCK_BYTES, false);
    trap.stale = true;
    pthread_mutex_unlock(&trap.lock);
}

/* Whether the address is in managed memory: open by now, if not closed. */
static bool is_managed(uint64_t address)
{
    if (address < trap.begin || address >= trap.end) return false;
    const struct sc_allocation *allocation = sc_space_find(address);
    return allocation && allocation->kind == SC_MEMORY_MANAGED;
}

/* The access of a thread that may call the driver. What it has submitted is executed and timed first: only
 * then is it known where the block is. */
static void access_block(uint64_t address, bool is_write, const void *instruction)
{
    uint64_t block = address & ~(SC_BLOCK_BYTES - 1);
    sc_queue_settle(NULL);
    const struct sc_device *holder = holder_of(block);
    struct sc_op *op = holder ? sc_op_new(SC_OP_HOST_FAULT, NULL) : NULL;
    if (op) {
        sc_trap_report(address, is_write, instruction, holder);
        op->span = (struct sc_span){.address = block, .bytes = SC_BLOCK_BYTES};
        sc_queue_host(op);
        sc_queue_settle(NULL);
    }
    open_block(block);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    if (trap.before.sa_flags & SA_SIGINFO) {
        trap.before.sa_sigaction(number, info, context);
    } else if (trap.before.sa_handler != SIG_DFL && trap.before.sa_handler != SIG_IGN) {
        trap.before.sa_handler(number);
    } else {
        /* It comes again when the handler returns, and ends the process. */
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (info->si_code <= 0) raise(number);
    }
}

/* A signal of the thread's own instruction, so the thread is inside of nothing that this waits for, unless it
 * holds the driver's lock. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const ucontext_t *machine = context;
    uint64_t address = (uint64_t)info->si_addr;
    bool is_write = machine->uc_mcontext.gregs[REG_ERR] & 2; /* the processor's error code */
    int error = errno;
    if (info->si_code <= 0 || !is_managed(address)) {
        pass_on(number, info, context);
    } else if (sc_interrupt()) {
        access_block(address, is_write, (const void *)machine->uc_mcontext.gregs[REG_RIP]);
        sc_leave(CUDA_SUCCESS);
    } else {
        open_block(address & ~(SC_BLOCK_BYTES - 1));
    }
    errno = error;
}

void sc_trap_init(void)
{
    if (!sc_options()->trap_host) return;
    sc_space_bounds(SC_MEMORY_MANAGED, &trap.begin, &trap.end);
    trap.used_end = trap.begin;
    trap.closed = calloc((trap.end - trap.begin) >> SC_BLOCK_SHIFT, sizeof *trap.closed);
    /* On the thread's own stack: what it has submitted may run in the handler. */
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sc_trap_on = trap.closed && !sigaction(SIGSEGV, &action, &trap.before);
    if (!sc_trap_on) sc_log("SOFTCUDA_TRAP_HOST: the host's accesses cannot be trapped");
    sc_trap_report_init();
}
