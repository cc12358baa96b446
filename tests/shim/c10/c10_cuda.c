#include "c10.h"

void c10_cuda_report(void *address, int64_t bytes, size_t allocated, size_t reserved,
                     struct c10_device device)
{
    c10_report(address, bytes, allocated, reserved, device);
}

struct c10_told c10_cuda_told(void)
{
    return c10_told();
}
