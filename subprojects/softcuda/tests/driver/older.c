/* An older driver: what CUDA introduced after it does not exist, by cuGetProcAddress and by dlsym, and all
 * else does. Breaks if a program, or whoever interposes the driver, finds a function that such a driver
 * lacks.
 *
 * usage: older VERSION exported|all; "all": the library exports newer functions too. */
#include <dlfcn.h>

#include "check.h"

static const struct row {
    const char *name, *symbol;
    int version, per_thread;
} rows[] = {
#define LEGACY 0
#define PER_THREAD 1
#define SC_API(name, symbol, version, streams) {#name, #symbol, version, streams},
#include "driver/api_built.def"
#include "driver/api_refused.def"
};
#define ROWS (sizeof rows / sizeof *rows)

static void *library;
static int driver_version;
static CUresult (*resolve)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

/* The answer for `name` in `version`: the symbol whose function came, or "", with *status. Two symbols may
 * not share an address. */
static const char *answer(const char *name, int version, int per_thread,
                          CUdriverProcAddressQueryResult *status)
{
    void *function = &function;
    CUresult result = resolve(name, &function, version,
                              per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                         : CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                              status);
    CHECK(result == (*status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND));
    CHECK(!function == (result != CUDA_SUCCESS));
    for (size_t i = 0; i < ROWS && function; i++)
        if (!strcmp(rows[i].name, name) && dlsym(library, rows[i].symbol) == function) return rows[i].symbol;
    CHECK(!function);
    return "";
}

/* What the table says: the newest form up to the driver's version, the per-thread one if it is asked for. */
static const char *expected(const char *name, int per_thread, int *oldest)
{
    const struct row *best[2] = {NULL, NULL};
    *oldest = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i], **slot = &best[row->per_thread];
        if (strcmp(row->name, name) || row->version > driver_version) continue;
        if (!*oldest || row->version < *oldest) *oldest = row->version;
        if (!*slot || (*slot)->version < row->version) *slot = row;
    }
    const struct row *found = per_thread && best[1] ? best[1] : best[0];
    return found ? found->symbol : "";
}

static void look_up_all(void)
{
    for (size_t i = 0; i < ROWS; i++)
        for (int per_thread = 0; per_thread < 2; per_thread++) {
            int oldest;
            CUdriverProcAddressQueryResult status;
            const char *right = expected(rows[i].name, per_thread, &oldest);
            const char *found = answer(rows[i].name, 13000, per_thread, &status);
            if (strcmp(found, right)) {
                fprintf(stderr, "%s is %s instead of %s\n", rows[i].name, found, right);
                exit(1);
            }
            CHECK(status == (oldest ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
            if (!oldest) continue;
            answer(rows[i].name, oldest - 1, per_thread, &status);
            CHECK(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
        }
}

static void export(int all)
{
    for (size_t i = 0; i < ROWS; i++) {
        int exists = dlsym(library, rows[i].symbol) != NULL;
        if (exists == (all || rows[i].version <= driver_version)) continue;
        fprintf(stderr, "%s of %d is %s\n", rows[i].symbol, rows[i].version,
                exists ? "exported" : "not exported");
        exit(1);
    }
}

/* By name, whatever the table says. */
static void lack(int all)
{
    static const struct {
        const char *symbol;
        int since;
    } some[] = {{"cuMemPrefetchAsync_v2", 12020},
                {"cuMemAdvise_v2", 12020},
                {"cuGraphAddNode", 12020},
                {"cuFuncGetName", 12030},
                {"cuStreamGetCaptureInfo_v3", 12030},
                {"cuFuncGetParamInfo", 12040},
                {"cuKernelGetParamInfo", 12040},
                {"cuCtxCreate_v4", 12050},
                {"cuMemcpyBatchAsync", 12080},
                {"cuEventElapsedTime_v2", 12080},
                {"cuMemPrefetchBatchAsync_ptsz", 13000},
                {"cuMemDiscardBatchAsync", 13000},
                {"cuMemDiscardAndPrefetchBatchAsync", 13000}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        CHECK(!dlsym(library, some[i].symbol) == (!all && some[i].since > driver_version));
}

/* What is there works. */
static void work(void)
{
    CUdevice device = start();
    CUdeviceptr memory;
    unsigned got[4] = {0};
    OK(cuMemAlloc(&memory, sizeof got));
    OK(cuMemsetD32(memory, 7, 4));
    OK(cuMemcpyDtoH(got, memory, sizeof got));
    CHECK(got[0] == 7 && got[3] == 7);
    OK(cuMemFree(memory));
    finish(device);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    int version = 0, all = !strcmp(argv[2], "all");
    driver_version = atoi(argv[1]);
    library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(library);
    OK(cuDriverGetVersion(&version));
    CHECK(version == driver_version);
    void *resolver = dlsym(library, "cuGetProcAddress_v2");
    CHECK(resolver);
    memcpy(&resolve, &resolver, sizeof resolve);
    look_up_all();
    export(all);
    lack(all);
    work();
    return 0;
}
