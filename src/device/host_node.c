#include "device/host_node.h"

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES_MOST 1024 /* the most that Linux supports */
#define WORD_BITS (sizeof(unsigned long) * CHAR_BIT)
#define PREFERRED 1 /* MPOL_PREFERRED of linux/mempolicy.h, which may not be installed */

int sl_host_node_nearest(int driver_says, int kernel_says, bool several)
{
    if (driver_says > 0 || (driver_says == 0 && several)) return driver_says;
    return driver_says < 0 && kernel_says >= 0 && several ? kernel_says : -1;
}

/* Calls the kernel directly, as the C library has no wrapper. mbind takes one more than the number of
 * bits. */
bool sl_host_node_prefer(uint64_t address, uint64_t bytes, int node)
{
    unsigned long mask[NODES_MOST / WORD_BITS] = {0};
    if (node < 0 || node >= NODES_MOST) return false;
    mask[(unsigned)node / WORD_BITS] = 1ul << (unsigned)node % WORD_BITS;
    return syscall(SYS_mbind, address, bytes, PREFERRED, mask, NODES_MOST + 1, 0) == 0;
}
