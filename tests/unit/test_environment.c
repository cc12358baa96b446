/* What is added to PyTorch's variables, and when nothing is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"

#define OLD "PYTORCH_CUDA_ALLOC_CONF"
#define NEW "PYTORCH_ALLOC_CONF"
#define GROUPS "TORCH_DIST_USE_NCCL2"
#define CACHING "PYTORCH_NO_CUDA_MEMORY_CACHING"

static bool prepare(void)
{
    static char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY];
    size_t count = sl_framework_settings(entries);
    for (size_t i = 0; i < count; i++) {
        char *value = strchr(entries[i], '=');
        *value++ = 0;
        setenv(entries[i], value, 1);
    }
    return count > 0;
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void is(const char *name, const char *value)
{
    if (value)
        assert_string_equal(getenv(name), value);
    else
        assert_null(getenv(name));
}

/* Both variables before and after. */
static void becomes(const char *old_before, const char *new_before, const char *old_after,
                    const char *new_after)
{
    set(OLD, old_before);
    set(NEW, new_before);
    set(CACHING, NULL);
    assert_true(prepare());
    is(OLD, old_after);
    is(NEW, new_after);
    assert_false(prepare()); /* a child process finds it chosen */
}

static void the_allocator_is_added_where_none_is_chosen(void **state)
{
    (void)state;
    becomes(NULL, NULL, "backend:cudaMallocAsync", NULL);
    becomes("", NULL, "backend:cudaMallocAsync", NULL);
    becomes("pinned_use_cuda_host_register:True", NULL,
            "pinned_use_cuda_host_register:True,backend:cudaMallocAsync", NULL);
}

/* An older version, which does not know the newer variable, may not know its keys. */
static void whichever_variable_is_in_use_is_added_to(void **state)
{
    (void)state;
    becomes(NULL, "pinned_num_register_threads:8", NULL,
            "pinned_num_register_threads:8,backend:cudaMallocAsync");
    becomes("release_lock_on_cudamalloc:True", "", "release_lock_on_cudamalloc:True,backend:cudaMallocAsync",
            "backend:cudaMallocAsync");
}

/* PyTorch 2.15 ends processes that make a process group with this allocator, but not by the older way. */
static void process_groups_are_made_by_the_older_way(void **state)
{
    (void)state;
    set(GROUPS, NULL);
    becomes(NULL, NULL, "backend:cudaMallocAsync", NULL);
    is(GROUPS, "0");
    set(GROUPS, "1");
    becomes(NULL, NULL, "backend:cudaMallocAsync", NULL);
    is(GROUPS, "1");
    set(GROUPS, NULL);
    set(OLD, "backend:native");
    assert_false(prepare());
    is(GROUPS, NULL);
}

static void stays(const char *name, const char *value)
{
    set(OLD, NULL);
    set(NEW, NULL);
    set(CACHING, NULL);
    set(name, value);
    assert_false(prepare());
    is(OLD, name == (const char *)OLD ? value : NULL);
    set(name, NULL);
}

static void what_the_user_chose_stays(void **state)
{
    (void)state;
    static const char *const chosen[] = {"backend:native",
                                         "backend:cudaMallocAsync",
                                         "expandable_segments:True",
                                         "expandable_segments:False",
                                         " backend : native",
                                         "max_split_size_mb:128",
                                         "garbage_collection_threshold:0.8",
                                         "max_non_split_rounding_mb:1",
                                         "pinned_use_background_threads:True, expandable_segments:True",
                                         "roundup_power2_divisions:[256:1,512:2]"};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        stays(OLD, chosen[i]);
        stays(NEW, chosen[i]);
    }
    stays(CACHING, "1");
}

/* What is no allocator's name says nothing about allocators. */
static void names_are_compared_whole(void **state)
{
    (void)state;
    becomes("backends:1", NULL, "backends:1,backend:cudaMallocAsync", NULL);
    becomes("x:backend", NULL, "x:backend,backend:cudaMallocAsync", NULL);
    becomes(",,", NULL, ",,,backend:cudaMallocAsync", NULL);
}

static void a_value_that_is_too_long_stays(void **state)
{
    (void)state;
    static char value[SL_FRAMEWORK_ENTRY];
    memset(value, 'x', sizeof value - sizeof OLD - sizeof "backend:cudaMallocAsync" - 1);
    set(OLD, value);
    assert_true(prepare());
    memset(value, 'x', sizeof value - sizeof OLD - sizeof "backend:cudaMallocAsync");
    stays(OLD, value);
}

/* What launchers say: a rank that took a number that is none for its place would get another's share of the
 * machine, and two jobs that were taken for one would share what each of them was promised. */
static const char *const all[] = {"LOCAL_RANK",
                                  "LOCAL_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                  "SLURM_LOCALID",
                                  "SLURM_NTASKS_PER_NODE",
                                  "MPI_LOCALRANKID",
                                  "MPI_LOCALNRANKS",
                                  "MASTER_ADDR",
                                  "MASTER_PORT",
                                  "SLURM_JOB_ID",
                                  "SLURM_STEP_ID",
                                  "TORCHELASTIC_RUN_ID",
                                  "PMIX_NAMESPACE",
                                  "MV2_COMM_WORLD_LOCAL_RANK",
                                  "MV2_COMM_WORLD_LOCAL_SIZE"};

static int forget(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) unsetenv(all[i]);
    return 0;
}

static const struct sl_launcher *with(const char *rank_name, const char *rank, const char *size_name,
                                      const char *size)
{
    setenv(rank_name, rank, 1);
    setenv(size_name, size, 1);
    sl_launcher_note();
    return sl_launcher();
}

static void each_launcher_is_understood(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"LOCAL_RANK", "LOCAL_WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                           {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}};
    for (size_t i = 0; i < 3; i++) {
        forget(NULL);
        const struct sl_launcher *launcher = with(pairs[i][0], "2", pairs[i][1], "4");
        assert_int_equal(launcher->local_rank, 2);
        assert_int_equal(launcher->local_size, 4);
        assert_true(launcher->job);
    }
}

static void the_inner_launcher_counts(void **state)
{
    (void)state;
    with("SLURM_LOCALID", "0", "SLURM_NTASKS_PER_NODE", "1");
    assert_int_equal(with("LOCAL_RANK", "3", "LOCAL_WORLD_SIZE", "8")->local_size, 8);
    assert_int_equal(sl_launcher()->local_rank, 3);
}

static void what_is_no_place_is_not_one(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"4", "4"},   {"", "4"}, {"-1", "4"}, {"0", "0"}, {"0", "x"}, {"1", "2 "}, {"0", "1000000000000"},
        {"0", "1025"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        assert_int_equal(with("LOCAL_RANK", pairs[i][0], "LOCAL_WORLD_SIZE", pairs[i][1])->local_size, 0);
    assert_int_equal(with("SLURM_LOCALID", "1", "SLURM_NTASKS_PER_NODE", "2")->local_size, 2);
    forget(NULL);
    setenv("LOCAL_RANK", "1", 1);
    sl_launcher_note();
    assert_int_equal(sl_launcher()->local_size, 0);
}

static void jobs_are_distinguished(void **state)
{
    (void)state;
    setenv("MASTER_PORT", "29500", 1);
    uint64_t job = with("LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "4")->job;
    assert_int_equal(with("LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "4")->job, job);
    setenv("MASTER_PORT", "29501", 1);
    assert_int_not_equal(with("LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "4")->job, job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_too_long_stays),
        cmocka_unit_test(names_are_compared_whole),
        cmocka_unit_test(the_allocator_is_added_where_none_is_chosen),
        cmocka_unit_test(process_groups_are_made_by_the_older_way),
        cmocka_unit_test(what_the_user_chose_stays),
        cmocka_unit_test(whichever_variable_is_in_use_is_added_to),
        cmocka_unit_test_setup(each_launcher_is_understood, forget),
        cmocka_unit_test_setup(the_inner_launcher_counts, forget),
        cmocka_unit_test_setup(what_is_no_place_is_not_one, forget),
        cmocka_unit_test_setup(jobs_are_distinguished, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
