/* A CUDA program made by chance, with one right result.
 *
 * usage: random_program SEED [STEPS [contexts]]
 *
 * Some threads allocate, free, copy, set, launch, wait, ask and misuse; now and then they stop and hand their
 * memory to each other. At the end everything alive is read back. Prints `log HEX` (a hash of all that it
 * read and of every error code that it provoked), `peak_bytes N`, `passed_bytes N` (bytes that
 * stay the driver's to move), `live_bytes N` (of the rest, what it never freed) and `live_managed_bytes N`
 * (of managed memory, the same). Knows nothing of sluice. With `contexts`, contexts come and go, and memory
 * is freed without one. RANDOM_VERBOSE=1 says what it sees, in order. */
#include <pthread.h>

#include "context_actions.cuh"
#include "graph_actions.cuh"

enum { MAX_THREADS = 3, PHASES = 3 };

bool verbose;
pthread_rwlock_t capturing = PTHREAD_RWLOCK_INITIALIZER;

/* Precondition: `context` is current. */
static void enter_context(World *w, CUcontext context)
{
    w->context = context;
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    must(cuMemPoolCreate(&w->pool, &properties));
    w->streams[0] = NULL;
    w->streams[1] = CU_STREAM_PER_THREAD;
    for (int s = 2; s < STREAMS; s++)
        must(cuStreamCreate(&w->streams[s], s % 2 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
}

static void start_world(World *w, uint64_t seed, int thread, bool contexts)
{
    memset(w, 0, sizeof *w);
    w->random = seed * 0x2545f4914f6cdd1du + (uint64_t)thread;
    w->thread = thread;
    w->plain = seed % 5 < 2;
    w->contexts = contexts;
    CUcontext context;
    must(cuCtxGetCurrent(&context));
    enter_context(w, context);
}

static void act(World *w)
{
    size_t dice = below(w, 100);
    if (w->contexts && chance(w, 5))
        try_without_a_context(w);
    else if (dice < 18)
        allocate(w);
    else if (dice < 26)
        release(w, any_buffer(w));
    else if (dice < 34)
        copy_in(w);
    else if (dice < 40) {
        Buffer *buffer = any_buffer(w);
        if (buffer) copy_out(w, buffer, random_piece(w, buffer));
    } else if (dice < 48)
        copy_across(w);
    else if (dice < 81)
        run_kernel(w);
    else if (dice < 86)
        run_graph(w);
    else if (dice < 88)
        replace_stream(w);
    else if (dice < 91)
        wait_for_something(w);
    else if (dice < 93)
        touch_managed(w);
    else
        ask(w);
}

struct Task {
    World *world;
    int steps;
};

static void *phase_main(void *argument)
{
    Task *task = (Task *)argument;
    World *w = task->world;
    must(cuCtxSetCurrent(w->context));
    for (int i = 0; i < task->steps; i++) act(w);
    release_host_memory(w);
    return NULL;
}

/* All that is alive goes to the next thread. Nothing is under way. */
static void rotate_buffers(World *worlds, int count)
{
    static Buffer first[MAX_BUFFERS];
    if (count < 2) return;
    memcpy(first, worlds[0].buffers, sizeof first);
    size_t live_bytes = worlds[0].live_bytes;
    for (int t = 0; t + 1 < count; t++) {
        memcpy(worlds[t].buffers, worlds[t + 1].buffers, sizeof first);
        worlds[t].live_bytes = worlds[t + 1].live_bytes;
    }
    memcpy(worlds[count - 1].buffers, first, sizeof first);
    worlds[count - 1].live_bytes = live_bytes;
    for (int t = 0; t < count; t++)
        for (int i = 0; i < MAX_BUFFERS; i++) {
            memset(worlds[t].buffers[i].pending, 0, sizeof worlds[t].buffers[i].pending);
            worlds[t].buffers[i].writer = -1;
        }
}

static void run_phase(World *worlds, int count, int steps)
{
    pthread_t threads[MAX_THREADS];
    Task tasks[MAX_THREADS];
    for (int t = 0; t < count; t++) {
        tasks[t] = Task{&worlds[t], steps};
        if (t) must(pthread_create(&threads[t], NULL, phase_main, &tasks[t]));
    }
    phase_main(&tasks[0]);
    for (int t = 1; t < count; t++) must(pthread_join(threads[t], NULL));
    wait_for_context(false);
}

/* Nothing is under way. */
static void move_on(World *worlds, int count, CUcontext *own)
{
    for (int t = 0; t < count; t++) leave_context(&worlds[t]);
    CUcontext next = change_context(&worlds[0], own);
    for (int t = 0; t < count; t++) enter_context(&worlds[t], next);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: random_program SEED [STEPS [contexts]]\n");
        return 2;
    }
    verbose = getenv("RANDOM_VERBOSE") != NULL;
    uint64_t seed = strtoull(argv[1], NULL, 10), log = 0;
    int steps = argc > 2 ? atoi(argv[2]) : 120;
    static World worlds[MAX_THREADS];
    must(cudaFree(0));
    int count = 1 + (int)(seed % MAX_THREADS);
    bool contexts = argc > 3;
    CUcontext own = NULL;
    for (int t = 0; t < count; t++) start_world(&worlds[t], seed, t, contexts);
    for (int p = 0; p < PHASES; p++) {
        if (contexts && p) move_on(worlds, count, &own);
        run_phase(worlds, count, steps / count);
        rotate_buffers(worlds, count);
    }
    size_t peak_bytes = 0, passed_bytes = 0, live_bytes = 0, live_managed_bytes = 0;
    for (int t = 0; t < count; t++) {
        end_world(&worlds[t]);
        log = log * 31 + worlds[t].log;
        peak_bytes += worlds[t].peak_bytes;
        passed_bytes += worlds[t].passed_bytes;
    }
    for (int t = 0; t < count; t++)
        for (int i = 0; i < MAX_BUFFERS; i++)
            if (worlds[t].buffers[i].address)
                (worlds[t].buffers[i].kind == MANAGED ? live_managed_bytes : live_bytes) +=
                    worlds[t].buffers[i].bytes;
    printf("log %016llx\npeak_bytes %zu\npassed_bytes %zu\nlive_bytes %zu\nlive_managed_bytes %zu\n",
           (unsigned long long)log, peak_bytes, passed_bytes, live_bytes, live_managed_bytes);
    return 0;
}
