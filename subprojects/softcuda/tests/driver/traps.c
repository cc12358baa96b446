/* What SOFTCUDA_TRAP_HOST notices: the program does with managed memory what its first argument names.
 * traps.sh says what is to be told and counted. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "kernels.h"

#define BLOCK ((size_t)2 << 20)
#define BYTES (4 * BLOCK)
#define WORDS (BLOCK / 4) /* of a block */

static CUdeviceptr memory;
static volatile uint32_t *words;
static CUstream stream, busy;

static void move(CUmemLocationType to)
{
    OK(cuMemPrefetchAsync(memory, BYTES, (CUmemLocation){.type = to}, 0, stream));
}

static void move_and_wait(CUmemLocationType to)
{
    move(to);
    OK(cuStreamSynchronize(stream));
}

static void advise(CUmem_advise advice)
{
    OK(cuMemAdvise(memory, BYTES, advice, (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST}));
}

/* A read and a write of different blocks; what has come to the host stays there. */
static void resident(void)
{
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(words[WORDS + 5] == 5);
    words[3 * WORDS + 7] = 70;
    for (size_t i = 0; i < WORDS; i++)
        CHECK(words[WORDS + i] == i && words[3 * WORDS + i] == (i == 7 ? 70 : i));
}

/* The same place in a loop. */
static void loop(void)
{
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    for (size_t i = 0; i < BYTES / 4; i++) CHECK(words[i] == i % WORDS);
}

/* A kernel, a memset and copies work on what is closed to the host, and it is closed again behind them. */
static void device(void)
{
    CUmodule module;
    CUfunction affine;
    uint32_t out[4];
    float one = 1, zero = 0;
    int count = 128;
    CUdeviceptr to = memory + BLOCK;
    void *parameters[] = {&to, &memory, &count, &one, &zero};
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuMemsetD32Async(memory, 0x3f800000, 128, stream));
    OK(cuLaunchKernel(affine, 1, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
    OK(cuMemcpyDtoDAsync(memory + 2 * BLOCK, to, 512, stream));
    OK(cuMemcpyDtoHAsync(out, memory + 2 * BLOCK, sizeof out, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(out[0] == 0x3f800000 && out[3] == 0x3f800000);
    CHECK(words[2 * WORDS + 127] == 0x3f800000);
}

/* The system, which has no handler, finds the first block open. */
static void read_into_memory(void)
{
    int ends[2];
    uint32_t sent = 77;
    CHECK(!pipe(ends));
    CHECK(write(ends[1], &sent, sizeof sent) == sizeof sent);
    CHECK(read(ends[0], (void *)memory, sizeof sent) == sizeof sent);
    CHECK(words[0] == 77);
    close(ends[0]);
    close(ends[1]);
}

/* Nothing of this is an access to what only the device has. */
static void elsewhere(void)
{
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    move_and_wait(CU_MEM_LOCATION_TYPE_HOST);
    CHECK(words[0] == 0);
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    move(CU_MEM_LOCATION_TYPE_HOST); /* the stream is idle, so the caller is held up */
    CHECK(words[0] == 0);
    OK(cuStreamSynchronize(stream));
    advise(CU_MEM_ADVISE_SET_READ_MOSTLY);
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE); /* a copy on each side */
    CHECK(words[WORDS] == 0 && words[WORDS + 9] == 9);
    advise(CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
    advise(CU_MEM_ADVISE_UNSET_READ_MOSTLY);
    words[WORDS + 9] = 90;
    CHECK(words[WORDS + 9] == 90);
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuMemFree(memory));
    CHECK(words[WORDS] == 0); /* this device leaves addresses readable that it gives out again */
    OK(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL)); /* the same addresses, new */
    words = (uint32_t *)memory;
    read_into_memory();
}

/* Nobody waits for work of another stream that was submitted before. */
static void beside(void)
{
    OK(cuMemsetD8Async(memory + 3 * BLOCK, 0, 1, busy));
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(words[1] == 1);
}

static void *look(void *unused)
{
    (void)unused;
    CHECK(words[WORDS + 5] == 5);
    return NULL;
}

/* One that has never called the driver. */
static void thread(void)
{
    pthread_t other;
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    CHECK(!pthread_create(&other, NULL, look, NULL));
    CHECK(!pthread_join(other, NULL));
}

static void CUDA_CB called(void *unused)
{
    (void)unused;
    CHECK(words[5] == 5);
}

/* Host functions are not watched, and may read what they like. */
static void callback(void)
{
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuLaunchHostFunc(stream, called, NULL));
    OK(cuStreamSynchronize(stream));
}

/* The driver itself reads parameters during the call. */
static void parameter(void)
{
    CUmodule module;
    CUfunction store;
    uint32_t counter = 0;
    size_t bytes;
    CUdeviceptr at;
    void *parameters[] = {(void *)(memory + 20)};
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuModuleGetGlobal(&at, &bytes, module, "counter"));
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    OK(cuMemcpyDtoHAsync(&counter, at, 4, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(counter == 5);
}

/* How long the host's access takes on the simulated clock. */
static void times(void)
{
    CUevent before, after;
    float ms;
    OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuEventRecord(before, stream));
    CHECK(words[0] == 0);
    OK(cuEventRecord(after, stream));
    OK(cuEventSynchronize(after));
    OK(cuEventElapsedTime(&ms, before, after));
    /* A fault of 1 ms, 2 MiB over half of 1 GB/s, and two calls. */
    double expected = 1 + 2 * 2097152e-6 + 0.001;
    CHECK(ms > expected - 0.005 && ms < expected + 0.005);
}

static char *guarded;

static void open_guarded(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_addr != guarded) _exit(3);
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

/* The program's handler, set before the driver's, gets what is not the driver's. */
static void set_handler(void)
{
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    CHECK(
        !sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = open_guarded, .sa_flags = SA_SIGINFO}, NULL));
}

static void handler(void)
{
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    *(volatile char *)guarded = 1;
    CHECK(words[5] == 5 && *(volatile char *)guarded == 1);
}

static void crash(void)
{
    move_and_wait(CU_MEM_LOCATION_TYPE_DEVICE);
    volatile int *volatile nowhere = (volatile int *)16;
    *nowhere = 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } samples[] = {{"resident", resident},   {"loop", loop},           {"device", device},
                   {"elsewhere", elsewhere}, {"beside", beside},       {"thread", thread},
                   {"callback", callback},   {"parameter", parameter}, {"times", times},
                   {"handler", handler},     {"crash", crash}};
    CHECK(argc == 2);
    if (!strcmp(argv[1], "handler")) set_handler();
    CUdevice gpu = start();
    only_in_software(gpu);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocManaged(&memory, BYTES, CU_MEM_ATTACH_GLOBAL));
    words = (uint32_t *)memory;
    for (size_t i = 0; i < BYTES / 4; i++) words[i] = (uint32_t)(i % WORDS);
    move_and_wait(CU_MEM_LOCATION_TYPE_HOST); /* the host's, as far as the driver knows */
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (!strcmp(argv[1], samples[i].name)) samples[i].run();
    finish(gpu);
    return 0;
}
