#include "devices.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "topology.h"

static struct sc_device devices[SC_DEVICES];
static int count;

void sc_device_uuid(int physical, char out[16])
{
    memcpy(out, "softcuda device", 16);
    out[15] = (char)physical;
}

/* Whether the word is "GPU-" and the UUID in hexadecimal, or a prefix of that. */
static bool names_uuid(const char *word, size_t length, int physical)
{
    char uuid[16], text[48] = "GPU-";
    size_t at = 4;
    sc_device_uuid(physical, uuid);
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
        at += (size_t)snprintf(text + at, sizeof text - at, "%02x", (unsigned char)uuid[i]);
    }
    return length > 4 && length <= at && !strncmp(word, text, length);
}

static int machine_count(void)
{
    return sc_options()->devices < SC_DEVICES ? (int)sc_options()->devices : SC_DEVICES;
}

static int physical_of(const char *word, size_t length, int there)
{
    if (isdigit((unsigned char)*word)) {
        char *end;
        unsigned long number = strtoul(word, &end, 10);
        return end == word + length && number < (unsigned long)there ? (int)number : -1;
    }
    for (int i = 0; i < there; i++)
        if (names_uuid(word, length, i)) return i;
    return -1;
}

int sc_devices_choose(const char *list, int there, int out[SC_DEVICES])
{
    int chosen = 0;
    if (!list)
        for (; chosen < there; chosen++) out[chosen] = chosen;
    while (list && *list && chosen < there) {
        list += strspn(list, " ");
        size_t length = strcspn(list, ", ");
        int physical = length ? physical_of(list, length, there) : -1;
        bool twice = false;
        for (int i = 0; i < chosen; i++) twice |= out[i] == physical;
        if (physical < 0 || twice) break;
        out[chosen++] = physical;
        list += length;
        list += strspn(list, " ");
        list += *list == ',';
    }
    return chosen;
}

unsigned sc_devices_of_link(int physical)
{
    int group = sc_options()->host_link > SC_DEVICES ? SC_DEVICES : (int)sc_options()->host_link;
    if (group < 1) group = 1;
    int left = machine_count() - physical / group * group;
    return (unsigned)(left < group ? left : group);
}

int sc_device_root_port(int physical)
{
    int group = sc_options()->host_link > SC_DEVICES ? SC_DEVICES : (int)sc_options()->host_link;
    return physical / (group < 1 ? 1 : group);
}

/* Migrations of 4 KiB pages reach so much (docs/driver-model.md of sluice). */
#define SMALL_PAGES_GBPS 8.0
#define SMALL_PAGES_UNMAP_NS 130000

static struct sc_driver_costs driver_of(const struct sc_options *o)
{
    struct sc_driver_costs costs = {
        .is_real = strcmp(o->driver, "ideal") != 0,
        .map_ns = o->map_ns,
        .unmap_ns = o->unmap_ns,
        .remap_ns = o->remap_ns,
        .discard_ns = o->discard_ns,
        .retire_ns = o->retire_ns,
        .both_part = o->both_part,
        .page_factor = 1,
    };
    if (!o->small_pages) return costs;
    if (costs.unmap_ns < SMALL_PAGES_UNMAP_NS) costs.unmap_ns = SMALL_PAGES_UNMAP_NS;
    if (o->link_in_gbps > SMALL_PAGES_GBPS) costs.page_factor = SMALL_PAGES_GBPS / o->link_in_gbps;
    return costs;
}

static struct sc_machine machine_of(const struct sc_options *o, int physical)
{
    double part = 1.0 / sc_devices_of_link(physical), tensor = o->tensor_cores ? 1000 : 0;
    return (struct sc_machine){
        .memory_bytes = o->memory_bytes,
        .device_bytes_per_ns = o->device_gbps,
        .flops_per_ns = o->tflops * 1000,
        .matrix_flops_per_ns = {[SC_RATE_TF32] = o->tf32_tflops * tensor,
                                [SC_RATE_HALF] = o->half_tflops * tensor,
                                [SC_RATE_BYTE] = o->byte_tflops * tensor},
        .processors = o->processors,
        .link_in_bytes_per_ns = o->link_in_gbps * part,
        .link_out_bytes_per_ns = o->link_out_gbps * part,
        .link_both_bytes_per_ns = o->link_both_gbps * part,
        .peer_bytes_per_ns = (double)o->nvlink_gbps,
        .peer_ns = o->peer_latency_ns,
        .launch_ns = o->launch_ns,
        .node_ns = o->node_ns,
        .fault_ns = o->fault_ns,
        .driver = driver_of(o),
    };
}

void sc_devices_open(void)
{
    const struct sc_options *o = sc_options();
    int physical[SC_DEVICES];
    count = sc_devices_choose(sc_options_visible_devices(), machine_count(), physical);
    if (o->sysfs[0]) sc_topology_write(o->sysfs, machine_count());
    for (int i = 0; i < count; i++) {
        struct sc_machine machine = machine_of(o, physical[i]);
        devices[i] = (struct sc_device){.ordinal = i, .physical = physical[i], .fold_at = SC_FOLD_AT};
        sc_timing_init(&devices[i].timing, &machine);
        devices[i].timing.managed.hide_write = sc_options()->hide_write;
    }
}

int sc_device_count(void)
{
    return count;
}

struct sc_device *sc_device_at(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < count ? &devices[ordinal] : NULL;
}

bool sc_device_reaches(const struct sc_device *device, const struct sc_device *peer)
{
    return device != peer && (sc_options()->nvlink_gbps || sc_options()->peers);
}
