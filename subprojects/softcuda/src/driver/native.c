#include "native.h"

#include <pthread.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "engine/pool.h"
#include "managed.h"
#include "options.h"

#define IMAGES 16
/* MXCSR: round to nearest, denormals enabled, no exceptions unmasked, regardless of the program's own
 * settings. */
#define PLAIN_ARITHMETIC 0x1f80u

static struct {
    pthread_mutex_t lock;
    const struct sc_native_image *images[IMAGES];
    size_t count;
} trusted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_trusted(const void *image)
{
    for (size_t i = 0; i < trusted.count; i++)
        if (trusted.images[i] == image) return true;
    return false;
}

bool sc_native_trusted(const void *image)
{
    pthread_mutex_lock(&trusted.lock);
    bool found = is_trusted(image);
    pthread_mutex_unlock(&trusted.lock);
    return found;
}

static bool trust(const struct sc_native_image *image)
{
    if (!image || image->magic != SC_NATIVE_MAGIC) return false;
    pthread_mutex_lock(&trusted.lock);
    bool known = is_trusted(image);
    if (!known && trusted.count < IMAGES) {
        trusted.images[trusted.count++] = image;
        known = true;
    }
    pthread_mutex_unlock(&trusted.lock);
    return known;
}

static struct sc_native_table table;

static void fill_table(void)
{
    const struct sc_options *o = sc_options();
    double host_gbps = o->link_in_gbps < o->link_out_gbps ? o->link_in_gbps : o->link_out_gbps;
    host_gbps /= sc_devices_of_link(0); /* the first link is shared by the most devices */
    table = (struct sc_native_table){
        .bytes = sizeof table,
        .trust = trust,
        .peer_bytes_per_ns = o->nvlink_gbps ? (double)o->nvlink_gbps : host_gbps,
        .peer_latency_ns = o->peer_latency_ns,
    };
}

const struct sc_native_table *sc_native_table_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_table);
    return &table;
}

void sc_native_info(const struct sc_native_kernel *kernel, struct sc_function_info *out)
{
    *out = (struct sc_function_info){
        .name = kernel->name,
        .parameter_count = kernel->parameter_count,
        .parameters = kernel->parameters,
        .parameter_bytes = kernel->parameter_bytes,
        .max_threads = 1024,
        .registers = 32,
    };
}

struct run {
    struct sc_native_launch launch; /* must be first: its functions cast its address to struct run */
    const struct sc_launch *wish;
    struct sc_cost *cost;
    struct sc_range range; /* the last range that was looked up */
    struct sc_touches touches;
    struct sc_accesses accesses;
    size_t block_capacity;
    uint64_t fault_address;
    bool faulted;
};

/* What `bytes` bytes count as read, and as written. Of either, both are at least 1: memory that may have been
 * written counts as written. */
static uint64_t read_of(uint64_t bytes, const struct sc_native_access *access)
{
    return access->reads ? access->either ? bytes - bytes / 2 : bytes : 0;
}

static uint64_t written_of(uint64_t bytes, const struct sc_native_access *access)
{
    return access->writes ? access->either && bytes > 1 ? bytes / 2 : bytes : 0;
}

static bool add_block(struct run *run, uint64_t block, uint64_t bytes, const struct sc_native_access *access)
{
    struct sc_cost *cost = run->cost;
    if (!cost->block_count || cost->blocks[cost->block_count - 1].block != block) {
        if (cost->block_count == run->block_capacity) {
            size_t capacity = run->block_capacity ? 2 * run->block_capacity : 64;
            struct sc_block_traffic *blocks = realloc(cost->blocks, capacity * sizeof *blocks);
            if (!blocks) return false;
            cost->blocks = blocks;
            run->block_capacity = capacity;
        }
        cost->blocks[cost->block_count++] = (struct sc_block_traffic){.block = block};
    }
    struct sc_block_traffic *last = &cost->blocks[cost->block_count - 1];
    last->bytes_read += read_of(bytes, access);
    last->bytes_written += written_of(bytes, access);
    return true;
}

/* One contiguous piece, which may span several adjacent allocations. */
static bool touch_row(struct run *run, uint64_t begin, uint64_t end, const struct sc_native_access *access)
{
    if (run->wish->touches && access->reads) sc_touches_add(&run->touches, begin, end - begin, false);
    if (run->wish->touches && access->writes) sc_touches_add(&run->touches, begin, end - begin, true);
    if (run->wish->accesses && access->reads)
        sc_accesses_add(&run->accesses, begin, end - begin, SC_ACCESS_READ);
    if (run->wish->accesses && access->writes)
        sc_accesses_add(&run->accesses, begin, end - begin, SC_ACCESS_WRITE);
    while (begin < end) {
        if (begin < run->range.begin || begin >= run->range.end) {
            const struct sc_address_space *space = run->wish->space;
            if (!space->find(space->context, begin, &run->range)) {
                run->range = (struct sc_range){0};
                run->fault_address = begin;
                run->faulted = true;
                return false;
            }
        }
        uint64_t to = end < run->range.end ? end : run->range.end;
        run->cost->bytes_read += read_of(to - begin, access);
        run->cost->bytes_written += written_of(to - begin, access);
        while (run->range.kind != SC_RANGE_DEVICE && begin < to) {
            uint64_t block = begin >> SC_BLOCK_SHIFT;
            uint64_t block_end = (block + 1) << SC_BLOCK_SHIFT;
            if (block_end > to) block_end = to;
            if (!add_block(run, block, block_end - begin, access)) return false;
            begin = block_end;
        }
        begin = to;
    }
    return true;
}

static bool touch(struct sc_native_launch *launch, const struct sc_native_access *access)
{
    struct run *run = (struct run *)launch;
    if (!access->width || !access->rows) return true;
    uint64_t last, end;
    if (__builtin_mul_overflow(access->rows - 1, access->pitch, &last) ||
        __builtin_add_overflow(last, access->width, &last) ||
        __builtin_add_overflow(last, access->address, &end)) {
        run->fault_address = access->address;
        run->faulted = true;
        return false;
    }
    if (access->pitch == access->width) return touch_row(run, access->address, end, access);
    for (uint64_t row = 0; row < access->rows; row++) {
        uint64_t begin = access->address + row * access->pitch;
        if (!touch_row(run, begin, begin + access->width, access)) return false;
    }
    return true;
}

static bool find(struct sc_native_launch *launch, uint64_t address, struct sc_range *out)
{
    const struct sc_address_space *space = ((struct run *)launch)->wish->space;
    return space->find(space->context, address, out);
}

struct shared_work {
    void (*work)(void *context, uint32_t index);
    void *context;
    uint32_t count;
    uint32_t next; /* atomic */
};

static void take_pieces(void *context, uint32_t worker)
{
    (void)worker;
    struct shared_work *shared = context;
    unsigned callers = _mm_getcsr();
    _mm_setcsr(PLAIN_ARITHMETIC);
    for (;;) {
        uint32_t index = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
        if (index >= shared->count) break;
        shared->work(shared->context, index);
    }
    _mm_setcsr(callers);
}

static void parallel(struct sc_native_launch *launch, uint32_t count,
                     void (*work)(void *context, uint32_t index), void *context)
{
    struct shared_work shared = {work, context, count, 0};
    uint32_t workers = ((struct run *)launch)->wish->workers;
    if (workers > SC_POOL_MAX) workers = SC_POOL_MAX;
    sc_pool_run(count < workers ? count : workers, take_pieces, &shared);
}

static int by_block(const void *a, const void *b)
{
    const struct sc_block_traffic *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block;
}

static void merge_blocks(struct sc_cost *cost)
{
    if (!cost->block_count) return;
    qsort(cost->blocks, cost->block_count, sizeof *cost->blocks, by_block);
    size_t kept = 0;
    for (size_t i = 1; i < cost->block_count; i++) {
        struct sc_block_traffic *last = &cost->blocks[kept];
        if (last->block == cost->blocks[i].block) {
            last->bytes_read += cost->blocks[i].bytes_read;
            last->bytes_written += cost->blocks[i].bytes_written;
        } else {
            cost->blocks[++kept] = cost->blocks[i];
        }
    }
    cost->block_count = kept + 1;
}

/* pre: `describe` was called. */
static enum sc_engine_status run_with_peers(const struct sc_native_peers *peers, struct run *run,
                                            struct sc_fault *fault, void **token)
{
    *token = peers->begin(run->launch.parameters);
    if (!*token) return SC_ENGINE_NO_MEMORY;
    if (peers->run(&run->launch, *token)) return SC_ENGINE_OK;
    *fault = (struct sc_fault){.kind = SC_FAULT_TIMEOUT};
    return SC_ENGINE_FAULT;
}

enum sc_engine_status sc_native_run(const struct sc_native_kernel *kernel, const struct sc_launch *wish,
                                    struct sc_cost *cost, struct sc_fault *fault, void **token)
{
    memset(cost, 0, sizeof *cost);
    struct run run = {
        .launch = {.kernel = kernel,
                   .parameters = wish->parameters,
                   .grid = {wish->grid[0], wish->grid[1], wish->grid[2]},
                   .block = {wish->block[0], wish->block[1], wish->block[2]},
                   .find = find,
                   .touch = touch,
                   .parallel = parallel,
                   .message_bytes_most = sc_options()->sampled ? SC_SAMPLED_BYTES : 0},
        .wish = wish,
        .cost = cost,
    };
    bool ok = kernel->describe(&run.launch);
    merge_blocks(cost);
    cost->flops = run.launch.flops;
    cost->product = run.launch.product;
    ok = ok && sc_touches_ranges(&run.touches, &cost->touched, &cost->touched_count);
    sc_touches_free(&run.touches);
    ok = ok && sc_accesses_ranges(&run.accesses, &cost->accessed, &cost->accessed_count);
    sc_accesses_free(&run.accesses);
    if (run.faulted) {
        *fault = (struct sc_fault){.kind = SC_FAULT_ILLEGAL_ADDRESS, .address = run.fault_address};
        return SC_ENGINE_FAULT;
    }
    if (ok && kernel->peers) return run_with_peers(kernel->peers, &run, fault, token);
    if (ok && sc_options()->sampled && cost->bytes_read + cost->bytes_written > SC_SAMPLED_BYTES)
        return SC_ENGINE_OK;
    return ok && kernel->run(&run.launch) ? SC_ENGINE_OK : SC_ENGINE_NO_MEMORY;
}
