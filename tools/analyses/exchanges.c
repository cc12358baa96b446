#include "tools/analyses/exchanges.h"

#include <stdlib.h>

/* One end of a message. */
struct message_end {
    uint64_t communicator, from, to, bytes;
    bool receives;
    uint32_t rank, entry, ordinal; /* ordinal: within the entry */
};

/* Entries with messages are nodes, numbered through all ranks. */
struct matching {
    struct meetings *meetings;
    struct message_end *ends;
    size_t end_count, node_count;
    size_t *base;           /* for each rank, the number of entry 0, which may not be a node */
    size_t *parent;         /* union-find; a root represents the launches that messages connect */
    size_t *size, *arrived; /* of a root: its nodes, and those of them that their ranks have reached */
    size_t *next;           /* for each rank, its first entry that is not yet in a meeting */
    bool *waits;            /* for each rank: it has arrived with that entry */
};

static bool matching_start(struct matching *m, struct meetings *meetings)
{
    size_t ranks = meetings->rank_count, ends = 0;
    *m = (struct matching){.meetings = meetings};
    m->base = calloc(ranks + 1, sizeof(*m->base));
    m->next = calloc(ranks + 1, sizeof(*m->next));
    m->waits = calloc(ranks + 1, sizeof(*m->waits));
    if (!m->base || !m->next || !m->waits) return false;
    for (size_t r = 0; r < ranks; r++) {
        const struct meeting_rank *rank = &meetings->ranks[r];
        m->base[r] = m->node_count - rank->silent;
        m->next[r] = rank->silent;
        m->node_count += rank->count - rank->silent;
        for (size_t e = rank->silent; e < rank->count; e++) ends += rank->entries[e].messages;
    }
    m->parent = calloc(m->node_count + 1, sizeof(*m->parent));
    m->size = calloc(m->node_count + 1, sizeof(*m->size));
    m->arrived = calloc(m->node_count + 1, sizeof(*m->arrived));
    m->ends = calloc(ends + 1, sizeof(*m->ends));
    return m->parent && m->size && m->arrived && m->ends;
}

static void matching_finish(struct matching *m)
{
    void *const arrays[] = {m->ends, m->base, m->parent, m->size, m->arrived, m->next, m->waits};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) free(arrays[i]);
}

/* --- which launches are connected */

static size_t root_of(struct matching *m, size_t node)
{
    while (m->parent[node] != node) node = m->parent[node] = m->parent[m->parent[node]];
    return node;
}

static void connect(struct matching *m, const struct message_end *a, const struct message_end *b)
{
    size_t one = root_of(m, m->base[a->rank] + a->entry), other = root_of(m, m->base[b->rank] + b->entry);
    if (one == other) return;
    m->parent[other] = one;
    m->size[one] += m->size[other];
}

#define ORDER(a, b, field)                                                                                   \
    if ((a)->field != (b)->field) return (a)->field < (b)->field ? -1 : 1

static int by_way(const void *one, const void *other)
{
    const struct message_end *a = one, *b = other;
    ORDER(a, b, communicator);
    ORDER(a, b, from);
    ORDER(a, b, to);
    ORDER(a, b, receives);
    ORDER(a, b, rank);
    ORDER(a, b, entry);
    ORDER(a, b, ordinal);
    return 0;
}

static void add_ends(struct matching *m, uint32_t rank, uint32_t entry)
{
    const struct meeting_rank *its = &m->meetings->ranks[rank];
    const struct meeting_entry *of = &its->entries[entry];
    for (uint32_t i = 0; i < of->messages; i++) {
        const struct model_message *message = &its->model->messages.at[of->message + i];
        m->ends[m->end_count++] = (struct message_end){
            .communicator = message->communicator,
            .from = message->receives ? message->peer : message->own,
            .to = message->receives ? message->own : message->peer,
            .bytes = message->bytes,
            .receives = message->receives,
            .rank = rank,
            .entry = entry,
            .ordinal = i,
        };
    }
}

static bool is_one_way(const struct message_end *a, const struct message_end *b)
{
    return a->communicator == b->communicator && a->from == b->from && a->to == b->to;
}

/* Precondition: the ends are sorted. */
static void connect_all(struct matching *m)
{
    for (size_t first = 0, end; first < m->end_count; first = end) {
        size_t receives = first;
        for (end = first; end < m->end_count && is_one_way(&m->ends[first], &m->ends[end]); end++)
            receives += !m->ends[end].receives;
        for (size_t s = first, r = receives; s < receives && r < end; s++, r++) {
            if (m->ends[s].bytes != m->ends[r].bytes) break; /* one of them is missing */
            connect(m, &m->ends[s], &m->ends[r]);
        }
    }
}

static void find_connections(struct matching *m)
{
    for (size_t node = 0; node < m->node_count; node++) {
        m->parent[node] = node;
        m->size[node] = 1;
    }
    for (size_t r = 0; r < m->meetings->rank_count; r++)
        for (size_t e = m->next[r]; e < m->meetings->ranks[r].count; e++)
            add_ends(m, (uint32_t)r, (uint32_t)e);
    qsort(m->ends, m->end_count, sizeof(*m->ends), by_way);
    connect_all(m);
}

/* --- in which order they meet */

/* The rank's next entry in the communicator that is connected with another one; NULL: there is none. */
static struct meeting_entry *front(struct matching *m, size_t rank, uint64_t communicator)
{
    struct meeting_rank *its = &m->meetings->ranks[rank];
    for (; m->next[rank] < its->count; m->next[rank]++) {
        struct meeting_entry *entry = &its->entries[m->next[rank]];
        if (entry->communicator != communicator) return NULL;
        if (m->size[root_of(m, m->base[rank] + m->next[rank])] > 1) return entry;
    }
    return NULL;
}

static uint64_t least_communicator(const struct matching *m)
{
    uint64_t least = 0;
    for (size_t r = 0; r < m->meetings->rank_count; r++) {
        const struct meeting_rank *its = &m->meetings->ranks[r];
        if (m->next[r] == its->count) continue;
        uint64_t communicator = its->entries[m->next[r]].communicator;
        if (!least || communicator < least) least = communicator;
    }
    return least;
}

/* All that wait at this root meet. */
static void meet(struct matching *m, size_t root)
{
    struct meetings *meetings = m->meetings;
    size_t first = meetings->member_count;
    for (size_t r = 0; r < meetings->rank_count; r++) {
        if (!m->waits[r] || root_of(m, m->base[r] + m->next[r]) != root) continue;
        meetings->members[meetings->member_count++] =
            (struct meeting_member){(uint32_t)r, (uint32_t)m->next[r]};
        meetings->ranks[r].entries[m->next[r]++].meeting = meetings->count;
        m->waits[r] = false;
    }
    meetings->at[meetings->count++] = (struct meeting){first, (uint32_t)(meetings->member_count - first)};
    meetings->shared++;
}

/* They do not meet: a rank would have to be there twice, or before itself. */
static void give_up(struct matching *m, size_t root)
{
    m->size[root] = 1;
    for (size_t r = 0; r < m->meetings->rank_count; r++)
        m->waits[r] = m->waits[r] && root_of(m, m->base[r] + m->next[r]) != root;
}

/* Lets each rank go to the next place where it waits. False: none can go on; *stuck: the root of most
 * launches at which one waits, as a chain is only taken to meet, or SIZE_MAX. */
static bool go_on(struct matching *m, uint64_t communicator, size_t *stuck)
{
    bool moved = false;
    *stuck = SIZE_MAX;
    for (size_t r = 0; r < m->meetings->rank_count; r++) {
        if (!front(m, r, communicator)) continue;
        size_t root = root_of(m, m->base[r] + m->next[r]);
        m->arrived[root] += !m->waits[r];
        moved |= !m->waits[r];
        m->waits[r] = true;
        if (m->arrived[root] == m->size[root])
            meet(m, root);
        else if (*stuck == SIZE_MAX || m->size[root] > m->size[*stuck])
            *stuck = root;
    }
    return moved;
}

bool exchanges_match(struct meetings *meetings)
{
    struct matching m;
    bool good = matching_start(&m, meetings);
    if (good) find_connections(&m);
    for (uint64_t communicator; good && (communicator = least_communicator(&m));) {
        size_t stuck;
        while (go_on(&m, communicator, &stuck)) {
        }
        if (stuck != SIZE_MAX) give_up(&m, stuck);
    }
    matching_finish(&m);
    return good;
}
