/* Any records as a trace that is replayed through the core on a simulated device: no crash, no endless loop,
 * whatever the file says. The replay is in a child, as the command's are: the fuzzer learns nothing from
 * what happens there, but sees how it ends. The first byte chooses policy and budget. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "records_file.h"
#include "tools/replay/replay.h"

enum { SECONDS = 60, MOST_CHUNKS = 4096 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    stdout = fopen("/dev/null", "w");
    stderr = fopen("/dev/null", "w");
    return stdout && stderr ? 0 : -1;
}

static void replay(const struct replay_program *program, uint8_t choice)
{
    static const char *const policies[] = {"plan", "lru", "demand", "driver"};
    const struct replay_job job = {program, 1, NULL};
    struct replay_result result;
    struct replay_setting setting = {.budget_bytes = choice & 4 ? program->peak_bytes / 2 : 8 * SL_MIB,
                                     .chunk_bytes = SL_BLOCK_BYTES,
                                     .policy = policies[choice & 3],
                                     .in_bytes_per_s = 24000000000,
                                     .out_bytes_per_s = 24000000000,
                                     .driver = {.both_percent = 92}};
    while (setting.chunk_bytes < SL_GIB && program->peak_bytes / setting.chunk_bytes > MOST_CHUNKS)
        setting.chunk_bytes *= 2;
    if (setting.budget_bytes < 8 * SL_MIB) setting.budget_bytes = 8 * SL_MIB;
    setting.sequence = choice & 16 ? stdout : NULL;
    setting.sequence_iterations = 1;
    pid_t child = fork();
    if (child < 0) return;
    if (!child) {
        alarm(SECONDS);
        replay_run(&job, 0, &setting, NULL, &result);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2) return 0;
    char path[RECORDS_PATH];
    int fd = records_file(bytes + 1, size - 1, path);
    struct model *model = NULL;
    struct replay_program program = {0};
    if (model_open(path, &model) == 0 && replay_prepare(model, &program)) {
        program.name = "fuzz";
        replay(&program, bytes[0]);
    }
    replay_free(&program);
    model_close(model);
    close(fd);
    return 0;
}
