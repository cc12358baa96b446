#include "core/learned.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/backing.h"
#include "base/log.h"
#include "base/options.h"
#include "base/output.h"
#include "core/core.h"
#include "trace/objects.h"
#include "recording/recording.h"

#define LEAST_ITERATIONS 2 /* before the second one came as predicted, no plan is possible */

/* What the parts of all devices have in common. */
struct file {
    pthread_mutex_t lock; /* guards what changes, and the file's contents; no other lock is taken under it */
    char *path;
    const struct sl_recording *recording;
    struct sl_profile profile;       /* the profile that was read, less the parts that were taken; guarded */
    struct sl_profile_wanted wanted; /* guarded */
    uint32_t users;                  /* guarded */
    bool is_shared;                  /* the process has several devices, or the profile has; guarded */
    bool in_the_way;                 /* the file at `path` is another program's */
    bool failed;                     /* the last write failed, and that was logged; guarded */
    _Atomic bool exported;           /* `wanted` has a rule that the profile at `path` lacks */
};

struct sl_learned {
    struct sl_core *core;
    struct file *file;
    uint32_t device;           /* 0: the first */
    struct sl_profile profile; /* its part of the profile that was read, until it is used */
    size_t primed;             /* symbols */
    bool over;                 /* what was learned was forgotten; the profile is final */
    sl_symbol *head;           /* the first symbols, kept once the program has fed more than are written */
    uint64_t steady, period;   /* at the last iteration's end: symbols fed; symbols in an iteration */
    uint64_t mispredictions;   /* so far at that time */
};

static bool has_iterated(const struct sl_learned *learned)
{
    return learned->core->history.iterations >= LEAST_ITERATIONS || atomic_load(&learned->file->exported);
}

/* Logs what is wrong with the file. */
static void complain(struct file *file, enum sl_status status, bool is_one)
{
    file->in_the_way = !is_one;
    if (status == SL_ERR_IO && errno == ENOENT) return;
    const char *what = status == SL_ERR_IO ? strerror(errno) : sl_status_text(status);
    sl_log(SL_LOG_WARN, "cannot use the profile %s (%s): it is ignored%s", file->path, what,
           is_one ? "" : ", and left as it is; SLUICE_OVERWRITE=1 or --force would replace it");
}

/* False: the profile is another version's or program's. */
static bool accept(struct file *file)
{
    const struct sl_profile *profile = &file->profile;
    const char *which;
    if (strcmp(profile->sluice, SLUICE_VERSION) != 0) {
        sl_log(SL_LOG_WARN, "the profile %s was written by sluice %s: it is ignored", file->path,
               profile->sluice);
        return false;
    }
    switch (sl_identity_match(profile->objects, profile->object_count, &which)) {
    case SL_IDENTITY_FITS:
        return true;
    case SL_IDENTITY_OTHER_VERSION:
        sl_log(SL_LOG_WARN, "the profile %s is of another build of %s: it is ignored", file->path, which);
        return false;
    case SL_IDENTITY_OTHER_PROGRAM:
        break;
    }
    sl_log(SL_LOG_WARN, "the profile %s is of another program (%s): it is ignored%s", file->path, which,
           sl_file_overwrites() ? "" : ", and left as it is; SLUICE_OVERWRITE=1 or --force would replace it");
    file->in_the_way = !sl_file_overwrites();
    return false;
}

static char *expanded(const char *option)
{
    char *path = malloc(PATH_MAX);
    if (path && sl_options_expand(option, path, PATH_MAX)) return path;
    free(path);
    sl_log(SL_LOG_WARN, "the name of the profile is too long; there is none");
    return NULL;
}

/* Accepts a file that has only a path, or NULL. */
static void leave_file(struct file *file)
{
    if (!file) return;
    pthread_mutex_lock(&file->lock);
    bool last = --file->users == 0;
    pthread_mutex_unlock(&file->lock);
    if (!last) return;
    pthread_mutex_destroy(&file->lock);
    sl_profile_free(&file->profile);
    free(file->wanted.backing);
    free(file->path);
    free(file);
}

static struct file *open_file(const char *option)
{
    bool is_one;
    const char *why;
    const struct sl_recording *recording = sl_recording(&why);
    if (!recording) {
        sl_log(SL_LOG_WARN, "there is no profile: %s", why);
        return NULL;
    }
    struct file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = expanded(option))) {
        free(file);
        return NULL;
    }
    pthread_mutex_init(&file->lock, NULL);
    file->users = 1;
    file->recording = recording;
    enum sl_status status = recording->profile_read(file->path, &file->profile, &is_one);
    if (status)
        complain(file, status, is_one);
    else if (!accept(file))
        sl_profile_free(&file->profile);
    file->is_shared = file->profile.other_count > 0;
    file->wanted = file->profile.wanted;
    file->profile.wanted.backing = NULL;
    return file;
}

/* Takes over a use of the file. */
static struct sl_learned *new_part(struct file *file, uint32_t device, struct sl_core *core)
{
    struct sl_learned *learned = calloc(1, sizeof *learned);
    if (!learned) {
        leave_file(file);
        return NULL;
    }
    learned->core = core;
    learned->file = file;
    learned->device = device;
    pthread_mutex_lock(&file->lock);
    sl_profile_take_device(&file->profile, device, &learned->profile);
    file->is_shared |= device > 0;
    pthread_mutex_unlock(&file->lock);
    return learned;
}

struct sl_learned *sl_learned_read(const char *path, struct sl_core *core)
{
    struct file *file = path[0] ? open_file(path) : NULL;
    return file ? new_part(file, 0, core) : NULL;
}

struct sl_learned *sl_learned_join(struct sl_learned *first, uint32_t device, struct sl_core *core)
{
    if (!first) return NULL;
    pthread_mutex_lock(&first->file->lock);
    first->file->users++;
    pthread_mutex_unlock(&first->file->lock);
    return new_part(first->file, device, core);
}

void sl_learned_close(struct sl_learned *learned)
{
    if (!learned) return;
    sl_profile_free(&learned->profile);
    leave_file(learned->file);
    free(learned->head);
    free(learned);
}

struct sl_profile_wanted sl_learned_wanted(const struct sl_learned *learned)
{
    struct sl_profile_wanted wanted = {0};
    if (learned && !learned->device) wanted = learned->file->wanted;
    uint64_t chunk = wanted.chunk_bytes;
    if (chunk < SL_BLOCK_BYTES || chunk > SL_GIB || chunk & (chunk - 1)) wanted.chunk_bytes = 0;
    return wanted;
}

void sl_learned_use(struct sl_learned *learned)
{
    if (!learned->profile.string_count || learned->core->policy->memory != SL_MEMORY_MOVED) return;
    learned->primed = sl_learned_prime(learned->core, &learned->profile);
    learned->core->history.primed_symbols = learned->primed;
    if (learned->primed)
        sl_log(SL_LOG_INFO, "the profile %s predicts %zu events", learned->file->path, learned->primed);
    else
        sl_log(SL_LOG_WARN, "not enough memory for the profile %s: it is ignored", learned->file->path);
    sl_profile_free(&learned->profile);
}

/* Copies the first symbols before the predictor's ring overwrites them. */
static void keep_head(struct sl_learned *learned)
{
    if (learned->head || learned->core->history.fed < SL_PROFILE_LONGEST) return;
    learned->head = malloc(SL_PROFILE_LONGEST * sizeof *learned->head);
    if (learned->head && sl_predictor_begun(learned->core->history.predictor, learned->head,
                                            SL_PROFILE_LONGEST) < SL_PROFILE_LONGEST) {
        free(learned->head);
        learned->head = NULL;
        learned->over = true;
    }
}

/* Puts the rule in front of the others. Precondition: the file's lock is held. */
static void add_rule(struct file *file, uint64_t site)
{
    char *rules;
    const char *before = file->wanted.backing ? file->wanted.backing : "";
    if (asprintf(&rules, "site:%016llx=device%s%s", (unsigned long long)site, *before ? "," : "", before) < 0)
        return;
    struct sl_backing parsed;
    if (strlen(rules) > SL_PROFILE_LONGEST_TEXT || !sl_backing_parse(rules, &parsed)) {
        free(rules);
        return;
    }
    free(file->wanted.backing);
    file->wanted.backing = rules;
    atomic_store(&file->exported, true);
}

void sl_learned_exported(struct sl_learned *learned, uint64_t site)
{
    if (!learned || learned->device || learned->over) return; /* the first part is told of all */
    pthread_mutex_lock(&learned->file->lock);
    add_rule(learned->file, site);
    pthread_mutex_unlock(&learned->file->lock);
}

void sl_learned_iteration(struct sl_learned *learned)
{
    if (learned->over) return;
    struct sl_history *history = &learned->core->history;
    learned->steady = history->fed;
    learned->period = sl_history_period(history);
    learned->mispredictions = sl_history_counts(history).mispredictions;
    keep_head(learned);
    /* The program may be killed at any time, so the profile is written whenever the number of iterations has
     * doubled; the total cost is about twice the last write. A profile that was read is not replaced by a
     * shorter one. */
    bool doubled = !(history->iterations & (history->iterations - 1));
    if (doubled && !learned->file->failed && history->fed >= learned->primed && sl_learned_something(learned))
        sl_learned_write(learned);
}

bool sl_learned_something(const struct sl_learned *learned)
{
    if (!learned || learned->file->in_the_way || learned->over || !has_iterated(learned)) return false;
    return !learned->primed || learned->mispredictions > 0 || atomic_load(&learned->file->exported);
}

static enum sl_status collect(struct sl_learned *learned, struct sl_profile *out)
{
    size_t count =
        learned->core->history.fed < SL_PROFILE_LONGEST ? learned->core->history.fed : SL_PROFILE_LONGEST;
    if (learned->head) return sl_learned_collect(learned->core, learned->head, count, learned->steady, out);
    sl_symbol *head = malloc(count * sizeof *head + 1);
    enum sl_status status = SL_ERR_NO_MEMORY;
    if (head) {
        count = sl_predictor_begun(learned->core->history.predictor, head, count);
        status =
            count ? sl_learned_collect(learned->core, head, count, learned->steady, out) : SL_ERR_UNSUPPORTED;
    }
    free(head);
    return status;
}

/* Puts the other devices' parts around that of `learned`, as they are in the file. Precondition: the file's
 * lock is held. */
static enum sl_status add_others(const struct sl_learned *learned, struct sl_profile *profile)
{
    struct sl_profile before = {0}, own;
    enum sl_status status = SL_OK;
    if (!learned->file->is_shared) return SL_OK;
    sl_profile_take_device(profile, 0, &own);
    if (learned->file->recording->profile_read(learned->file->path, &before, NULL) == SL_OK &&
        strcmp(before.sluice, profile->sluice) == 0)
        for (uint32_t d = 0; d <= before.other_count && status == SL_OK; d++) {
            struct sl_profile part;
            sl_profile_take_device(&before, d, &part);
            status = sl_profile_put_device(profile, d, &part);
            sl_profile_free(&part);
        }
    sl_profile_free(&before);
    if (status == SL_OK) status = sl_profile_put_device(profile, learned->device, &own);
    sl_profile_free(&own);
    return status;
}

/* Precondition: the file's lock is held. */
static enum sl_status write_parts(struct sl_learned *learned, struct sl_profile *profile)
{
    struct file *file = learned->file;
    profile->properties.period = learned->period;
    enum sl_status status = add_others(learned, profile);
    profile->wanted = file->wanted;
    if (status == SL_OK) status = file->recording->profile_write(file->path, profile);
    profile->wanted.backing = NULL;
    return status;
}

static enum sl_status write_profile(struct sl_learned *learned)
{
    struct sl_profile profile = {0};
    struct file *file = learned->file;
    enum sl_status status = collect(learned, &profile);
    pthread_mutex_lock(&file->lock);
    if (status == SL_OK) status = write_parts(learned, &profile);
    bool said = file->failed;
    file->failed = status != SL_OK;
    pthread_mutex_unlock(&file->lock);
    if (status && !said)
        sl_log(SL_LOG_WARN, "cannot write the profile %s: %s", file->path,
               status == SL_ERR_IO ? sl_file_problem(&sl_file_profile, errno) : sl_status_text(status));
    sl_profile_free(&profile);
    return status;
}

enum sl_status sl_learned_write(struct sl_learned *learned)
{
    int cancel_state;
    if (!learned || learned->file->in_the_way || learned->over || !has_iterated(learned))
        return SL_ERR_UNSUPPORTED;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); /* the order lock is held */
    enum sl_status status = write_profile(learned);
    pthread_setcancelstate(cancel_state, NULL);
    return status;
}

void sl_learned_forget(struct sl_learned *learned)
{
    if (sl_learned_something(learned)) sl_learned_write(learned);
    learned->over = true;
}
