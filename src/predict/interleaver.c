#include "predict/interleaver.h"

#include <stdlib.h>
#include <string.h>

#include "predict/predictor.h"

#define HISTORY_SYMBOLS_OF_STREAM (((size_t)1 << 16) - 1) /* size of the ring; 2 MiB when full */
#define STREAMS 64
#define NO_HISTORY SL_STREAM_HISTORIES

/* Shares and scores are in units of 1/ONE. They are moving means over 2^SHIFT symbols, or over all symbols
 * while these are fewer. */
enum { ONE = 1 << 20, SHARE_SHIFT = 7, SCORE_SHIFT = 6 };
enum { CLEARLY = ONE / 8, HARDLY = ONE / 256, GOOD = ONE / 4 * 3 };
#define IDLE_SYMBOLS 1024 /* that the predictor of all symbols predicted in a row */
/* A stream history whose next symbol is late by so many of its usual distances is left out. */
enum { TOO_LATE = 8 };

struct history {
    struct sl_predictor *predictor;
    uint64_t last;  /* symbols of all stream histories when it was last fed */
    uint32_t share; /* its recent share of them */
    uint64_t usual; /* the distance between two of its symbols by the share at that time: after a stream
                       history has ended, its share says nothing */
};

struct sl_interleaver {
    struct history histories[SL_STREAM_HISTORIES];
    uint32_t count;
    uint8_t of_stream[STREAMS];
    uint64_t fed, whole_streak;
    uint32_t score, whole_score; /* recent share of predicted symbols: by stream histories, and by the
                                    predictor of all symbols */
    bool holds;
};

struct sl_interleaver *sl_interleaver_new(void)
{
    struct sl_interleaver *interleaver = calloc(1, sizeof *interleaver);
    if (interleaver) memset(interleaver->of_stream, NO_HISTORY, sizeof interleaver->of_stream);
    return interleaver;
}

void sl_interleaver_delete(struct sl_interleaver *interleaver)
{
    if (!interleaver) return;
    for (uint32_t i = 0; i < interleaver->count; i++)
        sl_predictor_delete(interleaver->histories[i].predictor);
    free(interleaver);
}

static struct history *begin_history(struct sl_interleaver *interleaver, uint32_t stream)
{
    uint32_t s = interleaver->count < SL_STREAM_HISTORIES ? interleaver->count : SL_STREAM_HISTORIES - 1;
    if (s == interleaver->count) {
        struct sl_predictor *predictor = sl_predictor_new(HISTORY_SYMBOLS_OF_STREAM);
        if (!predictor) return NULL;
        interleaver->histories[interleaver->count++] = (struct history){.predictor = predictor};
    }
    interleaver->of_stream[stream] = (uint8_t)s;
    return &interleaver->histories[s];
}

static void approach(uint32_t *mean, bool one, uint64_t count, uint32_t shift)
{
    uint32_t target = one ? ONE : 0;
    int64_t over = count >> shift ? (int64_t)1 << shift : (int64_t)count;
    *mean = (uint32_t)(*mean + ((int64_t)target - *mean) / over);
}

static void judge(struct sl_interleaver *interleaver, bool hit, bool whole)
{
    approach(&interleaver->score, hit, interleaver->fed, SCORE_SHIFT);
    approach(&interleaver->whole_score, whole, interleaver->fed, SCORE_SHIFT);
    interleaver->whole_streak = whole ? interleaver->whole_streak + 1 : 0;
    if (interleaver->holds)
        interleaver->holds = interleaver->score > interleaver->whole_score + HARDLY;
    else
        interleaver->holds =
            interleaver->score >= GOOD && interleaver->score >= interleaver->whole_score + CLEARLY;
}

bool sl_interleaver_feed(struct sl_interleaver *interleaver, uint32_t stream, sl_symbol symbol, bool whole)
{
    uint8_t s = interleaver->of_stream[stream];
    struct history *history =
        s == NO_HISTORY ? begin_history(interleaver, stream) : &interleaver->histories[s];
    bool hit = history && sl_predictor_feed(history->predictor, symbol);
    interleaver->fed++;
    for (uint32_t i = 0; i < interleaver->count; i++)
        approach(&interleaver->histories[i].share, &interleaver->histories[i] == history, interleaver->fed,
                 SHARE_SHIFT);
    if (history) {
        history->last = interleaver->fed;
        history->usual = ONE / (history->share ? history->share : 1);
    }
    judge(interleaver, hit, whole);
    return hit;
}

bool sl_interleaver_holds(const struct sl_interleaver *interleaver)
{
    return interleaver->holds;
}

bool sl_interleaver_is_idle(const struct sl_interleaver *interleaver)
{
    return interleaver->whole_streak >= IDLE_SYMBOLS;
}

sl_symbol sl_interleaver_expected(const struct sl_interleaver *interleaver, uint32_t stream)
{
    uint8_t s = interleaver->of_stream[stream];
    return s == NO_HISTORY ? SL_NONE : sl_predictor_expected(interleaver->histories[s].predictor);
}

uint8_t sl_interleaver_history(const struct sl_interleaver *interleaver, uint32_t stream)
{
    return interleaver->of_stream[stream];
}

static bool goes_on(const struct sl_interleaver *interleaver, const struct history *history)
{
    return sl_predictor_expected(history->predictor) != SL_NONE &&
           interleaver->fed - history->last <= TOO_LATE * (1 + history->usual);
}

/* A stream history that is read. Times are in symbols of all stream histories, in units of 1/ONE. */
struct thread {
    struct sl_predictor_walk walk;
    sl_symbol next; /* SL_NONE: the prediction has ended */
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
        if (threads[i].next != SL_NONE && (!first || threads[i].time < first->time)) first = &threads[i];
    return first;
}

size_t sl_interleaver_next(const struct sl_interleaver *interleaver, const struct sl_symbols *symbols,
                           sl_symbol *out, uint8_t *histories, size_t count)
{
    struct thread threads[SL_STREAM_HISTORIES];
    for (uint32_t i = 0; i < interleaver->count; i++) {
        const struct history *history = &interleaver->histories[i];
        struct thread *t = &threads[i];
        *t = (struct thread){.next = SL_NONE};
        if (!goes_on(interleaver, history)) continue;
        t->walk = sl_predictor_walk(history->predictor);
        t->next = sl_predictor_step(history->predictor, &t->walk);
        t->step = (uint64_t)ONE * ONE / (history->share ? history->share : 1);
        /* Symbols that follow the last launch come at once. */
        t->time = t->next != SL_NONE && is_launch(symbols, t->next) ? t->step / 2 : 0;
    }
    for (size_t n = 0; n < count;) {
        struct thread *t = earliest(threads, interleaver->count);
        if (!t) return n;
        do {
            out[n] = t->next;
            histories[n++] = (uint8_t)(t - threads);
            t->time += t->step;
            t->next = sl_predictor_step(interleaver->histories[t - threads].predictor, &t->walk);
        } while (n < count && t->next != SL_NONE && !is_launch(symbols, t->next));
    }
    return count;
}

size_t sl_interleaver_period(const struct sl_interleaver *interleaver)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < interleaver->count; i++) {
        const struct history *history = &interleaver->histories[i];
        if (!goes_on(interleaver, history)) continue;
        uint64_t period =
            sl_predictor_period(history->predictor) * ONE / (history->share ? history->share : 1);
        if (period > longest) longest = period;
    }
    return longest;
}
