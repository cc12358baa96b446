#include "trap_report.h"

#include <execinfo.h>
#include <string.h>

#include "callsite.h"
#include "devices.h"
#include "log.h"
#include "space.h"

#define TOLD_MAX 100   /* accesses that are logged */
#define FRAMES_SEEN 24 /* of the stack */

void sc_trap_report_init(void)
{
    sc_site_init();
}

/* false: it was told before, or there are too many. */
static bool is_new(const void *instruction, uint64_t allocation)
{
    static struct {
        const void *instruction;
        uint64_t allocation;
    } told[TOLD_MAX];
    static int count;
    for (int i = 0; i < count; i++)
        if (told[i].instruction == instruction && told[i].allocation == allocation) return false;
    if (count == TOLD_MAX) return false;
    told[count].instruction = instruction;
    told[count++].allocation = allocation;
    if (count == TOLD_MAX) sc_log("further accesses of the host are counted and not told");
    return true;
}

/* The stack from the instruction on, without the signal handler above it. */
static void walk(const void *instruction, struct sc_site *out)
{
    void *seen[FRAMES_SEEN];
    int count = backtrace(seen, FRAMES_SEEN), first = 0;
    while (first < count && seen[first] != instruction) first++;
    *out = (struct sc_site){.count = 1, .frames = {(void *)(uintptr_t)instruction}};
    for (int i = first + 1; i < count && out->count < SC_SITE_FRAMES; i++)
        out->frames[out->count++] = seen[i];
}

void sc_trap_report(uint64_t address, bool is_write, const void *instruction, const struct sc_device *holder)
{
    const struct sc_allocation *allocation = sc_space_find(address);
    if (!allocation || !is_new(instruction, allocation->id)) return;
    struct sc_site site;
    char place[640];
    walk(instruction, &site);
    sc_site_print(&site, place, sizeof place);
    sc_log("the host %s 0x%llx, offset %llu of %llu bytes of managed memory that only device %d has, at %s",
           is_write ? "writes" : "reads", (unsigned long long)address,
           (unsigned long long)(address - allocation->begin), (unsigned long long)allocation->bytes,
           holder->ordinal, place);
}
