/* Reads the live file of a run (core/report.h). */
#ifndef SLUICE_TOOL_LIVE_H
#define SLUICE_TOOL_LIVE_H

#include "core/report.h"

/* What a live file holds. */
struct sl_live_record {
    struct sl_live live;
    struct sl_stats stats;
    bool running; /* the process still exists */
};

/* Reads the file. *out is freed with sl_live_free. SL_ERR_IO with errno; SL_ERR_FORMAT: not a file of this
 * kind; SL_ERR_VERSION: another build's; SL_ERR_NO_MEMORY. */
enum sl_status sl_live_read(const char *path, struct sl_live_record **out);
void sl_live_free(struct sl_live_record *record);

#endif
