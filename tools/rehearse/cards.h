/* The cards that a program can be rehearsed for: those of the software device. */
#ifndef SLUICE_TOOL_CARDS_H
#define SLUICE_TOOL_CARDS_H

#include <stddef.h>
#include <stdint.h>

/* Words, as the software device has them. */
struct card {
    const char *name, *memory, *device_gbps, *tflops, *tf32_tflops, *half_tflops, *byte_tflops, *launch_ns,
        *link_in_gbps, *link_out_gbps, *link_both_gbps, *fault_ns, *capability, *processors;
};

/* NULL: there is none of this name, of `length` characters. */
const struct card *card_find(const char *name, size_t length);

/* The name of card `index`; NULL after the last one. */
const char *card_name(size_t index);

uint64_t card_memory_bytes(const struct card *card);
/* Bytes a second of pinned copies, each way alone. */
uint64_t card_link_in(const struct card *card);
uint64_t card_link_out(const struct card *card);

#endif
