/* What launchers say: a rank that took a number that is none for its place would get another's share of the
 * machine, and two jobs that were taken for one would share what each of them was promised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/environment.h"

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
        cmocka_unit_test_setup(each_launcher_is_understood, forget),
        cmocka_unit_test_setup(the_inner_launcher_counts, forget),
        cmocka_unit_test_setup(what_is_no_place_is_not_one, forget),
        cmocka_unit_test_setup(jobs_are_distinguished, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
