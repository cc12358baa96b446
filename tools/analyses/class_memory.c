/* Memory and traffic by class, in one pass over the births and deaths of memory, the movements and the
 * launches, all in the order of time. */
#include <stdlib.h>

#include "tools/analyses/figures.h"
#include "tools/analyses/pieces.h"
#include "tools/analyses/residency.h"
#include "tools/model/sorted.h"

struct change {
    uint64_t time_ns;
    size_t piece;
    bool ends;
};

struct contents { /* of a chunk */
    uint64_t of_class[CLASS_COUNT];
    bool on_device;
};

struct sweep {
    const struct model *model;
    const struct steady *steady;
    struct figures *out;
    struct pieces pieces;
    struct change *changes;
    size_t change_count, next_change, next_move;
    struct residency residency;
    struct sl_map index_of; /* chunk + 1 -> in `chunks` */
    MODEL_ARRAY(struct contents) chunks;
    uint64_t of_class[CLASS_COUNT]; /* on the device, or live (figures.by_lives) */
    uint64_t live;
    bool no_memory;
};

static bool find_changes(struct sweep *s, const struct phases *phases, uint64_t begin_ns, uint64_t end_ns)
{
    const struct model *model = s->model;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->born_ns <= end_ns && life->died_ns > begin_ns)
            pieces_add_life(model, phases, life, &s->pieces);
    }
    s->changes = malloc((2 * s->pieces.count + 1) * sizeof(*s->changes));
    if (!s->changes || s->pieces.no_memory) return false;
    for (size_t p = 0; p < s->pieces.count; p++) {
        const struct piece *piece = &s->pieces.at[p];
        s->changes[s->change_count++] = (struct change){piece->born_ns, p, false};
        if (piece->died_ns != MODEL_ALWAYS)
            s->changes[s->change_count++] = (struct change){piece->died_ns, p, true};
    }
    return sort_by_key(s->changes, s->change_count, sizeof(*s->changes), offsetof(struct change, time_ns));
}

static struct contents *contents_of(struct sweep *s, uint32_t chunk)
{
    uint32_t index = sl_map_get(&s->index_of, (uint64_t)chunk + 1);
    if (index != SL_NONE) return &s->chunks.at[index];
    if (s->chunks.count == s->chunks.room) {
        size_t room = s->chunks.room ? 2 * s->chunks.room : 256;
        struct contents *larger = realloc(s->chunks.at, room * sizeof(*larger));
        if (!larger) return NULL;
        s->chunks.at = larger;
        s->chunks.room = room;
    }
    if (!sl_map_put(&s->index_of, (uint64_t)chunk + 1, (uint32_t)s->chunks.count)) return NULL;
    s->chunks.at[s->chunks.count] = (struct contents){0};
    return &s->chunks.at[s->chunks.count++];
}

static void apply_change(struct sweep *s, const struct change *change)
{
    const struct piece *piece = &s->pieces.at[change->piece];
    uint64_t bytes = change->ends ? -piece->bytes : piece->bytes;
    struct contents *contents = piece->chunk == SL_NONE ? NULL : contents_of(s, piece->chunk);
    s->no_memory |= piece->chunk != SL_NONE && !contents;
    s->live += bytes;
    if (contents) contents->of_class[piece->class] += bytes;
    if (s->out->by_lives || (contents && contents->on_device)) s->of_class[piece->class] += bytes;
}

/* Divides the bytes of a copy among the classes in the chunk; what nothing lives in is of unknown class. */
static void count_copy(const struct contents *contents, const struct model_move *move, uint64_t *figures)
{
    unsigned first = move->kind == SL_ACTION_FETCH ? FIGURE_FETCHED_OF : FIGURE_EVICTED_OF;
    uint64_t live = 0, left = move->bytes;
    unsigned largest = CLASS_UNKNOWN;
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        live += contents->of_class[c];
        if (contents->of_class[c] > contents->of_class[largest]) largest = c;
    }
    for (unsigned c = 0; live && c < CLASS_COUNT; c++) {
        uint64_t part = (uint64_t)((unsigned __int128)move->bytes * contents->of_class[c] / live);
        figures[first + c] += part;
        left -= part;
    }
    figures[first + largest] += left;
}

static void apply_move(struct sweep *s, const struct model_move *move)
{
    struct contents *contents = contents_of(s, move->chunk);
    if (!contents) {
        s->no_memory = true;
        return;
    }
    bool copy = move->kind == SL_ACTION_FETCH || move->kind == SL_ACTION_EVICT;
    uint32_t at = copy && s->out->moved_classes ? steady_of_tick(s->model, s->steady, move->tick) : SL_NONE;
    if (at != SL_NONE) count_copy(contents, move, s->out->of[at]);
    residency_step(&s->residency, move->time_ns);
    bool on_device = residency_holds(&s->residency, move->chunk);
    for (unsigned c = 0; c < CLASS_COUNT && on_device != contents->on_device && !s->out->by_lives; c++)
        s->of_class[c] += on_device ? contents->of_class[c] : -contents->of_class[c];
    contents->on_device = on_device;
}

/* Applies everything up to `time_ns`. */
static void advance(struct sweep *s, uint64_t time_ns)
{
    const struct model *model = s->model;
    for (;;) {
        uint64_t change_ns =
            s->next_change < s->change_count ? s->changes[s->next_change].time_ns : UINT64_MAX;
        uint64_t move_ns =
            s->next_move < model->moves.count ? model->moves.at[s->next_move].time_ns : UINT64_MAX;
        if (s->next_change < s->change_count && change_ns <= move_ns && change_ns <= time_ns)
            apply_change(s, &s->changes[s->next_change++]);
        else if (s->next_move < model->moves.count && move_ns <= time_ns)
            apply_move(s, &model->moves.at[s->next_move++]);
        else
            break;
    }
    residency_step(&s->residency, time_ns);
}

static void keep_most(uint64_t *peak, uint64_t value)
{
    if (value > *peak) *peak = value;
}

static void sample(const struct sweep *s, uint64_t *figures)
{
    keep_most(&figures[FIGURE_PEAK], s->residency.bytes);
    keep_most(&figures[FIGURE_NEED], s->live);
    figures[FIGURE_MEAN] += s->residency.bytes;
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        keep_most(&figures[FIGURE_PEAK_OF + c], s->of_class[c]);
        figures[FIGURE_MEAN_OF + c] += s->of_class[c];
    }
}

static void run(struct sweep *s)
{
    const struct model *model = s->model;
    uint64_t now_ns = 0;
    for (uint32_t i = 0; i < s->steady->count && !s->no_memory; i++) {
        const struct step *step = &s->steady->at[i];
        uint64_t *figures = s->out->of[i];
        for (uint32_t l = step->begin; l < step->end; l++) {
            /* Launches are in the order of ticks: the times of two threads may be the other way round. */
            if (model->launches.at[l].time_ns > now_ns) now_ns = model->launches.at[l].time_ns;
            advance(s, now_ns);
            sample(s, figures);
        }
        for (unsigned f = FIGURE_MEAN; f < FIGURE_MEAN_OF + CLASS_COUNT; f++)
            figures[f] /= step->end - step->begin;
    }
    advance(s, UINT64_MAX); /* the movements after the last launch */
}

bool figures_of_memory(const struct model *model, const struct phases *phases, const struct steady *steady,
                       struct figures *out)
{
    struct sweep s = {.model = model, .steady = steady, .out = out};
    uint64_t begin_ns = model->launches.at[steady->at[0].begin].time_ns;
    uint32_t last = steady->at[steady->count - 1].end - 1;
    bool good = residency_start(model, &s.residency);
    out->by_lives = s.residency.by_lives || !model->slabs.count;
    out->moved_classes = model->slabs.count && phases->found;
    good = good && find_changes(&s, phases, begin_ns, model->launches.at[last].time_ns);
    if (good) run(&s);
    good = good && !s.no_memory && !s.residency.no_memory;
    residency_free(&s.residency);
    pieces_free(&s.pieces);
    free(s.changes);
    sl_map_free(&s.index_of);
    free(s.chunks.at);
    return good;
}
