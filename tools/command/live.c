#include "tools/command/live.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_at(int fd, void *to, size_t bytes, off_t at)
{
    return pread(fd, to, bytes, at) == (ssize_t)bytes;
}

/* Terminates the texts, which may lack an end in a damaged file. */
static void end_texts(struct sl_live *header)
{
    header->version[sizeof(header->version) - 1] = 0;
    header->program[sizeof(header->program) - 1] = 0;
    header->stats[sizeof(header->stats) - 1] = 0;
    header->log[sizeof(header->log) - 1] = 0;
}

/* What the totals have beyond the iterations that are over belongs to the current one: it may have been
 * written before the totals, or go on meanwhile. */
static void complete_iteration(struct sl_stats *stats)
{
    uint64_t *last = (uint64_t *)&stats->iterations[stats->iteration];
    sl_words_copy(last, &stats->total, sizeof(stats->total));
    for (uint64_t i = 0; i < stats->iteration; i++) {
        const uint64_t *before = (const uint64_t *)&stats->iterations[i];
        for (size_t field = 0; field < sizeof(stats->total) / sizeof(*last); field++)
            last[field] -= before[field] < last[field] ? before[field] : last[field];
    }
}

static enum sl_status read_parts(int fd, struct sl_live_record *record)
{
    struct sl_live *header = &record->live;
    struct sl_stats *stats = &record->stats;
    if (!read_at(fd, header, sizeof(*header), 0) ||
        memcmp(header->magic, SL_LIVE_MAGIC, sizeof(header->magic)) != 0)
        return SL_ERR_FORMAT;
    end_texts(header);
    if (strcmp(header->version, SLUICE_VERSION) != 0 || header->header_bytes != sizeof(struct sl_live) ||
        header->stats_bytes != SL_FIGURES_BYTES || header->iterations != SL_MAX_ITERATIONS)
        return SL_ERR_VERSION;
    if (sl_stats_init(stats) != SL_OK) return SL_ERR_NO_MEMORY;
    if (!read_at(fd, sl_figures_of(stats), SL_FIGURES_BYTES, SL_LIVE_STATS_AT) ||
        !read_at(fd, stats->iterations, SL_MAX_ITERATIONS * sizeof(struct sl_counts), SL_LIVE_ITERATIONS_AT))
        return SL_ERR_FORMAT;
    sl_stats_end_texts(stats);
    if (stats->iteration >= SL_MAX_ITERATIONS) stats->iteration = SL_MAX_ITERATIONS - 1;
    complete_iteration(stats);
    record->running =
        header->process_began && sl_process_began((pid_t)header->process) == header->process_began;
    return SL_OK;
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
