/* The part of PyTorch's libc10.so that allocators report their blocks to. */
#ifndef C10_H
#define C10_H

#pragma GCC visibility push(default)

#include <stddef.h>
#include <stdint.h>

struct c10_device {
    int8_t type, index;
};
#define c10_report _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
void c10_report(void *address, int64_t bytes, size_t allocated, size_t reserved, struct c10_device device);

/* As libc10_cuda.so calls it, from a library that was loaded for one module alone. */
typedef void c10_reporter(void *address, int64_t bytes, size_t allocated, size_t reserved,
                          struct c10_device device);
c10_reporter c10_cuda_report;
/* What was reported so far: how often, and the sums of all arguments. */
struct c10_told {
    uint64_t count, bytes, allocated, reserved, devices;
};
struct c10_told c10_told(void);
typedef struct c10_told c10_teller(void);
c10_teller c10_cuda_told;

#pragma GCC visibility pop

#endif
