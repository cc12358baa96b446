/* The GPT trainer's model: GPT-2's architecture with a head of its own, its forward and its backward pass.
 *
 * x = tokens + positions; for each layer x += project(attention(norm(x))), x +=
 * shrink(gelu(expand(norm(x)))); then norm, head, cross entropy. A linear layer keeps its weight as
 * [in][out]. Activations are taken as the forward pass makes them and dropped by the backward pass as soon as
 * it has read them for the last time; gradients add up over micro-batches until they are zeroed.
 *
 * Both passes go through the model's parts, so that a program can have a part's weights and gradients at
 * their place just for it: part 0 is the embedding, then comes each layer, the last one is norm, head and
 * loss. */
#ifndef GPT_MODEL_CUH
#define GPT_MODEL_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "gpt_gemm.cuh"
#include "gpt_kernels.cuh"
#include "gpt_memory.cuh"

/* clang-format takes these products for pointers. */
/* clang-format off */
/* Parameters: name, floats, initial value. `w` is the width, `t` the context. */
#define PARAMETERS_BEFORE(X)                                                                                 \
    X(TOKENS, "tokens", VOCABULARY * w, INIT_RANDOM)                                                         \
    X(POSITIONS, "positions", t * w, INIT_RANDOM)
#define PARAMETERS_OF_LAYER(X)                                                                               \
    X(NORM1_GAIN, "norm1.gain", w, INIT_ONE)                                                                 \
    X(NORM1_BIAS, "norm1.bias", w, INIT_ZERO)                                                                \
    X(QKV, "qkv.weight", w * 3 * w, INIT_RANDOM)                                                             \
    X(QKV_BIAS, "qkv.bias", 3 * w, INIT_ZERO)                                                                \
    X(PROJECT, "project.weight", w * w, INIT_RESIDUAL)                                                       \
    X(PROJECT_BIAS, "project.bias", w, INIT_ZERO)                                                            \
    X(NORM2_GAIN, "norm2.gain", w, INIT_ONE)                                                                 \
    X(NORM2_BIAS, "norm2.bias", w, INIT_ZERO)                                                                \
    X(EXPAND, "expand.weight", w * 4 * w, INIT_RANDOM)                                                       \
    X(EXPAND_BIAS, "expand.bias", 4 * w, INIT_ZERO)                                                          \
    X(SHRINK, "shrink.weight", 4 * w * w, INIT_RESIDUAL)                                                     \
    X(SHRINK_BIAS, "shrink.bias", w, INIT_ZERO)
#define PARAMETERS_AFTER(X)                                                                                  \
    X(NORM_GAIN, "norm.gain", w, INIT_ONE)                                                                   \
    X(NORM_BIAS, "norm.bias", w, INIT_ZERO)                                                                  \
    X(HEAD, "head.weight", w * VOCABULARY, INIT_RANDOM)

/* Activations and their gradients: name, floats. `n` is batch * context, `s` batch * heads * context^2. */
#define ACTIVATIONS_BEFORE(X) X(EMBEDDED, "embedded", n * w)
#define ACTIVATIONS_OF_LAYER(X)                                                                              \
    X(A_NORM1, "norm1", n * w)                                                                               \
    X(A_STATS1, "norm1.stats", 2 * n)                                                                        \
    X(A_QKV, "qkv", n * 3 * w)                                                                               \
    X(A_SCORES, "scores", s)                                                                                 \
    X(A_MIXED, "mixed", n * w)                                                                               \
    X(A_MIDDLE, "middle", n * w)                                                                             \
    X(A_NORM2, "norm2", n * w)                                                                               \
    X(A_STATS2, "norm2.stats", 2 * n)                                                                        \
    X(A_EXPANDED, "expanded", n * 4 * w)                                                                     \
    X(A_GELU, "gelu", n * 4 * w)                                                                             \
    X(A_OUT, "out", n * w)
#define ACTIVATIONS_AFTER(X)                                                                                 \
    X(A_NORM, "norm", n * w)                                                                                 \
    X(A_STATS, "norm.stats", 2 * n)                                                                          \
    X(A_LOGITS, "logits", n * VOCABULARY)                                                                    \
    X(A_LOSSES, "losses", n)                                                                                 \
    X(D_STREAM, "d_stream", n * w)                                                                           \
    X(D_WIDTH, "d_width", n * w)                                                                             \
    X(D_HIDDEN, "d_hidden", n * 4 * w)                                                                       \
    X(D_QKV, "d_qkv", n * 3 * w)                                                                             \
    X(D_SCORES, "d_scores", s)
/* clang-format on */

#define NAME_ONLY(id, ...) id,
enum BeforeParameter { PARAMETERS_BEFORE(NAME_ONLY) PARAMETERS_BEFORE_COUNT };
enum LayerParameter { PARAMETERS_OF_LAYER(NAME_ONLY) PARAMETERS_OF_LAYER_COUNT };
enum AfterParameter { PARAMETERS_AFTER(NAME_ONLY) PARAMETERS_AFTER_COUNT };
enum BeforeActivation { ACTIVATIONS_BEFORE(NAME_ONLY) ACTIVATIONS_BEFORE_COUNT };
enum LayerActivation { ACTIVATIONS_OF_LAYER(NAME_ONLY) ACTIVATIONS_OF_LAYER_COUNT };
enum AfterActivation { ACTIVATIONS_AFTER(NAME_ONLY) ACTIVATIONS_AFTER_COUNT };
#undef NAME_ONLY
enum Init { INIT_ZERO, INIT_ONE, INIT_RANDOM, INIT_RESIDUAL };

struct Shape {
    int layers, width, heads, context, batch;
};

struct Model {
    struct Shape shape;
    struct Memory memory;
    struct TensorSet weights, gradients, activations;
    enum Init *init; /* one for each weight */
    /* One micro-batch: tokens, targets, and the rows sorted by token, as embedding_backward_tokens reads
     * them. */
    int *batch_data, *host_batch;
    size_t batch_bytes;
    float *loss; /* one float on the device, to which each forward pass adds its part */
};

#define LAUNCH(kernel, blocks, ...)                                                                          \
    do {                                                                                                     \
        kernel<<<(blocks), BLOCK>>>(__VA_ARGS__);                                                            \
        check(cudaGetLastError(), #kernel);                                                                  \
    } while (0)

static unsigned blocks_for(size_t count, size_t per_block)
{
    return (unsigned)((count + per_block - 1) / per_block);
}

static int rows_of(const struct Model *m)
{
    return m->shape.batch * m->shape.context;
}

/* --- Making a model --- */

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void add_parameters(struct Model *m)
{
    const size_t w = m->shape.width, t = m->shape.context;
    const int count =
        PARAMETERS_BEFORE_COUNT + m->shape.layers * PARAMETERS_OF_LAYER_COUNT + PARAMETERS_AFTER_COUNT;
    m->init = (enum Init *)host_allocate(count * sizeof *m->init);
    set_start(&m->weights, "weights", &m->memory, count);
    int layer = -1;
#define ADD(id, name, floats, start)                                                                         \
    m->init[m->weights.count] = start;                                                                       \
    set_add(&m->weights, layer, name, floats);
    PARAMETERS_BEFORE(ADD)
    for (layer = 0; layer < m->shape.layers; layer++) {
        PARAMETERS_OF_LAYER(ADD)
    }
    layer = -1;
    PARAMETERS_AFTER(ADD)
#undef ADD
    set_start_like(&m->gradients, "gradients", &m->weights);
}

static void add_activations(struct Model *m)
{
    const size_t w = m->shape.width, n = rows_of(m), s = n * m->shape.heads * m->shape.context;
    set_start(&m->activations, "activations", &m->memory,
              ACTIVATIONS_BEFORE_COUNT + m->shape.layers * ACTIVATIONS_OF_LAYER_COUNT +
                  ACTIVATIONS_AFTER_COUNT);
    int layer = -1;
#define ADD(id, name, floats) set_add(&m->activations, layer, name, floats);
    ACTIVATIONS_BEFORE(ADD)
    for (layer = 0; layer < m->shape.layers; layer++) {
        ACTIVATIONS_OF_LAYER(ADD)
    }
    layer = -1;
    ACTIVATIONS_AFTER(ADD)
#undef ADD
}

/* Weights are uniform with deviation 0.02, those that write to the residual stream less by sqrt(2 * layers),
 * as in GPT-2; uniform, because it needs no library function whose last bit differs between machines. A
 * tensor that is not taken is left out; the others get the same numbers as with it. */
static void initialise_weights(struct Model *m, uint64_t seed)
{
    size_t largest = 0;
    for (int i = 0; i < m->weights.count; i++)
        if (m->weights.tensors[i].count > largest) largest = m->weights.tensors[i].count;
    float *values = (float *)host_allocate(largest * sizeof(float));
    for (int i = 0; i < m->weights.count; i++) {
        const struct Tensor *tensor = &m->weights.tensors[i];
        const float deviation = m->init[i] == INIT_RESIDUAL ? 0.02f / sqrtf(2.0f * m->shape.layers) : 0.02f;
        const float range = 2.0f * sqrtf(3.0f) * deviation; /* from end to end */
        for (size_t j = 0; j < tensor->count; j++) {
            if (m->init[i] == INIT_ZERO || m->init[i] == INIT_ONE)
                values[j] = m->init[i] == INIT_ONE ? 1.0f : 0.0f;
            else
                values[j] = ((float)(random_next(&seed) >> 40) / (1 << 24) - 0.5f) * range;
        }
        if (!tensor->data) continue;
        check(cudaMemcpy(tensor->data, values, tensor->count * sizeof(float), cudaMemcpyHostToDevice),
              "copying weights");
    }
    free(values);
}

/* The tables alone, no device memory. */
static void model_describe(struct Model *m, struct Shape shape, enum Allocator allocator)
{
    memset(m, 0, sizeof *m);
    m->shape = shape;
    m->memory.allocator = allocator;
    add_parameters(m);
    add_activations(m);
}

/* Another number of sequences from now on, at most as many as the model was started with. Precondition: no
 * activation is taken. */
static inline void model_set_sequences(struct Model *m, int batch)
{
    set_finish(&m->activations);
    m->shape.batch = batch;
    add_activations(m);
}

static void take_batch(struct Model *m)
{
    m->batch_bytes = (3 * (size_t)rows_of(m) + VOCABULARY + 1) * sizeof(int);
    m->host_batch = (int *)host_allocate(m->batch_bytes);
    m->batch_data = (int *)memory_take(&m->memory, m->batch_bytes, "batch", "tokens");
    m->loss = (float *)memory_take(&m->memory, sizeof(float), "batch", "loss");
}

static inline void model_start(struct Model *m, struct Shape shape, enum Allocator allocator, uint64_t seed)
{
    model_describe(m, shape, allocator);
    set_take(&m->weights);
    take_batch(m);
    initialise_weights(m, seed);
}

static void model_finish(struct Model *m)
{
    set_finish(&m->activations);
    set_finish(&m->gradients);
    set_finish(&m->weights);
    if (m->loss) memory_drop(&m->memory, m->loss, sizeof(float));
    if (m->batch_data) memory_drop(&m->memory, m->batch_data, m->batch_bytes);
    free(m->host_batch);
    free(m->init);
}

static float *weight(const struct TensorSet *set, int layer, int id)
{
    return set->tensors[PARAMETERS_BEFORE_COUNT + layer * PARAMETERS_OF_LAYER_COUNT + id].data;
}

static float *weight_after(const struct Model *m, const struct TensorSet *set, int id)
{
    return weight(set, m->shape.layers, id);
}

static int activation(int layer, int id)
{
    return ACTIVATIONS_BEFORE_COUNT + layer * ACTIVATIONS_OF_LAYER_COUNT + id;
}
static int activation_after(const struct Model *m, int id)
{
    return activation(m->shape.layers, id);
}

static int model_parts(const struct Model *m)
{
    return m->shape.layers + 2;
}

/* The part to which weight number `i` belongs. */
static inline int part_of_weight(const struct Model *m, int i)
{
    if (i < PARAMETERS_BEFORE_COUNT) return 0;
    const int layer = (i - PARAMETERS_BEFORE_COUNT) / PARAMETERS_OF_LAYER_COUNT;
    return 1 + (layer < m->shape.layers ? layer : m->shape.layers);
}

/* The residual stream as it enters `layer`: what the layer before left, or the embedding. */
static int stream_into(int layer)
{
    return layer ? activation(layer - 1, A_OUT) : EMBEDDED;
}

/* --- A micro-batch --- */

/* `starts`: where each sequence of the batch begins in `text`; a sequence needs context + 1 bytes. */
static void model_set_batch(struct Model *m, const unsigned char *text, const size_t *starts)
{
    const int rows = rows_of(m), context = m->shape.context;
    int *tokens = m->host_batch, *targets = tokens + rows, *order = targets + rows, *first = order + rows;
    int next[VOCABULARY];
    memset(first, 0, (VOCABULARY + 1) * sizeof(int));
    for (int row = 0; row < rows; row++) {
        const unsigned char *at = text + starts[row / context] + row % context;
        tokens[row] = at[0];
        targets[row] = at[1];
        first[tokens[row] + 1]++;
    }
    for (int token = 0; token < VOCABULARY; token++) {
        next[token] = first[token];
        first[token + 1] += first[token];
    }
    for (int row = 0; row < rows; row++) order[next[tokens[row]]++] = row;
    check(cudaMemcpy(m->batch_data, m->host_batch, m->batch_bytes, cudaMemcpyHostToDevice),
          "copying the batch");
}

/* --- Products --- */

/* c[rows][columns] = the product of a and b over `depth`; the caller adds bias, addend and batch strides. */
static struct Gemm product(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int rows,
                           int columns, int depth)
{
    struct Gemm g;
    memset(&g, 0, sizeof g);
    g.a = a, g.b = b, g.c = c;
    g.lda = lda, g.ldb = ldb, g.ldc = ldc;
    g.m = rows, g.n = columns, g.k = depth;
    g.inner = 1;
    return g;
}

static void launch_product(void (*kernel)(struct Gemm), struct Gemm g, int batches)
{
    const dim3 grid(blocks_for(g.n, GEMM_TILE), blocks_for(g.m, GEMM_TILE), batches);
    kernel<<<grid, GEMM_THREADS>>>(g);
    check(cudaGetLastError(), "matrix product");
}

/* y = x w + bias + addend */
static void linear_forward(float *y, const float *x, const float *w, const float *bias, const float *addend,
                           int rows, int in, int out)
{
    struct Gemm g = product(y, out, x, in, w, out, rows, out, in);
    g.bias = bias, g.addend = addend;
    launch_product(gemm_nn, g, 1);
}

/* dx = dy w^T */
static void linear_backward_input(float *dx, const float *dy, const float *w, int rows, int in, int out)
{
    launch_product(gemm_nt, product(dx, in, dy, out, w, out, rows, in, out), 1);
}

/* dw += x^T dy; d_bias += the sum of dy's rows, unless NULL */
static void linear_backward_weight(float *dw, float *d_bias, const float *x, const float *dy, int rows,
                                   int in, int out)
{
    struct Gemm g = product(dw, out, x, in, dy, out, in, out, rows);
    g.addend = dw;
    launch_product(gemm_tn, g, 1);
    if (d_bias) LAUNCH(bias_backward, blocks_for(out, WARP), d_bias, dy, rows, out);
}

/* --- Attention: for each sequence and head a product of slices of qkv [rows][3 * width] --- */

enum Slice { SLICE_WIDTH, SLICE_QKV, SLICE_SCORES };

/* The strides from one sequence and from one head to the next. */
static void set_strides(const struct Model *m, enum Slice slice, long long *outer, long long *inner)
{
    const long long t = m->shape.context, w = m->shape.width;
    const long long columns = slice == SLICE_SCORES ? m->shape.heads * t : slice == SLICE_QKV ? 3 * w : w;
    *outer = t * columns;
    *inner = slice == SLICE_SCORES ? t * t : w / m->shape.heads;
}

static void attention_product(const struct Model *m, void (*kernel)(struct Gemm), struct Gemm g, enum Slice a,
                              enum Slice b, enum Slice c)
{
    g.inner = m->shape.heads;
    set_strides(m, a, &g.a_outer, &g.a_inner);
    set_strides(m, b, &g.b_outer, &g.b_inner);
    set_strides(m, c, &g.c_outer, &g.c_inner);
    launch_product(kernel, g, m->shape.batch * m->shape.heads);
}

static float attention_scale(const struct Model *m)
{
    return 1.0f / sqrtf((float)(m->shape.width / m->shape.heads));
}

static void attention_forward(const struct Model *m, float *mixed, float *scores, const float *qkv)
{
    const int t = m->shape.context, w = m->shape.width, head = w / m->shape.heads;
    const int rows = rows_of(m) * m->shape.heads;
    attention_product(m, gemm_nt, product(scores, t, qkv, 3 * w, qkv + w, 3 * w, t, t, head), SLICE_QKV,
                      SLICE_QKV, SLICE_SCORES);
    LAUNCH(softmax_forward, blocks_for(rows, ROWS_PER_BLOCK), scores, attention_scale(m), rows, t);
    attention_product(m, gemm_nn, product(mixed, w, scores, t, qkv + 2 * w, 3 * w, t, head, t), SLICE_SCORES,
                      SLICE_QKV, SLICE_WIDTH);
}

/* `d_scores` is scratch, as large as the scores. */
static void attention_backward(const struct Model *m, float *d_qkv, float *d_scores, const float *d_mixed,
                               const float *scores, const float *qkv)
{
    const int t = m->shape.context, w = m->shape.width, head = w / m->shape.heads;
    const int rows = rows_of(m) * m->shape.heads;
    attention_product(m, gemm_nt, product(d_scores, t, d_mixed, w, qkv + 2 * w, 3 * w, t, t, head),
                      SLICE_WIDTH, SLICE_QKV, SLICE_SCORES);
    attention_product(m, gemm_tn, product(d_qkv + 2 * w, 3 * w, scores, t, d_mixed, w, t, head, t),
                      SLICE_SCORES, SLICE_WIDTH, SLICE_QKV);
    LAUNCH(softmax_backward, blocks_for(rows, ROWS_PER_BLOCK), d_scores, scores, attention_scale(m), rows, t);
    attention_product(m, gemm_nn, product(d_qkv, 3 * w, d_scores, t, qkv + w, 3 * w, t, head, t),
                      SLICE_SCORES, SLICE_QKV, SLICE_QKV);
    attention_product(m, gemm_tn, product(d_qkv + w, 3 * w, d_scores, t, qkv, 3 * w, t, head, t),
                      SLICE_SCORES, SLICE_QKV, SLICE_QKV);
}

/* --- The passes --- */

static void layer_forward(struct Model *m, int layer, bool keep)
{
    struct TensorSet *acts = &m->activations, *p = &m->weights;
    const int n = rows_of(m), w = m->shape.width;
    const unsigned row_blocks = blocks_for(n, ROWS_PER_BLOCK);
    const size_t hidden = 4 * (size_t)n * w;
    float *a[ACTIVATIONS_OF_LAYER_COUNT], *x = acts->tensors[stream_into(layer)].data;
#define TAKE(id) a[id] = tensor_take(acts, activation(layer, id))
    TAKE(A_NORM1), TAKE(A_STATS1);
    LAUNCH(layernorm_forward, row_blocks, a[A_NORM1], a[A_STATS1], x, weight(p, layer, NORM1_GAIN),
           weight(p, layer, NORM1_BIAS), n, w);
    TAKE(A_QKV);
    linear_forward(a[A_QKV], a[A_NORM1], weight(p, layer, QKV), weight(p, layer, QKV_BIAS), NULL, n, w,
                   3 * w);
    TAKE(A_SCORES), TAKE(A_MIXED);
    attention_forward(m, a[A_MIXED], a[A_SCORES], a[A_QKV]);
    TAKE(A_MIDDLE);
    linear_forward(a[A_MIDDLE], a[A_MIXED], weight(p, layer, PROJECT), weight(p, layer, PROJECT_BIAS), x, n,
                   w, w);
    TAKE(A_NORM2), TAKE(A_STATS2);
    LAUNCH(layernorm_forward, row_blocks, a[A_NORM2], a[A_STATS2], a[A_MIDDLE], weight(p, layer, NORM2_GAIN),
           weight(p, layer, NORM2_BIAS), n, w);
    TAKE(A_EXPANDED);
    linear_forward(a[A_EXPANDED], a[A_NORM2], weight(p, layer, EXPAND), weight(p, layer, EXPAND_BIAS), NULL,
                   n, w, 4 * w);
    TAKE(A_GELU);
    LAUNCH(gelu_forward, blocks_for(hidden, BLOCK), a[A_GELU], a[A_EXPANDED], hidden);
    TAKE(A_OUT);
    linear_forward(a[A_OUT], a[A_GELU], weight(p, layer, SHRINK), weight(p, layer, SHRINK_BIAS), a[A_MIDDLE],
                   n, 4 * w, w);
#undef TAKE
    if (keep) return;
    tensor_drop(acts, stream_into(layer));
    for (int id = 0; id < A_OUT; id++) tensor_drop(acts, activation(layer, id));
}

static void embedding_part_forward(struct Model *m)
{
    struct TensorSet *acts = &m->activations, *p = &m->weights;
    const int n = rows_of(m), w = m->shape.width;
    const int *tokens = m->batch_data;
    LAUNCH(embedding_forward, blocks_for((size_t)n * w, BLOCK), tensor_take(acts, EMBEDDED),
           p->tensors[TOKENS].data, p->tensors[POSITIONS].data, tokens, n, m->shape.context, w);
}

static void head_forward(struct Model *m, float loss_scale, bool keep)
{
    struct TensorSet *acts = &m->activations, *p = &m->weights;
    const int n = rows_of(m), w = m->shape.width, layers = m->shape.layers;
    const unsigned row_blocks = blocks_for(n, ROWS_PER_BLOCK);
    const int *targets = m->batch_data + n;
    float *norm = tensor_take(acts, activation_after(m, A_NORM));
    float *stats = tensor_take(acts, activation_after(m, A_STATS));
    LAUNCH(layernorm_forward, row_blocks, norm, stats, acts->tensors[stream_into(layers)].data,
           weight_after(m, p, NORM_GAIN), weight_after(m, p, NORM_BIAS), n, w);
    float *logits = tensor_take(acts, activation_after(m, A_LOGITS));
    linear_forward(logits, norm, weight_after(m, p, HEAD), NULL, NULL, n, w, VOCABULARY);
    float *losses = tensor_take(acts, activation_after(m, A_LOSSES));
    LAUNCH(cross_entropy, row_blocks, logits, losses, targets, loss_scale, n);
    LAUNCH(sum_losses, 1, m->loss, losses, loss_scale, n);
    tensor_drop(acts, activation_after(m, A_LOSSES));
    if (keep) return;
    tensor_drop(acts, stream_into(layers));
    for (int id = A_NORM; id <= A_LOGITS; id++) tensor_drop(acts, activation_after(m, id));
}

static void part_forward(struct Model *m, int part, float loss_scale, bool keep)
{
    if (part == 0)
        embedding_part_forward(m);
    else if (part <= m->shape.layers)
        layer_forward(m, part - 1, keep);
    else
        head_forward(m, loss_scale, keep);
}

/* Adds `loss_scale` times the summed loss of the batch to m->loss. With `keep` the activations stay for
 * model_backward, and the logits already hold their gradient, likewise scaled. */
static inline void model_forward(struct Model *m, float loss_scale, bool keep)
{
    for (int part = 0; part < model_parts(m); part++) part_forward(m, part, loss_scale, keep);
}

static void norm_backward(struct Model *m, float *dx, const float *addend, const float *dy, const float *x,
                          const float *stats, const float *gain, float *d_gain, float *d_bias)
{
    const int n = rows_of(m), w = m->shape.width;
    LAUNCH(layernorm_backward_parameters, blocks_for(w, WARP), d_gain, d_bias, dy, x, stats, n, w);
    LAUNCH(layernorm_backward_input, blocks_for(n, ROWS_PER_BLOCK), dx, addend, dy, x, stats, gain, n, w);
}

/* `d_stream` comes in as the gradient of the layer's output and leaves as that of its input. Drops the
 * layer's activations but not its input's, which the layer before may still need. */
static void layer_backward(struct Model *m, int layer, float *d_stream)
{
    struct TensorSet *acts = &m->activations, *p = &m->weights, *g = &m->gradients;
    const int n = rows_of(m), w = m->shape.width;
    const size_t hidden = 4 * (size_t)n * w;
    float *a[ACTIVATIONS_OF_LAYER_COUNT];
    for (int id = 0; id < ACTIVATIONS_OF_LAYER_COUNT; id++) a[id] = acts->tensors[activation(layer, id)].data;
#define DROP(id) tensor_drop(acts, activation(layer, id))
    DROP(A_OUT);
    float *d_hidden = tensor_take(acts, activation_after(m, D_HIDDEN));
    linear_backward_input(d_hidden, d_stream, weight(p, layer, SHRINK), n, 4 * w, w);
    linear_backward_weight(weight(g, layer, SHRINK), weight(g, layer, SHRINK_BIAS), a[A_GELU], d_stream, n,
                           4 * w, w);
    DROP(A_GELU);
    LAUNCH(gelu_backward, blocks_for(hidden, BLOCK), d_hidden, a[A_EXPANDED], hidden);
    DROP(A_EXPANDED);
    float *d_width = tensor_take(acts, activation_after(m, D_WIDTH));
    linear_backward_input(d_width, d_hidden, weight(p, layer, EXPAND), n, w, 4 * w);
    linear_backward_weight(weight(g, layer, EXPAND), weight(g, layer, EXPAND_BIAS), a[A_NORM2], d_hidden, n,
                           w, 4 * w);
    tensor_drop(acts, activation_after(m, D_HIDDEN));
    DROP(A_NORM2);
    norm_backward(m, d_stream, d_stream, d_width, a[A_MIDDLE], a[A_STATS2], weight(p, layer, NORM2_GAIN),
                  weight(g, layer, NORM2_GAIN), weight(g, layer, NORM2_BIAS));
    DROP(A_MIDDLE), DROP(A_STATS2);

    linear_backward_input(d_width, d_stream, weight(p, layer, PROJECT), n, w, w);
    linear_backward_weight(weight(g, layer, PROJECT), weight(g, layer, PROJECT_BIAS), a[A_MIXED], d_stream, n,
                           w, w);
    DROP(A_MIXED);
    float *d_scores = tensor_take(acts, activation_after(m, D_SCORES));
    float *d_qkv = tensor_take(acts, activation_after(m, D_QKV));
    attention_backward(m, d_qkv, d_scores, d_width, a[A_SCORES], a[A_QKV]);
    tensor_drop(acts, activation_after(m, D_SCORES));
    DROP(A_SCORES), DROP(A_QKV);
    linear_backward_input(d_width, d_qkv, weight(p, layer, QKV), n, w, 3 * w);
    linear_backward_weight(weight(g, layer, QKV), weight(g, layer, QKV_BIAS), a[A_NORM1], d_qkv, n, w, 3 * w);
    tensor_drop(acts, activation_after(m, D_QKV));
    DROP(A_NORM1);
    norm_backward(m, d_stream, d_stream, d_width, acts->tensors[stream_into(layer)].data, a[A_STATS1],
                  weight(p, layer, NORM1_GAIN), weight(g, layer, NORM1_GAIN), weight(g, layer, NORM1_BIAS));
    DROP(A_STATS1);
#undef DROP
    tensor_drop(acts, activation_after(m, D_WIDTH));
}

/* Takes D_STREAM, the gradient of the residual stream, which the layers pass on. */
static void head_backward(struct Model *m)
{
    struct TensorSet *acts = &m->activations, *p = &m->weights, *g = &m->gradients;
    const int n = rows_of(m), w = m->shape.width, layers = m->shape.layers;
    float *norm = acts->tensors[activation_after(m, A_NORM)].data;
    float *stats = acts->tensors[activation_after(m, A_STATS)].data;
    float *d_logits = acts->tensors[activation_after(m, A_LOGITS)].data;

    float *d_width = tensor_take(acts, activation_after(m, D_WIDTH));
    linear_backward_input(d_width, d_logits, weight_after(m, p, HEAD), n, w, VOCABULARY);
    linear_backward_weight(weight_after(m, g, HEAD), NULL, norm, d_logits, n, w, VOCABULARY);
    tensor_drop(acts, activation_after(m, A_LOGITS));
    tensor_drop(acts, activation_after(m, A_NORM));
    float *d_stream = tensor_take(acts, activation_after(m, D_STREAM));
    norm_backward(m, d_stream, NULL, d_width, acts->tensors[stream_into(layers)].data, stats,
                  weight_after(m, p, NORM_GAIN), weight_after(m, g, NORM_GAIN),
                  weight_after(m, g, NORM_BIAS));
    tensor_drop(acts, activation_after(m, D_WIDTH));
    tensor_drop(acts, activation_after(m, A_STATS));
}

static void embedding_part_backward(struct Model *m, const float *d_stream)
{
    struct TensorSet *acts = &m->activations, *g = &m->gradients;
    const int n = rows_of(m), w = m->shape.width;
    const int *order = m->batch_data + 2 * n, *first = order + n;
    tensor_drop(acts, EMBEDDED);
    LAUNCH(embedding_backward_tokens, VOCABULARY, g->tensors[TOKENS].data, d_stream, order, first, w);
    LAUNCH(embedding_backward_positions, blocks_for((size_t)m->shape.context * w, BLOCK),
           g->tensors[POSITIONS].data, d_stream, m->shape.batch, m->shape.context, w);
    tensor_drop(acts, activation_after(m, D_STREAM));
}

static void part_backward(struct Model *m, int part)
{
    float *d_stream = m->activations.tensors[activation_after(m, D_STREAM)].data;
    if (part > m->shape.layers)
        head_backward(m);
    else if (part > 0)
        layer_backward(m, part - 1, d_stream);
    else
        embedding_part_backward(m, d_stream);
}

/* Adds the gradients of the loss of the model_forward before to m->gradients, which must be taken. */
static inline void model_backward(struct Model *m)
{
    for (int part = model_parts(m) - 1; part >= 0; part--) part_backward(m, part);
}

#endif
