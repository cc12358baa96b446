#include "predict/weave.h"

#include <stdlib.h>
#include <string.h>

#include "predict/predict.h"

#define STRAND_SYMBOLS (((size_t)1 << 16) - 1) /* its ring: 2 MiB when full */
#define STREAMS 64
#define NO_STRAND SL_STRANDS

/* Shares and scores are parts of ONE, means over so many symbols, those of the start over as many as there
 * are. */
enum { ONE = 1 << 20, SHARE_SHIFT = 7, SCORE_SHIFT = 6 };
enum { CLEARLY = ONE / 8, HARDLY = ONE / 256, GOOD = ONE / 4 * 3 };
#define IDLE_SYMBOLS 1024 /* predicted in a row by the string of all */
/* A strand that is so many times as late as it comes on average has ended, or holds. */
enum { TOO_LATE = 8 };

struct strand {
    struct sl_predictor *predictor;
    uint64_t last;  /* symbols of all strands, when it was fed last */
    uint32_t share; /* of them, lately */
    uint64_t usual; /* how many of them lay between two of this one, by then: the share of a strand that has
                       ended tells nothing any more */
};

struct sl_weave {
    struct strand strands[SL_STRANDS];
    uint32_t count;
    uint8_t of_stream[STREAMS];
    uint64_t fed, whole_streak;
    uint32_t score, whole_score; /* what lately came as predicted */
    bool holds;
};

struct sl_weave *sl_weave_new(void)
{
    struct sl_weave *weave = calloc(1, sizeof *weave);
    if (weave) memset(weave->of_stream, NO_STRAND, sizeof weave->of_stream);
    return weave;
}

void sl_weave_delete(struct sl_weave *weave)
{
    if (!weave) return;
    for (uint32_t i = 0; i < weave->count; i++) sl_predictor_delete(weave->strands[i].predictor);
    free(weave);
}

static struct strand *begin_strand(struct sl_weave *weave, uint32_t stream)
{
    uint32_t s = weave->count < SL_STRANDS ? weave->count : SL_STRANDS - 1;
    if (s == weave->count) {
        struct sl_predictor *predictor = sl_predictor_new(STRAND_SYMBOLS);
        if (!predictor) return NULL;
        weave->strands[weave->count++] = (struct strand){.predictor = predictor};
    }
    weave->of_stream[stream] = (uint8_t)s;
    return &weave->strands[s];
}

static void approach(uint32_t *mean, bool one, uint64_t count, uint32_t shift)
{
    uint32_t target = one ? ONE : 0;
    int64_t over = count >> shift ? (int64_t)1 << shift : (int64_t)count;
    *mean = (uint32_t)(*mean + ((int64_t)target - *mean) / over);
}

static void judge(struct sl_weave *weave, bool hit, bool whole)
{
    approach(&weave->score, hit, weave->fed, SCORE_SHIFT);
    approach(&weave->whole_score, whole, weave->fed, SCORE_SHIFT);
    weave->whole_streak = whole ? weave->whole_streak + 1 : 0;
    if (weave->holds)
        weave->holds = weave->score > weave->whole_score + HARDLY;
    else
        weave->holds = weave->score >= GOOD && weave->score >= weave->whole_score + CLEARLY;
}

bool sl_weave_feed(struct sl_weave *weave, uint32_t stream, sl_symbol symbol, bool whole)
{
    uint8_t s = weave->of_stream[stream];
    struct strand *strand = s == NO_STRAND ? begin_strand(weave, stream) : &weave->strands[s];
    bool hit = strand && sl_predictor_feed(strand->predictor, symbol);
    weave->fed++;
    for (uint32_t i = 0; i < weave->count; i++)
        approach(&weave->strands[i].share, &weave->strands[i] == strand, weave->fed, SHARE_SHIFT);
    if (strand) {
        strand->last = weave->fed;
        strand->usual = ONE / (strand->share ? strand->share : 1);
    }
    judge(weave, hit, whole);
    return hit;
}

bool sl_weave_holds(const struct sl_weave *weave)
{
    return weave->holds;
}

bool sl_weave_is_idle(const struct sl_weave *weave)
{
    return weave->whole_streak >= IDLE_SYMBOLS;
}

sl_symbol sl_weave_expected(const struct sl_weave *weave, uint32_t stream)
{
    uint8_t s = weave->of_stream[stream];
    return s == NO_STRAND ? SL_NO_SYMBOL : sl_predictor_expected(weave->strands[s].predictor);
}

uint8_t sl_weave_strand(const struct sl_weave *weave, uint32_t stream)
{
    return weave->of_stream[stream];
}

static bool goes_on(const struct sl_weave *weave, const struct strand *strand)
{
    return sl_predictor_expected(strand->predictor) != SL_NO_SYMBOL &&
           weave->fed - strand->last <= TOO_LATE * (1 + strand->usual);
}

/* A strand being read; times are in symbols of all strands, as parts of ONE. */
struct thread {
    struct sl_predictor_walk walk;
    sl_symbol next; /* SL_NO_SYMBOL: the strand has ended */
    uint64_t time, step;
};

static bool is_launch(const struct sl_symbols *symbols, sl_symbol symbol)
{
    return !symbols || symbols->records[symbol].kind == SL_SYMBOL_LAUNCH;
}

static struct thread *earliest(struct thread *threads, uint32_t count)
{
    struct thread *first = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (threads[i].next != SL_NO_SYMBOL && (!first || threads[i].time < first->time)) first = &threads[i];
    return first;
}

size_t sl_weave_next(const struct sl_weave *weave, const struct sl_symbols *symbols, sl_symbol *out,
                     uint8_t *strands, size_t count)
{
    struct thread threads[SL_STRANDS];
    for (uint32_t i = 0; i < weave->count; i++) {
        const struct strand *strand = &weave->strands[i];
        struct thread *t = &threads[i];
        *t = (struct thread){.next = SL_NO_SYMBOL};
        if (!goes_on(weave, strand)) continue;
        t->walk = sl_predictor_walk(strand->predictor);
        t->next = sl_predictor_step(strand->predictor, &t->walk);
        t->step = (uint64_t)ONE * ONE / (strand->share ? strand->share : 1);
        /* What still belongs to the last launch comes at once. */
        t->time = t->next != SL_NO_SYMBOL && is_launch(symbols, t->next) ? t->step / 2 : 0;
    }
    for (size_t n = 0; n < count;) {
        struct thread *t = earliest(threads, weave->count);
        if (!t) return n;
        do {
            out[n] = t->next;
            strands[n++] = (uint8_t)(t - threads);
            t->time += t->step;
            t->next = sl_predictor_step(weave->strands[t - threads].predictor, &t->walk);
        } while (n < count && t->next != SL_NO_SYMBOL && !is_launch(symbols, t->next));
    }
    return count;
}

size_t sl_weave_period(const struct sl_weave *weave)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < weave->count; i++) {
        const struct strand *strand = &weave->strands[i];
        if (!goes_on(weave, strand)) continue;
        uint64_t period = sl_predictor_period(strand->predictor) * ONE / (strand->share ? strand->share : 1);
        if (period > longest) longest = period;
    }
    return longest;
}
