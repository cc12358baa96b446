#include "tools/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/model/trace_open.h"
#include "tools/text/messages.h"
#include "tools/text/output_file.h"
#include "tools/text/progress.h"
#include "trace/trace_format.h"

/* Column names for the words that the flags of a record type encode. */
static const struct {
    uint8_t type;
    const char *keys[2];
} word_columns[] = {
    {SL_EVENT_ALLOC, {"kind", NULL}},        {SL_EVENT_LAUNCH, {"kind", "direction"}},
    {SL_EVENT_MOVE, {"kind", "cause"}},      {SL_EVENT_TRANSFER, {"kind", "cause"}},
    {SL_EVENT_SYNC, {"kind", NULL}},         {SL_EVENT_ERROR, {"kind", NULL}},
    {SL_EVENT_MARK, {"kind", NULL}},         {SL_EVENT_GAP, {NULL, NULL}},
    {SL_EVENT_DECISION, {"kind", "reason"}}, {SL_EVENT_ORDER, {"kind", NULL}},
    {SL_EVENT_MESSAGE, {"kind", NULL}},
};

#define TITLES 256 /* bytes of the longest title line */
#define METADATA_TITLES "what,value\nformat,"
#define TABLE_REFUSAL                                                                                        \
    "a file exists that is not a table of sluice; SLUICE_OVERWRITE=1 or --force would replace it"

struct tables {
    const char *folder;
    FILE *files[UINT8_MAX + 1]; /* by type */
    struct kernel_names kernels;
};

static const char *const *keys_of(unsigned type)
{
    static const char *const none[2];
    for (size_t i = 0; i < sizeof(word_columns) / sizeof(*word_columns); i++)
        if (word_columns[i].type == type) return word_columns[i].keys;
    return none;
}

static bool has_name(unsigned type)
{
    return sl_trace_type(type)->text_after || type == SL_EVENT_LAUNCH || type == SL_EVENT_DURATION;
}

static void put_text(FILE *to, const char *text)
{
    fputs(",\"", to);
    for (; *text; text++) {
        if (*text == '"') fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

/* Opens a table and writes its `titles`. */
static FILE *open_table(const char *folder, const char *name, const char *titles)
{
    char path[PATH_MAX];
    const struct sl_file_kind kind = {TABLE_REFUSAL, titles, strlen(titles)};
    if ((size_t)snprintf(path, sizeof(path), "%s/%s.csv", folder, name) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    FILE *to = output_open(path, &kind);
    if (to) fputs(titles, to);
    return to;
}

/* The titles of a type's table. */
static void put_titles(char titles[TITLES], unsigned type)
{
    const struct sl_trace_type_info *info = sl_trace_type(type);
    const char *fields[RECORD_FIELDS] = {info->id, info->a, info->b, info->c, info->d};
    size_t used = (size_t)snprintf(titles, TITLES, "tick,time_ns,thread");
    for (unsigned i = 0; i < 2 && keys_of(type)[i]; i++)
        used += (size_t)snprintf(titles + used, TITLES - used, ",%s", keys_of(type)[i]);
    for (unsigned i = 0; i < RECORD_FIELDS; i++)
        if (fields[i]) used += (size_t)snprintf(titles + used, TITLES - used, ",%s", fields[i]);
    if (type == SL_EVENT_LAUNCH) used += (size_t)snprintf(titles + used, TITLES - used, ",communicator");
    snprintf(titles + used, TITLES - used, has_name(type) ? ",name\n" : "\n");
}

static bool open_tables(struct tables *tables)
{
    if (mkdir(tables->folder, 0777) != 0 && errno != EEXIST) return false;
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        char titles[TITLES];
        if (!sl_trace_type(type)) continue;
        put_titles(titles, type);
        tables->files[type] = open_table(tables->folder, sl_trace_type(type)->name, titles);
        if (!tables->files[type]) return false;
    }
    return true;
}

static bool close_tables(struct tables *tables)
{
    bool good = true;
    int error = 0;
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        FILE *file = tables->files[type];
        if (!file) continue;
        bool written = !ferror(file);
        if (fclose(file) == 0 && written) continue;
        good = false;
        error = errno;
    }
    kernel_names_free(&tables->kernels);
    errno = error;
    return good;
}

static void print_row(struct tables *tables, const struct sl_trace_record *record, uint64_t start_ns)
{
    const struct sl_event *event = &record->event;
    const struct sl_trace_type_info *info = sl_trace_type(event->type);
    const char *titles[RECORD_FIELDS] = {info->id, info->a, info->b, info->c, info->d};
    FILE *to = tables->files[event->type];
    fprintf(to, "%" PRIu64 ",%" PRId64 ",%" PRIu32, event->tick, (int64_t)(event->time_ns - start_ns),
            record->thread);
    const char *keys[2], *words[2];
    unsigned word_count = record_words(event, keys, words);
    for (unsigned i = 0; i < 2 && keys_of(event->type)[i]; i++)
        fprintf(to, ",%s", i < word_count ? words[i] : "");
    struct record_field fields[RECORD_FIELDS];
    record_fields(event, fields);
    for (unsigned i = 0; i < RECORD_FIELDS; i++) {
        if (!titles[i]) continue;
        fputc(',', to);
        if (fields[i].key && !strcmp(fields[i].key, titles[i]))
            fprintf(to, fields[i].address ? "0x%" PRIx64 : "%" PRIu64, fields[i].value);
    }
    if (event->type == SL_EVENT_LAUNCH) fputc(',', to);
    if (event->type == SL_EVENT_LAUNCH && is_known_collective(event)) fprintf(to, "0x%" PRIx64, event->b);
    if (has_name(event->type)) {
        char room[RECORD_NAME];
        const char *name = record_name(event, &tables->kernels, room);
        put_text(to, name ? name : "");
    }
    fputc('\n', to);
}

/* Writes the properties of the whole trace. */
static bool write_facts(const char *folder, const struct sluice_trace_header *header, bool complete,
                        uint64_t records)
{
    FILE *to = open_table(folder, "trace", METADATA_TITLES);
    if (!to) return false;
    fprintf(to, "%u.%u\nprocess,%" PRIu32 "\nstart_ns,%" PRIu64 "\nprogram", header->major_version,
            header->minor_version, header->process, header->realtime_ns);
    put_text(to, program_name(header).text);
    fprintf(to, "\ncomplete,%s\nrecords,%" PRIu64 "\n", complete ? "true" : "false", records);
    bool written = !ferror(to);
    return fclose(to) == 0 && written;
}

static int write_rows(struct tables *tables, const char *path, struct sl_trace_reader *reader,
                      uint64_t *records)
{
    struct sl_trace_record record;
    struct progress progress;
    int status = EXIT_OK;
    progress_start_file(&progress, path);
    while (status == EXIT_OK && sl_trace_reader_next(reader, &record)) {
        progress_at(&progress, record.offset);
        if (record.event.type == SL_EVENT_KERNEL && !kernel_names_add(&tables->kernels, &record.event))
            status = failure("%s: out of memory", path);
        print_row(tables, &record, sl_trace_reader_header(reader)->monotonic_ns);
        ++*records;
    }
    progress_end(&progress);
    return status;
}

int export_csv(const char *path, const char *folder, uint64_t *records)
{
    struct sl_trace_reader *reader;
    int status = open_trace(path, &reader);
    if (status != EXIT_OK) return status;
    struct tables tables = {.folder = folder};
    uint64_t count = 0;
    bool good = open_tables(&tables);
    int error = errno;
    if (good) status = write_rows(&tables, path, reader, &count);
    if (!close_tables(&tables) && good) good = false, error = errno;
    const struct sl_trace_problem *problem = sl_trace_reader_problem(reader);
    if (good && !write_facts(folder, sl_trace_reader_header(reader), problem->status == SL_OK, count))
        good = false, error = errno;
    if (!good)
        status = failure("cannot write the tables in %s: %s", folder,
                         error == EEXIST ? TABLE_REFUSAL : strerror(error));
    else if (status == EXIT_OK)
        status = end_status(path, problem);
    if (good) *records = count;
    sl_trace_reader_close(reader);
    return status;
}
