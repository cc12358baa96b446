#include "tools/top/page.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define READS 1000 /* of an entry that is being written: that takes less than a microsecond */

static bool read_at(int file, void *to, size_t bytes, size_t at)
{
    return pread(file, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* False: the file ends early. *written: the entry was in use, and is consistent. */
static bool read_entry(int file, size_t at, struct sl_stats *out, bool *written)
{
    uint64_t before, after;
    *written = false;
    for (int i = 0; i < READS; i++) {
        if (!read_at(file, &before, sizeof(before), at)) return false;
        if (!before) return true;
        if (before % 2) continue;
        if (!read_at(file, sl_figures_of(out), SL_FIGURES_BYTES,
                     at + offsetof(struct sl_monitor_entry, figures)) ||
            !read_at(file, &after, sizeof(after), at))
            return false;
        if (before != after) continue;
        sl_stats_end_texts(out);
        *written = true;
        return true;
    }
    return true;
}

static enum sl_status read_page(int file, struct sl_monitor_record *out)
{
    struct sl_monitor_head head;
    if (!read_at(file, &head, sizeof(head), 0) ||
        memcmp(head.magic, SL_MONITOR_MAGIC, sizeof(head.magic)) != 0)
        return SL_ERR_FORMAT;
    if (head.version != SL_MONITOR_VERSION || head.head_bytes != sizeof(head) ||
        head.entry_bytes != sizeof(struct sl_monitor_entry) || head.entries != SL_MONITOR_DEVICES)
        return SL_ERR_VERSION;
    out->process = head.process;
    memcpy(out->program, head.program, sizeof(out->program));
    memcpy(out->rank, head.rank, sizeof(out->rank));
    out->program[sizeof(out->program) - 1] = 0;
    out->rank[sizeof(out->rank) - 1] = 0;
    out->devices = 0;
    for (uint32_t d = 0; d < SL_MONITOR_DEVICES; d++) {
        bool written;
        size_t at = offsetof(struct sl_monitor_page, entries) + d * sizeof(struct sl_monitor_entry);
        if (!read_entry(file, at, &out->figures[out->devices], &written)) return SL_ERR_FORMAT;
        if (written) out->numbers[out->devices++] = d;
    }
    return SL_OK;
}

enum sl_status sl_monitor_read(const char *path, struct sl_monitor_record *out)
{
    int file = sl_monitor_open(path, &out->user);
    if (file < 0) return SL_ERR_IO;
    enum sl_status status = read_page(file, out);
    close(file);
    return status;
}
