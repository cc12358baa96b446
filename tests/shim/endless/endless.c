/* For check_python_end.py: a call from Python that lasts until the driver ends. */
#include <stdatomic.h>
#include <unistd.h>

#include <cuda.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED unsigned long rounds(void);
EXPORTED void allocate_on_and_on(void);

static atomic_ulong done;

unsigned long rounds(void)
{
    return atomic_load(&done);
}

void allocate_on_and_on(void)
{
    CUdeviceptr address;
    while (!cuMemAlloc(&address, 1 << 20) && !cuMemFree(address)) atomic_fetch_add(&done, 1);
    for (;;) pause();
}
