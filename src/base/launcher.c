#include "base/launcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* Innermost launcher first: torchrun may be started by srun. */
static const char *const places[][2] = {
    {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},         {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},     {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};
/* Variables that distinguish two jobs of the same size. */
static const char *const names[] = {"TORCHELASTIC_RUN_ID", "MASTER_ADDR",  "MASTER_PORT",
                                    "PMIX_NAMESPACE",      "SLURM_JOB_ID", "SLURM_STEP_ID"};

static struct sl_launcher noted;

static bool read_number(const char *name, uint32_t *out)
{
    const char *value = secure_getenv(name);
    size_t digits = value ? strspn(value, "0123456789") : 0;
    if (!digits || digits > 4 || value[digits]) return false;
    *out = (uint32_t)atoi(value);
    return true;
}

static uint64_t job_of(uint32_t size)
{
    uint64_t job = sl_hash_word(0, size);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = secure_getenv(names[i]);
        job = sl_hash_word(job, value ? i + 1 : 0);
        for (; value && *value; value++) job = sl_hash_word(job, (unsigned char)*value);
    }
    return job | 1;
}

void sl_launcher_note(void)
{
    noted = (struct sl_launcher){0};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        uint32_t rank, size;
        if (!read_number(places[i][0], &rank) || !read_number(places[i][1], &size)) continue;
        if (rank >= size || size > SL_LOCAL_RANKS_MOST) continue;
        noted = (struct sl_launcher){.local_rank = rank, .local_size = size, .job = job_of(size)};
        return;
    }
}

const struct sl_launcher *sl_launcher(void)
{
    return &noted;
}
