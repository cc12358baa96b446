/* What a thread of a woven program does with its buffers. */
#ifndef PROMISE_WOVEN_ACTIONS_CUH
#define PROMISE_WOVEN_ACTIONS_CUH

#include "woven_world.cuh"

enum { CHECKED_AT_ONCE = 4 };

struct Checked {
    unsigned count, entries[CHECKED_AT_ONCE], patterns[CHECKED_AT_ONCE];
    size_t bytes[CHECKED_AT_ONCE];
};

static __global__ void note(unsigned **table, unsigned entry, unsigned *address)
{
    table[entry] = address;
}

/* Knows the buffers from the table only. */
static __global__ void check_noted(unsigned *const *table, Checked checked, unsigned rounds, unsigned *wrong)
{
    work(rounds);
    for (unsigned i = 0; i < checked.count; i++) {
        size_t at = place(checked.bytes[i]);
        if (table[checked.entries[i]][at] != checked.patterns[i] + (unsigned)at) atomicAdd(wrong, 1u);
    }
}

static __global__ void copy(unsigned *to, const unsigned *from, size_t bytes, unsigned rounds)
{
    work(rounds);
    to[place(bytes)] = from[place(bytes)];
}

static void write(const World &w, Buffer &buffer, int s)
{
    before_use(w, buffer, s, true);
    buffer.pattern = new_pattern(w);
    fill_in(w.stream(s), buffer.address, buffer.bytes, buffer.pattern, w.program->rounds);
    after_use(w, buffer, s, true);
}

static void read(const World &w, Buffer &buffer, int s)
{
    before_use(w, buffer, s, false);
    check_in(w.stream(s), buffer.address, buffer.bytes, buffer.pattern, w.program->rounds, w.program->wrong);
    after_use(w, buffer, s, false);
}

/* Some at once, through the table; the first is `v`. */
static void read_noted(World &w, size_t v, int s)
{
    Checked checked = {};
    size_t count = w.variables.size(), read[CHECKED_AT_ONCE];
    for (size_t i = v; i < v + count && checked.count < CHECKED_AT_ONCE; i += 1 + count / CHECKED_AT_ONCE) {
        const Buffer &buffer = w.variables[i % count];
        if (!buffer.address) continue;
        before_use(w, buffer, s, false);
        read[checked.count] = i % count;
        checked.entries[checked.count] = buffer.entry;
        checked.patterns[checked.count] = buffer.pattern;
        checked.bytes[checked.count++] = buffer.bytes;
    }
    check_noted<<<BLOCKS, THREADS, 0, w.stream(s)>>>(w.program->table, checked, w.program->rounds,
                                                     w.program->wrong);
    must(cudaGetLastError());
    for (unsigned i = 0; i < checked.count; i++) after_use(w, w.variables[read[i]], s, false);
}

/* Into the next variable of the same size, if there is one. */
static void copy_on(World &w, size_t v, int s, bool by_kernel)
{
    Buffer &from = w.variables[v];
    for (size_t i = 1; i < w.variables.size(); i++) {
        Buffer &to = w.variables[(v + i) % w.variables.size()];
        if (!to.address || to.bytes != from.bytes) continue;
        before_use(w, from, s, false);
        before_use(w, to, s, true);
        if (by_kernel)
            copy<<<BLOCKS, THREADS, 0, w.stream(s)>>>(to.address, from.address, from.bytes,
                                                      w.program->rounds);
        else
            must(
                cudaMemcpyAsync(to.address, from.address, from.bytes, cudaMemcpyDeviceToDevice, w.stream(s)));
        to.pattern = from.pattern;
        after_use(w, from, s, false);
        after_use(w, to, s, true);
        return;
    }
}

/* cudaMalloc, cudaFree and waiting are forbidden to a thread that captures, unless it said that it knows what it does.
 */
static bool is_free_to_wait(const World &w)
{
    return w.capturing < 0 || w.relaxed;
}

static void allocate(const World &w, Buffer &buffer, size_t bytes, Kind kind, int s)
{
    buffer.bytes = bytes;
    buffer.kind = kind == PLAIN && !is_free_to_wait(w) ? ORDERED : kind;
    buffer.entry = w.program->entries++ % TABLE_ENTRIES;
    if (buffer.kind == PLAIN)
        must(cudaMalloc(&buffer.address, bytes));
    else if (buffer.kind == ORDERED)
        must(cudaMallocAsync(&buffer.address, bytes, w.stream(s)));
    else
        must(cudaMallocFromPoolAsync(&buffer.address, bytes, w.pool, w.stream(s)));
    for (bool &pending : buffer.pending) pending = false;
    note<<<1, 1, 0, w.stream(s)>>>(w.program->table, buffer.entry, buffer.address);
    write(w, buffer, s);
}

/* `by_waiting`: cudaFree, which waits for whoever uses memory of cudaMalloc's, and for nobody else. */
static void release(const World &w, Buffer &buffer, int s, bool by_waiting)
{
    if (by_waiting && is_free_to_wait(w)) {
        for (int other = 0; other < ALL_STREAMS && buffer.kind != PLAIN; other++)
            if (buffer.pending[other]) must(cudaEventSynchronize(buffer.used[other]));
        must(cudaFree(buffer.address));
    } else {
        before_use(w, buffer, s, true);
        must(cudaFreeAsync(buffer.address, w.stream(s)));
    }
    buffer.address = NULL;
}

/* To another thread, which gets it when it comes to its mail; what is under way with it goes on. */
static void send(World &w, Buffer &buffer)
{
    std::lock_guard<std::mutex> guard(w.program->lock);
    w.program->mail.push_back(buffer);
    buffer = Buffer();
}

static void receive(World &w, Buffer &into)
{
    std::lock_guard<std::mutex> guard(w.program->lock);
    if (w.program->mail.empty()) return;
    into = w.program->mail.front();
    w.program->mail.erase(w.program->mail.begin());
}

static void wait_for_release(void *released)
{
    std::atomic<bool> *flag = (std::atomic<bool> *)released;
    while (!*flag) usleep(100);
    delete flag;
}

/* Stream `held` does not go on until the host has seen what stream `s` does with memory of its own. */
static void hold(World &w, int held, int s)
{
    std::atomic<bool> *released = new std::atomic<bool>(false);
    Buffer own;
    must(cudaLaunchHostFunc(w.stream(held), wait_for_release, released));
    allocate(w, own, 2 << 20, ORDERED, s);
    read(w, own, s);
    release(w, own, s, false);
    must(cudaStreamSynchronize(w.stream(s)));
    *released = true;
}

/* What the old stream was given still comes first. */
static void replace_stream(World &w, int s)
{
    cudaStream_t old = w.stream(s);
    cudaEvent_t event = new_event();
    w.program->streams_of_all[s] = new_stream();
    order(old, w.stream(s), event);
    must(cudaEventDestroy(event));
    must(cudaStreamDestroy(old));
}

static void replace_pool(World &w, bool first)
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    if (!first) must(cudaMemPoolDestroy(w.pool)); /* what is alive in it lives on */
    must(cudaMemPoolCreate(&w.pool, &properties));
}

#endif
