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
static struct sl_counts *iterations;

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

/* Writes zeros so that the disk has room for all blocks: storing to a mapped page without room would kill
 * the program. */
static bool fill(const struct sl_output *file)
{
    static const char zeros[1 << 14];
    for (size_t done = 0; done < FILE_BYTES; done += sizeof(zeros)) {
        size_t rest = FILE_BYTES - done;
        if (sl_output_write(file, zeros, rest < sizeof(zeros) ? rest : sizeof(zeros)) != SL_OK) return false;
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
    struct sl_output file = {.fd = -1};
    char *mapped = MAP_FAILED;
    if (strlen(path) >= sizeof(opened) || sl_output_open(path, &live_kind, &file) != SL_OK) goto error;
    if (fill(&file)) mapped = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (mapped == MAP_FAILED) {
        unlink(path);
        goto error;
    }
    sl_output_close(&file);
    strcpy(opened, path);
    iterations = (void *)(mapped + HEADER_BYTES + STATS_BYTES);
    fill_header((struct sl_live *)mapped, options, stats_path);
    return (struct sl_live *)mapped;

error:
    sl_log(SL_LOG_INFO, "no figures are kept for a sudden end: cannot write %s: %s", path,
           sl_file_problem(&live_kind, errno));
    sl_output_close(&file);
    return NULL;
}

/* The file's pages of counters move to the address of *stats. */
bool sl_live_count(struct sl_live *live, struct sl_stats *stats)
{
    char *mapped = (char *)live + HEADER_BYTES;
    struct sl_counts *own = stats->iterations;
    if (mremap(mapped, STATS_BYTES, STATS_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, stats) == MAP_FAILED)
        return false;
    free(own);
    stats->iterations = iterations;
    atomic_store(&live->state, SL_LIVE_COUNTED);
    return true;
}

void sl_live_close(struct sl_live *live)
{
    if (!live || !opened[0]) return;
    atomic_store(&live->state, SL_LIVE_REPORTED);
    unlink(opened);
    opened[0] = 0;
}

static void replace(void *at, size_t bytes)
{
    mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void sl_live_leave(struct sl_live *live, struct sl_stats *stats)
{
    if (!live) return;
    bool counted = atomic_load(&live->state) != SL_LIVE_SEEN;
    replace(live, HEADER_BYTES);
    replace(iterations, ITERATIONS_BYTES);
    if (counted && stats) {
        replace(stats, STATS_BYTES);
        stats->iterations = iterations;
    }
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
