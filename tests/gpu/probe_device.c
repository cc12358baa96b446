/* What the device is: one line, for the head of every report. */
#include <stdio.h>

#include "probe.h"

#define ATTRIBUTES(X)                                                                                        \
    X(compute_major, COMPUTE_CAPABILITY_MAJOR)                                                               \
    X(compute_minor, COMPUTE_CAPABILITY_MINOR)                                                               \
    X(multiprocessors, MULTIPROCESSOR_COUNT)                                                                 \
    X(copy_engines, ASYNC_ENGINE_COUNT)                                                                      \
    X(concurrent_managed_access, CONCURRENT_MANAGED_ACCESS)                                                  \
    X(pageable_memory_access, PAGEABLE_MEMORY_ACCESS)                                                        \
    X(host_page_tables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)                                        \
    X(direct_managed_access_from_host, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST)

void part_device(struct probe *probe)
{
    char name[256] = "";
    int version = 0;
    size_t free_bytes, total_bytes;
    MUST(cu.cuDeviceGetName(name, sizeof name, probe->device));
    MUST(cu.cuDriverGetVersion(&version));
    MUST(cu.cuMemGetInfo(&free_bytes, &total_bytes));
    printf("{\"part\": \"device\", \"name\": \"%s\", \"cuda\": \"%d.%d\", \"total_bytes\": %zu, "
           "\"free_bytes\": %zu, "
           "\"used_bytes_at_most\": %llu, \"discard\": %s",
           name, version / 1000, version % 1000 / 10, total_bytes, free_bytes,
           (unsigned long long)probe->bytes, probe->can_discard ? "true" : "false");
#define PRINT(key, attribute)                                                                                \
    {                                                                                                        \
        int value = -1;                                                                                      \
        cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, probe->device);                     \
        printf(", \"%s\": %d", #key, value);                                                                 \
    }
    ATTRIBUTES(PRINT)
    printf("}\n");
}
