#include "core/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"

#define PAGES(bytes) (((bytes) + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES)
#define HEADER_BYTES PAGES(sizeof(struct sl_live))
#define STATS_BYTES PAGES(sizeof(struct sl_stats))
#define ITERATIONS_BYTES PAGES(SL_MAX_ITERATIONS * sizeof(struct sl_counts))
#define FILE_BYTES (HEADER_BYTES + STATS_BYTES + ITERATIONS_BYTES)

static const struct sl_file_kind live_kind = SL_FILE_KIND("not of this kind", SL_LIVE_MAGIC);
static char opened[PATH_MAX]; /* path of the file while it exists; else "" */
static struct sl_output file = {.fd = -1};

uint64_t sl_process_began(pid_t process)
{
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (got <= 0) return 0;
    text[got] = 0;
    /* "PID (NAME) STATE ...": the name may contain any character. */
    const char *at = strrchr(text, ')');
    if (!at || strlen(at) < 4 || at[2] == 'Z' || at[2] == 'X') return 0;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Writes zeros so that the disk has room for all blocks. */
static bool fill(const struct sl_output *created)
{
    static const char zeros[1 << 14];
    for (size_t done = 0; done < FILE_BYTES; done += sizeof(zeros)) {
        size_t rest = FILE_BYTES - done;
        if (sl_output_write(created, zeros, rest < sizeof(zeros) ? rest : sizeof(zeros)) != SL_OK)
            return false;
    }
    return true;
}

static void fill_header(struct sl_live *live, const struct sl_options *options, const char *stats_path)
{
    memcpy(live->magic, SL_LIVE_MAGIC, sizeof(live->magic));
    snprintf(live->version, sizeof(live->version), "%s", SLUICE_VERSION);
    live->header_bytes = sizeof(struct sl_live);
    live->stats_bytes = sizeof(struct sl_stats);
    live->iterations = SL_MAX_ITERATIONS;
    live->process = (uint32_t)getpid();
    live->process_began = sl_process_began(getpid());
    live->verbose = options->verbose;
    snprintf(live->program, sizeof(live->program), "%.15s", program_invocation_short_name);
    snprintf(live->stats, sizeof(live->stats), "%s", stats_path);
    snprintf(live->log, sizeof(live->log), "%s", options->log);
}

struct sl_live *sl_live_open(const char *path, const struct sl_options *options, const char *stats_path)
{
    static struct sl_live header; /* there is one file in a process */
    struct sl_output created = {.fd = -1};
    if (strlen(path) >= sizeof(opened) || sl_output_open(path, &live_kind, &created) != SL_OK) goto error;
    if (!fill(&created)) {
        unlink(path);
        goto error;
    }
    file = created;
    strcpy(opened, path);
    fill_header(&header, options, stats_path);
    sl_output_put_at(file.fd, &header, sizeof(header), 0);
    return &header;

error:
    sl_log(SL_LOG_INFO, "no figures are kept for a sudden end: cannot write %s: %s", path,
           sl_file_problem(&live_kind, errno));
    sl_output_close(&created);
    return NULL;
}

/* Copies words that other threads may change meanwhile. */
static void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *out = to;
    const uint64_t *in = from;
    for (size_t i = 0; i < bytes / sizeof(*in); i++) out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

_Static_assert(sizeof(struct sl_stats) % sizeof(uint64_t) == 0 &&
                   sizeof(struct sl_counts) % sizeof(uint64_t) == 0,
               "they are copied word by word");

/* The process may end between two writes: iterations that `copy` calls over are in the file before it is. */
void sl_live_write(struct sl_live *live, const struct sl_stats *stats)
{
    static uint32_t written; /* iterations before this one are complete in the file */
    uint64_t copy[sizeof(*stats) / sizeof(uint64_t)], counts[sizeof(struct sl_counts) / sizeof(uint64_t)];
    if (!sl_output_valid(&file)) return;
    copy_words(copy, stats, sizeof(copy));
    uint32_t iteration = atomic_load(&stats->iteration);
    for (uint32_t i = written; i <= iteration && i < SL_MAX_ITERATIONS; i++) {
        copy_words(counts, &stats->iterations[i], sizeof(counts));
        off_t at = (off_t)(HEADER_BYTES + STATS_BYTES + i * sizeof(counts));
        if (!sl_output_put_at(file.fd, counts, sizeof(counts), at)) return;
    }
    written = iteration;
    atomic_store(&live->state, SL_LIVE_COUNTED);
    if (sl_output_put_at(file.fd, copy, sizeof(copy), HEADER_BYTES))
        sl_output_put_at(file.fd, live, sizeof(*live), 0);
}

void sl_live_close(struct sl_live *live)
{
    if (!live || !opened[0]) return;
    atomic_store(&live->state, SL_LIVE_REPORTED);
    if (sl_output_valid(&file)) sl_output_put_at(file.fd, live, sizeof(*live), 0);
    sl_output_close(&file);
    unlink(opened);
    opened[0] = 0;
}

void sl_live_leave(struct sl_live *live)
{
    if (!live) return;
    sl_output_close(&file);
    opened[0] = 0;
}

/* --- for the reader */

static bool read_at(int fd, void *to, size_t bytes, off_t at)
{
    return pread(fd, to, bytes, at) == (ssize_t)bytes;
}

/* Terminates the texts, which may lack an end in a damaged file. */
static void end_texts(struct sl_live *live)
{
    live->version[sizeof(live->version) - 1] = 0;
    live->program[sizeof(live->program) - 1] = 0;
    live->stats[sizeof(live->stats) - 1] = 0;
    live->log[sizeof(live->log) - 1] = 0;
    live->summary.policy[sizeof(live->summary.policy) - 1] = 0;
    live->summary.daemon[sizeof(live->summary.daemon) - 1] = 0;
}

/* What the totals have beyond the iterations that are over belongs to the current one: it may have been
 * written before the totals, or go on meanwhile. */
static void complete_iteration(struct sl_stats *stats)
{
    uint64_t *last = (uint64_t *)&stats->iterations[stats->iteration];
    copy_words(last, &stats->total, sizeof(stats->total));
    for (uint32_t i = 0; i < stats->iteration; i++) {
        const uint64_t *before = (const uint64_t *)&stats->iterations[i];
        for (size_t field = 0; field < sizeof(stats->total) / sizeof(*last); field++)
            last[field] -= before[field] < last[field] ? before[field] : last[field];
    }
}

static enum sl_status read_parts(int fd, struct sl_live_record *record)
{
    struct sl_live *live = &record->live;
    if (!read_at(fd, live, sizeof(*live), 0) || memcmp(live->magic, SL_LIVE_MAGIC, sizeof(live->magic)) != 0)
        return SL_ERR_FORMAT;
    end_texts(live);
    if (strcmp(live->version, SLUICE_VERSION) != 0 || live->header_bytes != sizeof(struct sl_live) ||
        live->stats_bytes != sizeof(struct sl_stats) || live->iterations != SL_MAX_ITERATIONS)
        return SL_ERR_VERSION;
    size_t bytes = SL_MAX_ITERATIONS * sizeof(struct sl_counts);
    struct sl_counts *own = malloc(bytes);
    if (!own) return SL_ERR_NO_MEMORY;
    bool whole = read_at(fd, &record->stats, sizeof(record->stats), HEADER_BYTES) &&
                 read_at(fd, own, bytes, HEADER_BYTES + STATS_BYTES);
    record->stats.iterations = own;
    record->stats.trace = NULL;
    if (record->stats.iteration >= SL_MAX_ITERATIONS) record->stats.iteration = SL_MAX_ITERATIONS - 1;
    complete_iteration(&record->stats);
    record->running = live->process_began && sl_process_began((pid_t)live->process) == live->process_began;
    return whole ? SL_OK : SL_ERR_FORMAT;
}

enum sl_status sl_live_read(const char *path, struct sl_live_record **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return SL_ERR_IO;
    struct sl_live_record *record = calloc(1, sizeof(*record));
    enum sl_status status = record ? read_parts(fd, record) : SL_ERR_NO_MEMORY;
    close(fd);
    if (status == SL_OK)
        *out = record;
    else
        sl_live_free(record);
    return status;
}

void sl_live_free(struct sl_live_record *record)
{
    if (record) sl_stats_close(&record->stats);
    free(record);
}
