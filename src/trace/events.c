#include "trace/events.h"

#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "base/grow.h"

/* --- texts of decisions */

static const char *const decisions[] = {
    [SL_DECISION_BEGIN] = "plan begun",       [SL_DECISION_SWITCH] = "plan carried out",
    [SL_DECISION_DISCARD] = "plan discarded", [SL_DECISION_MISPREDICT] = "misprediction",
    [SL_DECISION_VICTIMS] = "victims",
};

static const char *const begin_reasons[] = {
    [SL_BEGIN_ANEW] = "nothing is planned",
    [SL_BEGIN_FOLLOWS] = "the present one ends",
    [SL_BEGIN_PROFILE] = "a profile predicts it",
};

static const char *const cancel_reasons[] = {
    [SL_CANCEL_MISPREDICTED] = "misprediction",  [SL_CANCEL_LACKING] = "a launch lacked a chunk",
    [SL_CANCEL_BUDGET] = "the budget shrank",    [SL_CANCEL_FORGOTTEN] = "the history was forgotten",
    [SL_CANCEL_LATE] = "made too late",          [SL_CANCEL_STREAMS] = "streams came in another order",
    [SL_CANCEL_FAILED] = "it could not be made", [SL_CANCEL_CHECK] = "a check failed",
};

static const char *const differences[] = {
    [SL_DIFFERS_KIND] = "kind",
    [SL_DIFFERS_KERNEL] = "kernel",
    [SL_DIFFERS_SHAPE] = "grid, block or bytes",
    [SL_DIFFERS_ACCESSES] = "number of accesses",
    [SL_DIFFERS_ACCESS] = "access",
    [SL_DIFFERS_SLOT] = "allocation",
    [SL_DIFFERS_ORDER] = "order of streams",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *text_of(const char *const *texts, size_t count, unsigned number)
{
    return number < count ? texts[number] : "?";
}

const char *sl_decision_text(unsigned decision)
{
    return text_of(decisions, COUNT(decisions), decision);
}

const char *sl_decision_reason_text(unsigned decision, unsigned reason)
{
    switch (decision) {
    case SL_DECISION_BEGIN:
        return text_of(begin_reasons, COUNT(begin_reasons), reason);
    case SL_DECISION_DISCARD:
        return text_of(cancel_reasons, COUNT(cancel_reasons), reason);
    case SL_DECISION_MISPREDICT:
        return text_of(differences, COUNT(differences), reason);
    default:
        return NULL;
    }
}

/* --- interned texts */

#define SLOTS ((uint32_t)1 << 16)
#define MOST_PROBES 64

struct texts {
    char space[SL_INTERN_BYTES];    /* its first byte is unused, because 0 means no text */
    _Atomic uint32_t places[SLOTS]; /* open addressing, linear probing; 0: free */
};
static void *_Atomic texts;
static _Atomic uint32_t used = 1, count;

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = bytes;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text + at, bytes - at < 8 ? bytes - at : 8);
        hash = sl_hash_word(hash, word);
    }
    return hash;
}

/* Copies the text into the space. 0: the first 1/`share` of the space has no room. */
static uint32_t put(struct texts *in, const char *text, size_t bytes, uint32_t share)
{
    uint32_t at = atomic_load_explicit(&used, memory_order_relaxed);
    if (atomic_load_explicit(&count, memory_order_relaxed) >= SLOTS / share) return 0;
    do {
        if (at + bytes >= SL_INTERN_BYTES / share) return 0;
    } while (!atomic_compare_exchange_weak(&used, &at, at + (uint32_t)bytes + 1));
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    memcpy(in->space + at, text, bytes);
    return at;
}

static const char lost[] = SL_INTERN_LOST;

static const char *keep(const char *text, uint32_t share)
{
    if (!text) return NULL;
    struct texts *in = sl_table_at(&texts, sizeof(*in));
    if (!in) return lost;
    size_t bytes = strnlen(text, SL_INTERN_LONGEST);
    uint32_t slot = (uint32_t)hash_of(text, bytes), own = 0;
    for (uint32_t probe = 0; probe < MOST_PROBES; probe++, slot++) {
        uint32_t place = atomic_load_explicit(&in->places[slot % SLOTS], memory_order_acquire);
        if (!place) {
            if (!own) own = put(in, text, bytes, share);
            if (!own) return lost;
            /* If another thread was first, its text may be equal; then our copy is wasted. */
            if (atomic_compare_exchange_strong(&in->places[slot % SLOTS], &place, own))
                return in->space + own;
        }
        const char *there = in->space + place;
        if (!strncmp(there, text, bytes) && !there[bytes]) return there;
    }
    return lost;
}

const char *sl_intern(const char *text)
{
    return keep(text, 1);
}

const char *sl_intern_some(const char *text)
{
    return keep(text, 2);
}

/* The last byte of the space is never part of a text. */
bool sl_is_interned(const void *text)
{
    struct texts *in = atomic_load(&texts);
    return text == lost || (in && (uintptr_t)text - (uintptr_t)in->space < sizeof(in->space));
}
