/* A program that names what it does with NVTX, in all of its ways. With an argument: gives so many ranges
 * names of their own, and says how much memory the process then has. */
#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static CUdeviceptr data;

static void work(void)
{
    ok(cuMemsetD8(data, 1, MIB));
}

static nvtxEventAttributes_t attributes(int type, const void *message)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                                   .payload = {.ullValue = 17},
                                   .messageType = type,
                                   .message = {.ascii = message}};
    return event;
}

static void in_the_default_domain(void)
{
    nvtxEventAttributes_t event = attributes(NVTX_MESSAGE_TYPE_ASCII, "with attributes");
    nvtxRangePushA("forward");
    work();
    nvtxRangePushW(L"Sch\u00fctze \u20ac \U0001f600");
    work();
    nvtxRangePop();
    nvtxRangePushEx(&event);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeId_t one = nvtxRangeStartA("one"), two = nvtxRangeStartW(L"two");
    nvtxRangeId_t three = nvtxRangeStartEx(&event);
    work();
    nvtxRangeEnd(one);
    nvtxRangeEnd(three);
    nvtxRangeEnd(two);
    nvtxMarkA("a moment");
    nvtxMarkW(L"wide");
    nvtxMarkEx(&event);
    event.size = 8; /* too short to have a message */
    nvtxMarkEx(&event);
    nvtxMarkA(NULL);
}

static void in_domains(void)
{
    nvtxDomainHandle_t library = nvtxDomainCreateA("library"), other = nvtxDomainCreateW(L"other");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(library, "registered");
    nvtxEventAttributes_t named = attributes(NVTX_MESSAGE_TYPE_ASCII, "inner"),
                          text = attributes(NVTX_MESSAGE_TYPE_REGISTERED, registered),
                          wrong = attributes(NVTX_MESSAGE_TYPE_REGISTERED, &named);
    nvtxDomainRangePushEx(library, &text);
    nvtxDomainRangePushEx(other, &named);
    work();
    nvtxDomainRangePop(library);
    nvtxDomainRangePop(other);
    nvtxDomainMarkEx(nvtxDomainCreateA("library"), &text);
    nvtxDomainMarkEx(NULL, &wrong);
    nvtxRangeId_t range = nvtxDomainRangeStartEx(other, &named);
    nvtxDomainRangeEnd(other, range);
    nvtxDomainNameCategoryA(library, 1, "a category");
    nvtxDomainDestroy(library);
    nvtxDomainDestroy(other);
}

static void cut_names(void)
{
    char name[200];
    memset(name, 'a', sizeof name);
    memcpy(name + 126, "\xc3\xa9", 2); /* a character that would be cut in two */
    name[sizeof name - 1] = 0;
    nvtxMarkA(name);
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) abort();
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void name_every_step(long steps)
{
    nvtxRangePushA("first");
    nvtxRangePop();
    long before = resident_kib();
    for (long i = 0; i < steps; i++) {
        char name[64];
        snprintf(name, sizeof name, "a step with a name of its own: %ld", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    printf("%ld\n", resident_kib() - before);
}

int main(int argc, char **argv)
{
    if (use_device(NULL)) return 1;
    ok(cuMemAlloc(&data, MIB));
    if (argc > 1) {
        name_every_step(atol(argv[1]));
    } else {
        in_the_default_domain();
        in_domains();
        cut_names();
    }
    ok(cuMemFree(data));
    return 0;
}
