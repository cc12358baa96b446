#include "profile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

struct sc_profile {
    pthread_mutex_t lock;
    struct sc_profile_kind kinds[SC_PROFILE_KINDS];
};

struct sc_profile *sc_profile_new(void)
{
    struct sc_profile *profile = calloc(1, sizeof *profile);
    if (profile) pthread_mutex_init(&profile->lock, NULL);
    return profile;
}

void sc_profile_free(struct sc_profile *profile)
{
    if (profile) pthread_mutex_destroy(&profile->lock);
    free(profile);
}

void sc_profile_add(struct sc_profile *profile, const struct sc_profile_kind *kinds)
{
    pthread_mutex_lock(&profile->lock);
    for (unsigned i = 0; i < SC_PROFILE_KINDS; i++) {
        profile->kinds[i].executions += kinds[i].executions;
        profile->kinds[i].lanes += kinds[i].lanes;
        profile->kinds[i].ticks += kinds[i].ticks;
    }
    pthread_mutex_unlock(&profile->lock);
}

/* Maps 1, 2, 4, 8 to 0, 1, 2, 3 */
static unsigned power_of(unsigned bytes)
{
    return (unsigned)__builtin_ctz(bytes | 8);
}

static unsigned kind_of(const struct sc_op *op)
{
    if (op->code != SC_OP_LOAD && op->code != SC_OP_STORE) return op->code;
    const struct sc_access *access = &op->access;
    unsigned index = (op->code == SC_OP_STORE) * 6u + access->space;
    return SC_PROFILE_MEMORY + (index * 4 + power_of(access->element_bytes)) * 3 +
           power_of(access->count) % 3;
}

static void note(struct sc_profile_kind *kind, uint64_t lanes, uint64_t ticks)
{
    kind->executions++;
    kind->lanes += lanes;
    kind->ticks += ticks;
}

void sc_profile_note(struct sc_profile_kind *kinds, const struct sc_op *op, uint64_t lanes, uint64_t ticks)
{
    if (op->code != SC_OP_BATCH) {
        note(&kinds[kind_of(op)], lanes, ticks);
        return;
    }
    for (unsigned i = 1; i < op->advance; i++)
        note(&kinds[kind_of(op + i)], lanes, ticks / (op->advance - 1u));
}

static void name_memory(unsigned index, char name[SC_PROFILE_NAME_BYTES])
{
    static const char *const spaces[] = {"", ".global", ".shared", ".local", ".const", ".param"};
    static const char *const counts[] = {"", ".v2", ".v4"};
    unsigned space = index / 12;
    snprintf(name, SC_PROFILE_NAME_BYTES, "%s%s%s.b%u", space < 6 ? "ld" : "st", spaces[space % 6],
             counts[index % 3], 8u << index / 3 % 4);
}

static void name_code(unsigned code, char name[SC_PROFILE_NAME_BYTES])
{
    static const char *const others[] = {
        [SC_OP_ATOMIC] = "atom",
        [SC_OP_SHUFFLE] = "shfl",
        [SC_OP_VOTE] = "vote",
        [SC_OP_MATCH] = "match",
        [SC_OP_REDUX] = "redux",
        [SC_OP_ACTIVE_MASK] = "activemask",
        [SC_OP_CLOCK] = "clock",
        [SC_OP_TRAP] = "trap",
        [SC_OP_YIELD] = "nanosleep",
        [SC_OP_HEAP] = "malloc, free",
        [SC_OP_PRINT] = "vprintf",
        [SC_OP_ASSERT] = "assert",
        [SC_OP_MATRIX] = "mma",
        [SC_OP_FRAGMENT_LOAD] = "wmma.load",
        [SC_OP_FRAGMENT_STORE] = "wmma.store",
        [SC_OP_ROWS_LOAD] = "ldmatrix",
        [SC_OP_ROWS_STORE] = "stmatrix",
        [SC_OP_TRANSPOSE] = "movmatrix",
        [SC_OP_COPY] = "cp.async",
        [SC_OP_MBARRIER] = "mbarrier",
    };
    const char *text = code < SC_OP_LANE_COUNT ? sc_rows[code].name : NULL;
    if (!text && code < sizeof others / sizeof *others) text = others[code];
    snprintf(name, SC_PROFILE_NAME_BYTES, "%s", text ? text : "?");
    for (char *at = name; *at && code < SC_OP_LANE_COUNT; at++)
        if (*at == '_') *at = '.';
}

struct sc_profile_kind sc_profile_kind(struct sc_profile *profile, unsigned index,
                                       char name[SC_PROFILE_NAME_BYTES])
{
    static const char *const ends[] = {[SC_END_FALL] = "(next block)",
                                       [SC_END_BRANCH] = "bra",
                                       [SC_END_INDEXED] = "brx.idx",
                                       [SC_END_EXIT] = "exit",
                                       [SC_END_BARRIER] = "bar.sync"};
    if (index >= SC_PROFILE_END)
        snprintf(name, SC_PROFILE_NAME_BYTES, "%s", ends[index - SC_PROFILE_END]);
    else if (index >= SC_PROFILE_MEMORY)
        name_memory(index - SC_PROFILE_MEMORY, name);
    else
        name_code(index, name);
    pthread_mutex_lock(&profile->lock);
    struct sc_profile_kind kind = profile->kinds[index];
    pthread_mutex_unlock(&profile->lock);
    return kind;
}
