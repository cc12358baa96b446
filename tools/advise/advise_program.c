#include "tools/advise/advise_program.h"

#include <stdio.h>

#include "base/text.h"

enum {
    SWEEPS = 2,               /* an update that touches its data this often is worth one pass */
    LEAST_BATCH_PERCENT = 20, /* more of the batch has to fit */
    MOST_BATCHES = 64,
    MOST_ACCUMULATED = 8,
    MOST_RANKS = 8,
    GRAPH_PERCENT = 50,      /* of the budget: nothing can be fetched beside larger graphs */
    COLLECTIVE_PERCENT = 20, /* of a step */
    FROZEN_PERCENT = 20,     /* of what is kept */
};

/* A step takes at least this long if it computes for `resident_ns` and keeps `kept_bytes` from step to step:
 * what the budget cannot hold of these has to come in every step. */
static uint64_t least_step_ns(const struct situation *s, uint64_t resident_ns, uint64_t kept_bytes)
{
    const struct replay_setting *setting = &s->setting;
    uint64_t away = kept_bytes > setting->budget_bytes ? kept_bytes - setting->budget_bytes : 0;
    uint64_t ns =
        advice_link_ns(away, setting->in_bytes_per_s, setting->out_bytes_per_s, setting->driver.both_percent);
    return ns > resident_ns ? ns : resident_ns;
}

static struct advice *bound(const struct situation *s, struct advice_list *list, const char *kind,
                            uint64_t after_ns)
{
    struct advice *advice = advice_add(list, kind, ADVICE_BOUND);
    advice->before_ns = situation_step(s);
    advice->after_ns = after_ns;
    return advice;
}

/* The optimizer could touch its data once. */
static void advise_optimizer(const struct situation *s, const struct step_profile *p,
                             struct advice_list *list)
{
    char once[SL_BYTES_TEXT], often[SL_BYTES_TEXT];
    if (!p->update_once || p->update_bytes < SWEEPS * p->update_once) return;
    if (p->update_tensor > s->setting.budget_bytes) return; /* a kernel would use it in place */
    double kept = (double)p->update_once / (double)p->update_bytes;
    uint64_t saved_ns = (uint64_t)((double)p->update_ns * (1 - kept));
    uint64_t resident_ns = s->resident_ns > saved_ns ? s->resident_ns - saved_ns : 0;
    uint64_t after_ns = least_step_ns(s, resident_ns, p->kept_bytes);
    if (!advice_pays(situation_step(s), after_ns)) return;
    struct advice *advice = bound(s, list, "optimizer", after_ns);
    snprintf(advice->what, sizeof(advice->what),
             "Update the weights in one pass: the update's %llu kernels touch %s of weights, gradients and "
             "state, and %s in all",
             (unsigned long long)p->update_launches, sl_bytes_text(p->update_once, once),
             sl_bytes_text(p->update_bytes, often));
    snprintf(advice->line, sizeof(advice->line),
             p->lists ? "torch.optim.AdamW(..., fused=True)"
                      : "a fused optimizer: one kernel for each tensor");
    advice->unseen = "how long the fused kernel takes beyond its share of the bytes";
}

static void advise_allocator(const struct situation *s, const struct step_profile *p,
                             struct advice_list *list)
{
    uint64_t after_ns = least_step_ns(s, s->resident_ns, p->kept_bytes);
    if (!p->cached || s->fits || !advice_pays(situation_step(s), after_ns)) return;
    struct advice *advice = bound(s, list, "allocator", after_ns);
    snprintf(
        advice->what, sizeof(advice->what),
        "Let PyTorch allocate each tensor by itself: its cache puts tensors of different lifetimes into one "
        "segment, which moves as a whole");
    snprintf(advice->line, sizeof(advice->line), "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync");
    advice->unseen = "where the tensors lie in the segments";
}

/* Where sizes vary, a layout that suits one step does not suit the next. */
static void advise_lengths(const struct situation *s, const struct step_profile *p, struct advice_list *list)
{
    uint64_t after_ns = least_step_ns(s, s->resident_ns, p->kept_bytes);
    if (!s->now.sizes_vary || s->fits || !advice_pays(situation_step(s), after_ns)) return;
    struct advice *advice = bound(s, list, "lengths", after_ns);
    snprintf(
        advice->what, sizeof(advice->what),
        "Let fewer sizes come: tensors have other sizes in each step, as of batches that are padded to their "
        "longest text, so that they fit nowhere where others lay before");
    snprintf(advice->line, sizeof(advice->line),
             "DataCollatorWithPadding(..., pad_to_multiple_of=32), or batches of texts of similar length");
    advice->unseen = "computing and memory for what is padded";
}

/* Half of the bytes need not come. */
static void advise_frozen(const struct situation *s, const struct step_profile *p, struct advice_list *list)
{
    char frozen[SL_BYTES_TEXT], kept[SL_BYTES_TEXT];
    uint64_t after_ns = least_step_ns(s, s->resident_ns, p->kept_bytes - p->frozen_bytes / 2);
    if (s->fits || p->frozen_bytes < p->kept_bytes / 100 * FROZEN_PERCENT ||
        p->frozen_bytes > p->kept_bytes || !advice_pays(situation_step(s), after_ns))
        return;
    struct advice *advice = bound(s, list, "frozen", after_ns);
    advice->changes_training = true;
    snprintf(
        advice->what, sizeof(advice->what),
        "Load the frozen weights with half as many bytes: %s of the %s that are kept from step to step are "
        "only read",
        sl_bytes_text(p->frozen_bytes, frozen), sl_bytes_text(p->kept_bytes, kept));
    snprintf(advice->line, sizeof(advice->line), "from_pretrained(..., torch_dtype=torch.bfloat16)");
    advice->unseen = "whether they have that type already; it also changes how the training rounds";
}

static void advise_graph(const struct situation *s, const struct step_profile *p, struct advice_list *list)
{
    char graph[SL_BYTES_TEXT], budget[SL_BYTES_TEXT];
    uint64_t after_ns = least_step_ns(s, s->resident_ns, p->kept_bytes);
    if (s->fits || p->graph_bytes < s->setting.budget_bytes / 100 * GRAPH_PERCENT) return;
    if (!advice_pays(situation_step(s), after_ns)) return;
    struct advice *advice = bound(s, list, "graph", after_ns);
    snprintf(advice->what, sizeof(advice->what),
             "Capture smaller CUDA graphs: one launch of a graph needs %s at once, of a budget of %s",
             sl_bytes_text(p->graph_bytes, graph), sl_bytes_text(s->setting.budget_bytes, budget));
    snprintf(advice->line, sizeof(advice->line),
             "a graph for each layer, or for each phase, instead of one for the step");
    advice->unseen = "the time between the launches of the graphs";
}

/* With room to spare: more samples in a step share one update. Everything else grows with the batch. */
static void advise_larger_batch(const struct situation *s, const struct step_profile *p,
                                struct advice_list *list)
{
    if (!p->batch_bytes || s->need_bytes < p->batch_bytes) return;
    uint64_t fixed = s->need_bytes - p->batch_bytes;
    uint64_t room = s->setting.budget_bytes > fixed ? s->setting.budget_bytes - fixed : 0;
    double times = (double)room / (double)p->batch_bytes;
    if (times > MOST_BATCHES) times = MOST_BATCHES;
    if (100 * (times - 1) < LEAST_BATCH_PERCENT) return;
    double step = (double)situation_step(s), update = (double)p->update_ns;
    uint64_t after_ns = (uint64_t)(step - (update < step ? update : step) * (1 - 1 / times));
    if (!advice_pays(situation_step(s), after_ns)) return;
    struct advice *advice = bound(s, list, "batch", after_ns);
    snprintf(
        advice->what, sizeof(advice->what),
        "A batch up to %.1f times as large fits without moving data; the time is that of a step for each of "
        "today's batches",
        times);
    snprintf(advice->line, sizeof(advice->line), "the program's batch size, times %.1f at most", times);
    advice->unseen =
        "kernels that are faster for each sample in larger batches; it also changes the training";
    advice->changes_training = true;
}

/* With too little room: several batches share the traffic of weights and optimizer state. */
static void advise_accumulation(const struct situation *s, const struct step_profile *p,
                                struct advice_list *list)
{
    uint64_t step = situation_step(s), passes = s->resident_ns;
    passes -= p->update_ns < passes ? p->update_ns : passes;
    if (!passes || s->resident_ns >= step) return;
    uint64_t batches = 2, spare = step - s->resident_ns;
    while (batches < MOST_ACCUMULATED && (batches - 1) * passes < spare) batches *= 2;
    uint64_t traffic_ns = least_step_ns(s, 0, p->kept_bytes);
    uint64_t all_ns = batches * passes + p->update_ns;
    uint64_t after_ns = (all_ns > traffic_ns ? all_ns : traffic_ns) / batches;
    if (!advice_pays(step, after_ns)) return;
    struct advice *advice = bound(s, list, "batch", after_ns);
    snprintf(advice->what, sizeof(advice->what),
             "Accumulate the gradients of %llu batches for each update: they share the traffic of optimizer "
             "state; the time is that for each batch",
             (unsigned long long)batches);
    snprintf(advice->line, sizeof(advice->line), "loss.backward() %llu times for each optimizer.step()",
             (unsigned long long)batches);
    advice->unseen = "what moves between the batches; it also changes the training";
    advice->changes_training = true;
}

static void advise_ranks(const struct situation *s, const struct step_profile *p, struct advice_list *list)
{
    char need[SL_BYTES_TEXT];
    uint64_t shared = p->kept_bytes + p->gradient_bytes;
    if (s->fits || s->job->count > 1 || p->collective_ns || shared > s->need_bytes) return;
    for (uint64_t ranks = 2; ranks <= MOST_RANKS; ranks *= 2) {
        uint64_t each = s->need_bytes - shared + shared / ranks;
        if (each > s->setting.budget_bytes) continue;
        if (!advice_pays(situation_step(s), s->resident_ns)) return;
        struct advice *advice = bound(s, list, "ranks", s->resident_ns);
        snprintf(advice->what, sizeof(advice->what),
                 "%llu ranks that share weights, gradients and optimizer state need %s each, which fits",
                 (unsigned long long)ranks, sl_bytes_text(each, need));
        snprintf(advice->line, sizeof(advice->line),
                 "torchrun --nproc-per-node %llu, with FSDP or ZeroRedundancyOptimizer",
                 (unsigned long long)ranks);
        advice->unseen = "the time of collectives, which is added";
        return;
    }
}

static void advise_fewer_ranks(const struct situation *s, const struct step_profile *p,
                               struct advice_list *list)
{
    uint64_t step = situation_step(s);
    if (p->collective_ns < step / 100 * COLLECTIVE_PERCENT) return;
    struct advice *advice =
        bound(s, list, "ranks", step - (p->collective_ns < step ? p->collective_ns : step));
    snprintf(
        advice->what, sizeof(advice->what),
        "Use fewer ranks, or larger batches on each: collectives take %.0f %% of a step, with their waits",
        100.0 * (double)p->collective_ns / (double)step);
    snprintf(advice->line, sizeof(advice->line), "torchrun --nproc-per-node N with a smaller N");
    advice->unseen = "work beside the collectives, and that each rank then has more to do";
}

void advise_program(const struct situation *s, const struct step_profile *p, struct advice_list *list)
{
    advise_allocator(s, p, list);
    advise_lengths(s, p, list);
    if (!p->found) return;
    advise_frozen(s, p, list);
    advise_optimizer(s, p, list);
    advise_graph(s, p, list);
    if (s->fits)
        advise_larger_batch(s, p, list);
    else
        advise_accumulation(s, p, list);
    advise_ranks(s, p, list);
    advise_fewer_ranks(s, p, list);
}
