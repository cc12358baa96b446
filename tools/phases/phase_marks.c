/* Phases from the ranges that the program named. The innermost range with a phase's name decides. A thread
 * may have no such range (PyTorch's backward pass has a thread of its own); its launches then belong to the
 * most recently begun range of any other thread. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/phases/phases.h"

enum { OPEN_MAX = 256 };

struct open {
    uint32_t thread, id;
    bool numbered; /* ended by its number instead of as the thread's innermost range */
    uint8_t phase;
};

enum phase phase_of_name(const char *name)
{
    /* Prefixes of words, in lower case. */
    static const struct {
        const char *word;
        uint8_t phase;
        bool whole;
    } words[] = {
        {"forward", PHASE_FORWARD, false},
        {"fwd", PHASE_FORWARD, false},
        {"backward", PHASE_BACKWARD, false},
        {"bwd", PHASE_BACKWARD, false},
        {"update", PHASE_UPDATE, false},
        {"optim", PHASE_UPDATE, false},
        {"evaluat", PHASE_EVALUATION, false},
        {"eval", PHASE_EVALUATION, true},
        {"validat", PHASE_EVALUATION, false},
        {"val", PHASE_EVALUATION, true},
        {"copy", PHASE_COPY, true},
        {"data", PHASE_COPY, true},
        {"dataload", PHASE_COPY, false},
        {"collective", PHASE_COLLECTIVE, false},
        {"allreduce", PHASE_COLLECTIVE, false},
        {"nccl", PHASE_COLLECTIVE, false},
    };
    char word[32];
    while (*name) {
        size_t length = 0;
        while (*name && !isalpha((unsigned char)*name)) name++;
        for (; isalpha((unsigned char)*name); name++) {
            /* a word inside, as in aWordInside */
            bool inner = length && isupper((unsigned char)*name) && islower((unsigned char)name[-1]);
            if (inner) break;
            if (length + 1 < sizeof(word)) word[length++] = (char)tolower((unsigned char)*name);
        }
        word[length] = 0;
        for (size_t i = 0; length && i < sizeof(words) / sizeof(*words); i++) {
            size_t n = strlen(words[i].word);
            if (words[i].whole ? !strcmp(word, words[i].word) : !strncmp(word, words[i].word, n))
                return words[i].phase;
        }
    }
    return PHASE_OTHER;
}

struct marking {
    struct open open[OPEN_MAX];
    uint32_t count;
};

static void close_range(struct marking *m, uint32_t index)
{
    memmove(m->open + index, m->open + index + 1, (m->count - index - 1) * sizeof(*m->open));
    m->count--;
}

static void apply(struct marking *m, const struct model_mark *mark)
{
    bool numbered = mark->kind == SL_MARK_BEGIN || mark->kind == SL_MARK_END;
    if (mark->kind == SL_MARK_PUSH || mark->kind == SL_MARK_BEGIN) {
        if (m->count == OPEN_MAX) return;
        m->open[m->count++] =
            (struct open){mark->thread, mark->id, numbered, (uint8_t)phase_of_name(mark->name)};
        return;
    }
    if (mark->kind != SL_MARK_POP && !numbered) return;
    for (uint32_t i = m->count; i-- > 0;) {
        const struct open *open = &m->open[i];
        if (open->numbered != numbered || (numbered ? open->id != mark->id : open->thread != mark->thread))
            continue;
        close_range(m, i);
        return;
    }
}

/* The phase in which `thread` launches at this point, or PHASE_OTHER. */
static uint8_t phase_now(const struct marking *m, uint32_t thread)
{
    uint8_t others = PHASE_OTHER;
    for (uint32_t i = 0; i < m->count; i++) {
        if (!m->open[i].phase) continue;
        if (m->open[i].thread == thread) return m->open[i].phase;
        if (!others) others = m->open[i].phase;
    }
    return others;
}

bool phases_from_marks(const struct model *model, uint8_t *of_launch)
{
    struct marking *m = model->marks.count ? calloc(1, sizeof(*m)) : NULL;
    bool any = false;
    if (!m) return false;
    size_t next = 0;
    for (uint32_t l = 0; l < model->launches.count; l++) {
        const struct model_launch *launch = &model->launches.at[l];
        for (; next < model->marks.count && model->marks.at[next].time_ns <= launch->time_ns; next++)
            apply(m, &model->marks.at[next]);
        uint8_t phase = phase_now(m, launch->thread);
        if (!phase) continue;
        of_launch[l] = phase;
        any = true;
    }
    free(m);
    return any;
}
