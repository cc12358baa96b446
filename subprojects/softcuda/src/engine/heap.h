/* malloc and free of kernels: a heap in device memory. */
#ifndef SOFTCUDA_ENGINE_HEAP_H
#define SOFTCUDA_ENGINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* A block of `bytes` bytes, aligned to 16, in the heap of heap_bytes bytes at `heap`, which is all zero
 * before its first use; 0 when it is full. False when the kernel has destroyed it. Thread-safe. */
bool sc_heap_allocate(uint64_t heap, uint64_t heap_bytes, uint64_t bytes, uint64_t *out);

/* False when `address` is not a block of the heap that is in use; 0 is allowed. */
bool sc_heap_free(uint64_t heap, uint64_t heap_bytes, uint64_t address);

#endif
