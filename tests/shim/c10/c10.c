#include "c10.h"

static struct c10_told told;

void c10_report(void *address, int64_t bytes, size_t allocated, size_t reserved, struct c10_device device)
{
    told.count++;
    told.bytes += (uint64_t)(address ? bytes : 0);
    told.allocated += allocated;
    told.reserved += reserved;
    told.devices += (uint64_t)(device.type * 100 + device.index);
}

struct c10_told c10_told(void)
{
    return told;
}
