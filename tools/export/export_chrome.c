#include <errno.h>

#include "tools/export/chrome.h"
#include "tools/export/export_tracks.h"

bool export_chrome(const struct export_job *job, FILE *to, struct chrome_file *with,
                   struct export_counts *counts)
{
    struct chrome chrome;
    const struct sluice_trace_header *first = &job->ranks[0].model->header;
    chrome_open(&chrome, to, first->monotonic_ns, first->realtime_ns, with);
    bool good = export_tracks(job, &chrome.tracks, true, counts);
    bool read = true, kept = chrome_close(&chrome, &read);
    errno = good && kept ? EIO : ENOMEM;
    return good && kept && read;
}
