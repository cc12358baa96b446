/* Reads the page in shared memory in which a managed process shows how its run is going
 * (core/monitor_page.h). */
#ifndef SLUICE_TOOL_PAGE_H
#define SLUICE_TOOL_PAGE_H

#include "core/monitor_page.h"

/* What a page shows. */
struct sl_monitor_record {
    uint64_t process, user; /* user: the number of the one to whom the page belongs */
    char program[32], rank[16];
    uint32_t devices;                            /* number of entries below */
    uint32_t numbers[SL_MONITOR_DEVICES];        /* of the devices in the process */
    struct sl_stats figures[SL_MONITOR_DEVICES]; /* their published part */
};

/* Reads the page to which `path` leads. SL_ERR_IO with errno: there is none any more, or, EPERM, it is
 * another user's; SL_ERR_FORMAT: not such a page; SL_ERR_VERSION: of another version. Texts are terminated.
 */
enum sl_status sl_monitor_read(const char *path, struct sl_monitor_record *out);

#endif
