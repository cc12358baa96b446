#include "tools/export/export_tracks.h"
#include "tools/export/perfetto.h"

bool export_perfetto(const struct export_job *job, FILE *to, struct export_counts *counts)
{
    struct perfetto perfetto;
    const struct sluice_trace_header *first = &job->ranks[0].model->header;
    perfetto_open(&perfetto, to, first->monotonic_ns, first->realtime_ns);
    bool good = export_tracks(job, &perfetto.tracks, false, counts);
    return perfetto_close(&perfetto) && good;
}
