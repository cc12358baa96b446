#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* --- launchers */

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
        job = sl_hash_text(job, value ? value : "");
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

/* --- frameworks */

#define SETTING "backend:cudaMallocAsync"

/* Versions differ in which of the two they read first; those before 2.9 only know the first. */
enum { LISTS = 2 };
static const char *const variables[LISTS] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

/* The process groups of PyTorch 2.15 ask the allocator for a snapshot, which this one refuses by an exception
 * that nothing catches. */
#define GROUPS "TORCH_DIST_USE_NCCL2"

/* Keys that name an allocator, or that only the caching allocator obeys; it warns of them if another one is
 * chosen. */
static const char *const choices[] = {
    "backend",
    "expandable_segments",
    "garbage_collection_threshold",
    "max_non_split_rounding_mb",
    "max_split_size_mb",
    "roundup_power2_divisions",
};

static bool is_choice(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strlen(choices[i]) == length && !strncmp(choices[i], key, length)) return true;
    return false;
}

/* The value is "key:value,key:value". A value may be a list in brackets; keys inside the list are none of the
 * above. Blanks are allowed. */
static bool has_choice(const char *value)
{
    while (*value) {
        value += strspn(value, ", ");
        size_t length = strcspn(value, ":, ");
        if (is_choice(value, length)) return true;
        value += strcspn(value, ",");
    }
    return false;
}

static bool write_entry(char entry[SL_FRAMEWORK_ENTRY], const char *variable, const char *before)
{
    int length =
        snprintf(entry, SL_FRAMEWORK_ENTRY, "%s=%s%s%s", variable, before, *before ? "," : "", SETTING);
    return length > 0 && length < SL_FRAMEWORK_ENTRY;
}

bool sl_framework_may_come(void)
{
    return !strncmp(program_invocation_short_name, "python", strlen("python"));
}

size_t sl_framework_settings(char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY])
{
    const char *values[LISTS];
    size_t count = 0;
    if (secure_getenv("PYTORCH_NO_CUDA_MEMORY_CACHING")) return 0;
    for (int i = 0; i < LISTS; i++) {
        values[i] = secure_getenv(variables[i]);
        if (values[i] && has_choice(values[i])) return 0;
    }
    if (!values[0] && !values[1]) values[0] = "";
    for (int i = 0; i < LISTS; i++)
        count += values[i] && write_entry(entries[count], variables[i], values[i]);
    if (count && !secure_getenv(GROUPS)) strcpy(entries[count++], GROUPS "=0");
    return count;
}
