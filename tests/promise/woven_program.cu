/* A CUDA program made by chance that checks itself.
 *
 * usage: woven_program SEED [held|bytes]
 *
 * Some threads, each with some streams, do the same in iteration after iteration, but for small deviations:
 * they allocate in every way, write, read, copy, launch graphs, capture, and free, in other streams than the
 * last use and in other threads than the allocation; the host mostly runs far ahead. Each kernel compares
 * what it reads with what was written last, so the program needs no other run to be compared with. Prints
 * `total bad N` (words) and exits with 0 if N is 0.
 * held: where there is one thread, streams are also held up by functions of the host that wait for what
 * another stream does; a device that does all work at once cannot do that. bytes: prints about how much
 * memory it needs, no more. */
#include <string.h>
#include <thread>

#include "woven_graphs.cuh"

enum { PHASES = 3, KEPT = 4 };

/* Sizes from 4 KiB to some chunks, of which a program takes a few. */
static const size_t all_sizes[] = {4 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20,
                                   2 << 20, 2 << 20,  3 << 20,   4 << 20,   6 << 20, 9 << 20};

static void choose(Program &p, uint64_t seed)
{
    static const unsigned rounds[] = {0, 100, 300, 300, 1000};
    static const size_t deviations[] = {0, 0, 1000, 200, 40};
    static const int patience[] = {0, 1, 4, 4, 16};
    Chance chance = {seed};
    p.threads = 1 + (int)chance.below(2 * MOST_THREADS) % MOST_THREADS * (int)chance.below(2);
    p.streams = 1 + (int)chance.below(STREAMS);
    p.iterations = 60 + (int)chance.below(30);
    p.steps = (40 + (int)chance.below(80)) / p.threads;
    p.variables = (6 + (int)chance.below(24)) / p.threads;
    p.rounds = rounds[chance.below(5)];
    p.deviations = deviations[chance.below(5)];
    p.patience = patience[chance.below(5)];
    for (size_t few = 1 + chance.below(5); few > 0; few--)
        p.sizes.push_back(all_sizes[chance.below(sizeof all_sizes / sizeof *all_sizes)]);
}

static size_t size_of_variable(const Program &p, size_t v)
{
    return p.sizes[v % p.sizes.size()];
}

/* With `v`, which is alive. */
static void act_on(World &w, size_t v, size_t dice, int s, int other)
{
    Buffer &buffer = w.variables[v];
    if (w.capturing >= 0 && dice < 8)
        capture_check(w, buffer);
    else if (dice < 30)
        read(w, buffer, s);
    else if (dice < 45)
        read_noted(w, v, s);
    else if (dice < 55)
        write(w, buffer, s);
    else if (dice < 62)
        copy_on(w, v, s, dice < 59);
    else if (dice < 65 && w.program->threads > 1)
        send(w, buffer);
    else if (dice < 70)
        release(w, buffer, other, true);
    else {
        read(w, buffer, s);
        release(w, buffer, other, false);
    }
}

static void step(World &w, Chance &chance)
{
    size_t what = chance.below(100), v = chance.below(w.variables.size()), dice = chance.below(100),
           number = chance.below(STREAMS), other = chance.below(STREAMS), seldom = chance.below(1000);
    int s = w.stream_at(number);
    if (seldom == 0)
        replace_stream(w, s);
    else if (seldom == 1)
        replace_pool(w, false);
    else if (seldom < 4)
        must(cudaMemPoolTrimTo(w.pool, 0));
    else if (seldom < 12 && w.program->held && s != w.stream_at(number + 1) && is_free_to_wait(w))
        hold(w, s, w.stream_at(number + 1));
    if (what < 2)
        launch_graph(w, s);
    else if (what < 8)
        read(w, w.kept[dice % KEPT], s);
    else if (what < 10)
        begin_capture(w, s, dice < 50, (int)dice / 8);
    else if (w.variables[v].address)
        act_on(w, v, dice, s, w.stream_at(other));
    else if (dice < 10 && w.program->threads > 1)
        receive(w, w.variables[v]);
    else
        allocate(w, w.variables[v], size_of_variable(*w.program, v),
                 dice < 20   ? PLAIN
                 : dice < 35 ? OF_POOL
                             : ORDERED,
                 s);
    if (w.capturing >= 0 && w.captured_steps-- <= 0) end_capture(w);
}

static void iterate(World &w, int iteration)
{
    const Program &p = *w.program;
    w.usual = {w.seed};
    for (int i = 0; i < p.steps; i++) {
        if (w.unusual.one_in(p.deviations)) {
            step(w, w.unusual);
            if (w.unusual.one_in(2)) continue;
        }
        Chance chance = {w.usual.next()};
        step(w, chance);
    }
    if (w.capturing >= 0) end_capture(w);
    if (p.patience && iteration % p.patience == p.patience - 1)
        for (int s = 0; s < p.streams; s++) must(cudaStreamSynchronize(w.stream(w.stream_at((size_t)s))));
}

static void start_world(World &w, Program &p, int thread, uint64_t seed)
{
    w.program = &p;
    w.thread = thread;
    w.seed = seed * MOST_THREADS + (uint64_t)thread;
    w.unusual = {~w.seed};
    w.variables.resize((size_t)p.variables);
    w.kept.resize(KEPT);
    for (int s = 0; s < p.streams; s++) p.streams_of_all[thread * STREAMS + s] = new_stream();
    replace_pool(w, true);
    for (Buffer &buffer : w.kept) allocate(w, buffer, 2 << 20, ORDERED, w.stream_at(0));
    must(cudaStreamSynchronize(w.stream(w.stream_at(0))));
    make_graph(w);
}

/* Each phase in a thread of the host of its own. */
static void run_phase(World *w, int first, int end)
{
    must(cudaSetDevice(0));
    for (int i = first; i < end; i++) iterate(*w, i);
}

static void run(Program &p, uint64_t seed)
{
    static World worlds[MOST_THREADS];
    for (int t = 0; t < p.threads; t++) start_world(worlds[t], p, t, seed);
    for (int phase = 0; phase < PHASES; phase++) {
        std::vector<std::thread> threads;
        int first = p.iterations * phase / PHASES, end = p.iterations * (phase + 1) / PHASES;
        for (int t = 0; t < p.threads; t++) threads.emplace_back(run_phase, &worlds[t], first, end);
        for (std::thread &thread : threads) thread.join();
    }
    for (int t = 0; t < p.threads; t++)
        for (Buffer &buffer : worlds[t].variables)
            if (buffer.address) read(worlds[t], buffer, worlds[t].stream_at(0));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: woven_program SEED [held|bytes]\n");
        return 2;
    }
    static Program p;
    uint64_t seed = strtoull(argv[1], NULL, 10);
    choose(p, seed);
    p.held = argc > 2 && !strcmp(argv[2], "held") && p.threads == 1;
    if (argc > 2 && !strcmp(argv[2], "bytes")) {
        size_t bytes = KEPT * (size_t)(2 << 20);
        for (int v = 0; v < p.variables; v++) bytes += size_of_variable(p, (size_t)v);
        printf("%zu\n", bytes * (size_t)p.threads);
        return 0;
    }
    watch();
    p.wrong = new_counter();
    must(cudaMalloc(&p.table, TABLE_ENTRIES * sizeof *p.table));
    must(cudaDeviceSynchronize());
    run(p, seed);
    return report(p.wrong);
}
