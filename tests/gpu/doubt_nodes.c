/* Where on the host managed memory lies: the device's own NUMA node, whether a node can be asked for, where
 * evicted pages go, and what a fetch from each node and an eviction to it bring. */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"
#include "probe.h"

enum { MOST_NODES = 16, SAMPLED_PAGES = 32 };

/* Processors of a node, from a list such as 0-3,8. False if there is none that this process may use. */
static bool read_processors(int node, cpu_set_t *out)
{
    char path[64];
    int first, last;
    cpu_set_t allowed;
    CPU_ZERO(out);
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    while (fscanf(file, "%d", &first) == 1) {
        if (fscanf(file, "-%d", &last) != 1) last = first;
        for (int cpu = first; cpu <= last; cpu++) CPU_SET(cpu, out);
        if (fgetc(file) != ',') break;
    }
    fclose(file);
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_AND(out, out, &allowed);
    return CPU_COUNT(out) > 0;
}

static void answer_device(const struct probe *probe)
{
    int value;
    char id[32] = "", path[80], text[16] = "unknown";
    static const struct {
        const char *name;
        CUdevice_attribute attribute;
    } attributes[] = {{"HOST_NUMA_ID", CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID},
                      {"NUMA_CONFIG", CU_DEVICE_ATTRIBUTE_NUMA_CONFIG},
                      {"NUMA_ID", CU_DEVICE_ATTRIBUTE_NUMA_ID}};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (!cu.cuDeviceGetAttribute(&value, attributes[i].attribute, probe->device))
            answer_number(value, "", "%s", attributes[i].name);
    if (cu.cuDeviceGetPCIBusId(id, sizeof id, probe->device)) return;
    for (char *c = id; *c; c++)
        if (*c >= 'A' && *c <= 'F') *c = (char)(*c - 'A' + 'a');
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", id);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%15s", text) != 1) snprintf(text, sizeof text, "unknown");
        fclose(file);
    }
    answer_text(text, "node of the device in sysfs");
}

/* The nodes of some of the pages, as the kernel knows them, without moving any. */
static void answer_place(CUdeviceptr memory, uint64_t bytes, const char *when, int node)
{
    void *pages[SAMPLED_PAGES];
    int nodes[SAMPLED_PAGES], counts[MOST_NODES] = {0}, unknown = 0;
    char text[160] = "";
    for (int i = 0; i < SAMPLED_PAGES; i++)
        pages[i] = (void *)(uintptr_t)(memory + bytes / SAMPLED_PAGES * (uint64_t)i);
    if (syscall(SYS_move_pages, 0, (long)SAMPLED_PAGES, pages, NULL, nodes, 0)) unknown = SAMPLED_PAGES;
    for (int i = 0; i < SAMPLED_PAGES && !unknown; i++)
        if (nodes[i] >= 0 && nodes[i] < MOST_NODES) counts[nodes[i]]++;
    for (int i = 0; i < MOST_NODES; i++)
        if (counts[i])
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d of %d pages on node %d",
                     *text ? ", " : "", counts[i], SAMPLED_PAGES, i);
    answer_text(*text ? text : "unknown", "%s, thread on node %d", when, node);
}

static double speed_gbps(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, bool to_device,
                         CUstream stream)
{
    double before = now_seconds();
    prefetch(probe, memory, bytes, to_device, stream);
    MUST(cu.cuStreamSynchronize(stream));
    return (double)bytes / (now_seconds() - before) * 1e-9;
}

/* Whether the driver takes a node as the place for memory, and goes by it. */
static void ask_for_node(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, int node,
                         CUstream stream)
{
    const char *name = "accepted";
    CUmemLocation place = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = node};
    CUresult result = cu.cuMemAdvise(memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, place);
    if (result) cu.cuGetErrorName(result, &name);
    answer_text(name, "preferred location node %d", node);
    if (result) return;
    move_all(probe, "dwe", memory, bytes, stream);
    answer_place(memory, bytes, "evicted to the host, preferred location this node", node);
    move_all(probe, "d", memory, bytes, stream);
    result = cu.cuMemPrefetchAsync(memory, bytes, place, 0, stream);
    name = "accepted";
    if (result) cu.cuGetErrorName(result, &name);
    MUST(cu.cuStreamSynchronize(stream));
    answer_text(name, "prefetch to node %d", node);
    if (!result) answer_place(memory, bytes, "prefetched to this node", node);
}

static void measure_node(const struct probe *probe, int node, uint64_t bytes, CUstream stream)
{
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    double in = 0, out = 0;
    move_all(probe, "h", memory, bytes, stream);
    answer_place(memory, bytes, "written by the host", node);
    for (int i = 0; i <= probe->repeat; i++) {
        double gbps = speed_gbps(probe, memory, bytes, true, stream);
        if (gbps > in) in = gbps;
        move_all(probe, "w", memory, bytes, stream);
        gbps = speed_gbps(probe, memory, bytes, false, stream);
        if (gbps > out) out = gbps;
    }
    answer_place(memory, bytes, "evicted to the host", node);
    answer_number(in, "GB/s", "fetch, thread on node %d", node);
    answer_number(out, "GB/s", "eviction, thread on node %d", node);
    ask_for_node(probe, memory, bytes, node, stream);
    MUST(cu.cuMemFree(memory));
}

void part_nodes(struct probe *probe)
{
    uint64_t bytes = probe->bytes < 256 * MIB ? probe->bytes / 2 : 256 * MIB;
    CUstream stream = stream_new();
    int found = 0;
    cpu_set_t before, processors;
    sched_getaffinity(0, sizeof before, &before);
    answer_device(probe);
    for (int node = 0; node < MOST_NODES; node++) {
        if (!read_processors(node, &processors)) continue;
        found++;
        sched_setaffinity(0, sizeof processors, &processors);
        measure_node(probe, node, bytes, stream);
        sched_setaffinity(0, sizeof before, &before);
    }
    if (found == 0) measure_node(probe, 0, bytes, stream); /* no sysfs: as if there were one */
    answer_number(found, "", "nodes with processors that this process may use");
    MUST(cu.cuStreamDestroy(stream));
}
