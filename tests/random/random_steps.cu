/* A training program made by chance, with one right result. Its steps are alike, but not the same: tensors
 * are as long as the step's batch, layers are left out or come several times, some steps do not update the
 * weights, and now and then there is an evaluation.
 *
 * usage: random_steps SEED [STEPS]
 *
 * Prints what random_program prints. Knows nothing of sluice. RANDOM_VERBOSE=1 says what it sees, in order.
 */
#include "memory_actions.cuh"

enum { MAX_WEIGHTS = 10, MAX_LAYERS = 10, MAX_TIMES = 3, LONGEST = 16, SITES = 64, STRIDE = 32, BLOCK = 256 };
/* Sites of allocations; those of layers are behind them, two for each. */
enum { WEIGHT_SITE, BATCH_SITE, GRADIENT_SITE, WORKSPACE_SITE, LAYER_SITES };

bool verbose;
pthread_rwlock_t capturing = PTHREAD_RWLOCK_INITIALIZER;

enum LengthKind { SAME, ANY, FEW, GROWING, TAIL, LATE, LENGTH_KINDS };

struct Layer {
    int weight, percent; /* how often the layer comes */
    int most_times;      /* that it comes at once */
    int stream;
    size_t unit_words; /* of an activation, for each unit of length */
    bool fixed;        /* its activation has one size */
    bool workspace;
};

struct Program {
    int weight_count, layer_count, evaluate_every, skip_percent;
    size_t weight_bytes[MAX_WEIGHTS];
    Layer layers[MAX_LAYERS];
    LengthKind lengths;
    bool async, one_weight_site, keeps_batch, waits;
};

struct Pass {
    Buffer *activation, *input;
    const Layer *layer;
    int index; /* of the layer */
};

/* to[i] of a[i] and b[i], which begin anew where they end. */
extern "C" __global__ void combine(uint32_t *to, uint32_t count, const uint32_t *a, uint32_t a_count,
                                   const uint32_t *b, uint32_t b_count)
{
    for (size_t i = index_of_thread(); i < count; i += thread_count())
        to[i] = mixed(a[(uint32_t)i % a_count], b[(uint32_t)i % b_count]);
}

/* Every STRIDE-th word of the weight. */
extern "C" __global__ void update(uint32_t *weight, uint32_t count, const uint32_t *gradient,
                                  uint32_t gradient_count)
{
    for (size_t i = index_of_thread(); i < count / STRIDE; i += thread_count())
        weight[STRIDE * i] = mixed(weight[STRIDE * i], gradient[(uint32_t)i % gradient_count]);
}

static volatile int last_site;

/* An allocation is told by where it is called: each of these is another place. */
template <int SITE>
__attribute__((noinline)) static void allocate_at(CUdeviceptr *address, size_t bytes, CUstream stream,
                                                  bool async)
{
    if (async)
        must(cuMemAllocAsync(address, bytes, stream));
    else
        must(cuMemAlloc(address, bytes));
    last_site = SITE;
}

using Allocate = void (*)(CUdeviceptr *, size_t, CUstream, bool);

template <int... SITE> static Allocate allocator(int site, std::integer_sequence<int, SITE...>)
{
    static const Allocate all[] = {allocate_at<SITE>...};
    return all[site];
}

static Buffer *take(World *w, const Program *p, int site, size_t bytes, int s)
{
    Buffer *buffer = w->buffers;
    while (buffer->address) buffer++;
    if (buffer >= w->buffers + MAX_BUFFERS) exit(5);
    allocator(site, std::make_integer_sequence<int, SITES>())(&buffer->address, bytes, w->streams[s],
                                                              p->async);
    buffer->bytes = bytes;
    buffer->kind = p->async ? ASYNC : PLAIN;
    buffer->writer = -1;
    memset(buffer->pending, 0, sizeof buffer->pending);
    w->live_bytes += bytes;
    if (w->live_bytes > w->peak_bytes) w->peak_bytes = w->live_bytes;
    if (p->async) after_use(w, buffer, s, true);
    return buffer;
}

static uint32_t words(const Buffer *buffer)
{
    return (uint32_t)(buffer->bytes / 4);
}

static unsigned blocks(uint32_t count)
{
    return 1 + count / BLOCK / 4;
}

static void combine_into(World *w, int s, Buffer *to, Buffer *a, Buffer *b)
{
    Buffer *all[] = {to, a, b};
    const bool writes[] = {true, false, false};
    use(w, all, writes, 3, s);
    combine<<<blocks(words(to)), BLOCK, 0, w->streams[s]>>>((uint32_t *)to->address, words(to),
                                                            (const uint32_t *)a->address, words(a),
                                                            (const uint32_t *)b->address, words(b));
    must(cudaGetLastError());
    used(w, all, writes, 3, s);
}

static void update_weight(World *w, int s, Buffer *weight, Buffer *gradient)
{
    Buffer *both[] = {weight, gradient};
    const bool writes[] = {true, false};
    use(w, both, writes, 2, s);
    update<<<blocks(words(weight) / STRIDE), BLOCK, 0, w->streams[s]>>>(
        (uint32_t *)weight->address, words(weight), (const uint32_t *)gradient->address, words(gradient));
    must(cudaGetLastError());
    used(w, both, writes, 2, s);
}

static Program draw(World *w)
{
    Program p = {};
    p.weight_count = 3 + (int)below(w, MAX_WEIGHTS - 2);
    p.layer_count = 3 + (int)below(w, MAX_LAYERS - 2);
    p.lengths = (LengthKind)below(w, LENGTH_KINDS);
    p.evaluate_every = chance(w, 30) ? 2 + (int)below(w, 6) : 0;
    p.skip_percent = chance(w, 30) ? 5 + (int)below(w, 40) : 0;
    p.async = chance(w, 40);
    p.one_weight_site = chance(w, 50);
    p.keeps_batch = chance(w, 60);
    p.waits = chance(w, 70);
    const bool streams = chance(w, 30), comes_and_goes = chance(w, 50);
    for (int i = 0; i < p.weight_count; i++) p.weight_bytes[i] = (size_t)(1 + below(w, 24)) << 18;
    for (int i = 0; i < p.layer_count; i++) {
        Layer *layer = &p.layers[i];
        layer->weight = (int)below(w, (size_t)p.weight_count);
        layer->percent = comes_and_goes && chance(w, 40) ? 30 + (int)below(w, 70) : 100;
        layer->most_times = comes_and_goes && chance(w, 20) ? MAX_TIMES : 1;
        layer->stream = streams ? (int)below(w, STREAMS) : 0;
        layer->unit_words = (size_t)256 << below(w, 7);
        layer->fixed = chance(w, 20);
        layer->workspace = chance(w, 20);
    }
    return p;
}

static uint32_t length_of(World *w, const Program *p, int step)
{
    switch (p->lengths) {
    case ANY:
        return 1 + (uint32_t)below(w, LONGEST);
    case FEW:
        return 4 << below(w, 3);
    case GROWING:
        return 1 + (uint32_t)step % LONGEST;
    case TAIL:
        return step % 5 == 4 ? 3 : LONGEST;
    case LATE:
        return step < 8 ? LONGEST / 2 : 1 + (uint32_t)below(w, LONGEST);
    default:
        return LONGEST;
    }
}

static Buffer *next_batch(World *w, const Program *p, uint32_t length)
{
    Buffer *batch = take(w, p, BATCH_SITE, (size_t)length << 12, 0);
    uint32_t *data = (uint32_t *)host_memory(w, batch->bytes, chance(w, 50)), salt = (uint32_t)next_random(w);
    for (size_t i = 0; i < batch->bytes / 4; i++) data[i] = salt + (uint32_t)i * 2654435761u;
    before_use(w, batch, 0, true);
    must(cuMemcpyHtoDAsync(batch->address, data, batch->bytes, w->streams[0]));
    after_use(w, batch, 0, true);
    return batch;
}

static int forward(World *w, const Program *p, Buffer **weights, Buffer *batch, uint32_t length, Pass *passes)
{
    int count = 0;
    Buffer *input = batch;
    for (int i = 0; i < p->layer_count; i++) {
        const Layer *layer = &p->layers[i];
        if (!chance(w, layer->percent)) continue;
        for (int times = 1 + (int)below(w, (size_t)layer->most_times); times; times--) {
            size_t bytes = 4 * layer->unit_words * (layer->fixed ? LONGEST / 2 : length);
            Buffer *output = take(w, p, LAYER_SITES + 2 * i, bytes, layer->stream);
            combine_into(w, layer->stream, output, input, weights[layer->weight]);
            passes[count++] = Pass{output, input, layer, i};
            input = output;
        }
    }
    return count;
}

static void backward(World *w, const Program *p, Buffer **weights, Buffer *batch, Pass *passes, int count,
                     bool updates)
{
    Buffer *gradient = take(w, p, GRADIENT_SITE, 4096, 0);
    combine_into(w, 0, gradient, batch, count ? passes[count - 1].activation : batch);
    while (count--) {
        const Pass *pass = &passes[count];
        const int s = pass->layer->stream;
        Buffer *weight = weights[pass->layer->weight],
               *next = take(w, p, LAYER_SITES + 2 * pass->index + 1, pass->input->bytes, s);
        combine_into(w, s, next, gradient, weight);
        if (pass->layer->workspace) {
            Buffer *workspace = take(w, p, WORKSPACE_SITE, next->bytes / 2 & ~(size_t)3, s);
            combine_into(w, s, workspace, next, pass->activation);
            combine_into(w, s, next, workspace, weight);
            release(w, workspace);
        }
        if (updates) update_weight(w, s, weight, pass->activation);
        release(w, pass->activation);
        release(w, gradient);
        gradient = next;
    }
    release(w, gradient);
}

static void step(World *w, const Program *p, Buffer **weights, Buffer **batch, int number)
{
    const bool evaluation = p->evaluate_every && number % p->evaluate_every == p->evaluate_every - 1;
    const uint32_t length = length_of(w, p, number);
    Pass passes[MAX_LAYERS * MAX_TIMES];
    Buffer *next = next_batch(w, p, length);
    if (*batch) release(w, *batch);
    *batch = next;
    int count = forward(w, p, weights, *batch, length, passes);
    if (count && (p->waits || evaluation)) copy_out(w, passes[count - 1].activation, Piece{0, 1});
    if (evaluation)
        while (count--) release(w, passes[count].activation);
    else
        backward(w, p, weights, *batch, passes, count, !chance(w, p->skip_percent));
    if (!p->keeps_batch) {
        release(w, *batch);
        *batch = NULL;
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: random_steps SEED [STEPS]\n");
        return 2;
    }
    verbose = getenv("RANDOM_VERBOSE") != NULL;
    const int steps = argc > 2 ? atoi(argv[2]) : 24;
    static World world;
    World *w = &world;
    must(cudaFree(0));
    w->random = strtoull(argv[1], NULL, 10) * 0x2545f4914f6cdd1du;
    w->streams[1] = CU_STREAM_PER_THREAD;
    for (int s = 2; s < STREAMS; s++)
        must(cuStreamCreate(&w->streams[s], s % 2 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    const Program p = draw(w);
    Buffer *weights[MAX_WEIGHTS], *batch = NULL;
    for (int i = 0; i < p.weight_count; i++) {
        weights[i] = take(w, &p, p.one_weight_site ? WEIGHT_SITE : SITES - 1 - i, p.weight_bytes[i], 0);
        set_buffer(w, weights[i], 0);
    }
    for (int i = 0; i < steps; i++) {
        step(w, &p, weights, &batch, i);
        if (w->pinned_count + w->pageable_count > MAX_HOST / 2) release_host_memory(w);
    }
    end_world(w);
    size_t live_bytes = 0;
    for (int i = 0; i < MAX_BUFFERS; i++)
        if (w->buffers[i].address) live_bytes += w->buffers[i].bytes;
    printf("log %016llx\npeak_bytes %zu\npassed_bytes 0\nlive_bytes %zu\nlive_managed_bytes 0\n",
           (unsigned long long)w->log, w->peak_bytes, live_bytes);
    return 0;
}
