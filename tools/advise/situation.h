/* The run that is advised on: how it was set, and what a replay of its trace says of it. */
#ifndef SLUICE_TOOL_SITUATION_H
#define SLUICE_TOOL_SITUATION_H

#include "tools/plan/plan_job.h"
#include "tools/replay/replay.h"

/* What the user says of the run; everything else comes from the trace. */
struct situation_wish {
    uint64_t budget_bytes, chunk_bytes; /* 0: as recorded */
    struct plan_link link;              /* 0: as measured, or the assumed speed */
    uint64_t sharers;                   /* ranks of the link, if its speed was not measured */
    struct sl_sim_driver driver;
    bool as_measured; /* `driver` is for traces that say nothing */
    unsigned plan_attempts;
    uint64_t transfer_ns;
    const char *policy, *backing; /* NULL: as recorded; none */
};

struct situation {
    const struct plan_job *job;
    struct replay_setting setting;
    struct replay_result now; /* with this setting */
    uint64_t resident_ns;     /* a step with all data on the device */
    uint64_t need_bytes;      /* bytes of chunks that the program needs */
    uint64_t link_ns;         /* no choice of movements of these chunks takes the link less time in a step */
    uint64_t most_bytes;      /* the largest budget that the device has room for; UINT64_MAX: unknown */
    uint64_t launches, guessed;
    double guessed_percent; /* of the launches' time */
    size_t streams;         /* of the first rank; the replay orders their launches one after the other */
    bool fits;              /* everything is on the device */
    bool daemon_inline;     /* the recorded or default value of SLUICE_DAEMON */
};

/* One replay with another setting. */
struct trial {
    struct replay_setting setting;
    struct replay_result result;
};

/* Runs the trials, which take their settings from `setting`. False: an error was printed on stderr. */
bool trials_run(const struct replay_job *job, struct trial *trials, size_t count);

/* False: an error was printed on stderr. `job` must outlive *out. */
bool situation_find(const struct plan_job *job, const struct situation_wish *wish, struct situation *out);

static inline uint64_t situation_step(const struct situation *situation)
{
    return situation->now.steady.took_ns;
}

static inline uint64_t moved_bytes(const struct replay_result *result)
{
    const struct replay_iteration *steady = &result->steady;
    return steady->bytes_in + steady->bytes_out + steady->remote_bytes_used;
}

/* So much is guessed that the user should know it first. */
static inline bool situation_is_guessed(const struct situation *situation)
{
    return situation->guessed_percent > REPLAY_GUESSED_PERCENT;
}

#endif
