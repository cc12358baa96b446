/* malloc and free in kernels: a heap in device memory. */
#ifndef SOFTCUDA_ENGINE_HEAP_H
#define SOFTCUDA_ENGINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Allocates `bytes` bytes, aligned to 16, in the heap of heap_bytes bytes at `heap`, which must be zeroed
 * before its first use. *out is 0 if it is full. false: the kernel has overwritten the heap's structure.
 * Thread-safe. */
bool sc_heap_allocate(uint64_t heap, uint64_t heap_bytes, uint64_t bytes, uint64_t *out);

/* false: `address` is neither 0 nor a block of the heap that is in use. */
bool sc_heap_free(uint64_t heap, uint64_t heap_bytes, uint64_t address);

#endif
