#include "kernel_info.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 4
#define MAX_THREADS 1024u

enum format { FORMAT_NONE = 1, FORMAT_BYTE, FORMAT_HALF, FORMAT_SIZED };

enum attribute {
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_PARAMETER_BANK = 0x0a,
    ATTRIBUTE_EXACT_THREADS = 0x10,
    ATTRIBUTE_FRAME_BYTES = 0x11,
    ATTRIBUTE_PARAMETER = 0x17,
    ATTRIBUTE_PARAMETER_BYTES = 0x19,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_LARGE_PARAMETER = 0x45, /* of kernels whose parameters have more than 4 KiB */
};

struct attribute_read {
    uint8_t format, number;
    uint16_t half; /* the value, or the size of what follows */
    const unsigned char *value;
    size_t next; /* offset of the attribute behind it */
};

/* False: it is cut off. */
static bool read_attribute(const struct sc_info_table *table, size_t at, struct attribute_read *out)
{
    if (table->bytes - at < HEAD_BYTES) return false;
    const unsigned char *head = table->data + at;
    *out = (struct attribute_read){
        .format = head[0],
        .number = head[1],
        .half = (uint16_t)(head[2] | head[3] << 8),
        .value = head + HEAD_BYTES,
        .next = at + HEAD_BYTES,
    };
    if (out->format != FORMAT_SIZED) return true;
    out->next += out->half;
    return out->half <= table->bytes - at - HEAD_BYTES;
}

/* The 32-bit word `index` of the value, or 0 where it has none. */
static uint32_t word_of(const struct attribute_read *attribute, unsigned index)
{
    uint32_t word = 0;
    if (attribute->format == FORMAT_SIZED && (index + 1) * sizeof word <= attribute->half)
        memcpy(&word, attribute->value + index * sizeof word, sizeof word);
    return word;
}

static bool is_parameter(const struct attribute_read *attribute)
{
    return attribute->number == ATTRIBUTE_PARAMETER || attribute->number == ATTRIBUTE_LARGE_PARAMETER;
}

/* Three dimensions, each of which is 0 in damaged tables. */
static uint32_t threads_of(const struct attribute_read *attribute)
{
    uint64_t threads = 1;
    for (unsigned i = 0; i < 3 && threads <= MAX_THREADS; i++) threads *= word_of(attribute, i);
    return threads && threads <= MAX_THREADS ? (uint32_t)threads : MAX_THREADS;
}

/* Where a parameter is and how long: its ordinal and offset are halves of the second word. In the older form
 * its size is the upper 14 bits of the third, in the later one all of them. */
static enum sc_info_status place_parameter(const struct attribute_read *attribute,
                                           struct sc_cubin_kernel *kernel)
{
    const uint32_t place = word_of(attribute, 1), last = word_of(attribute, 2), ordinal = place & 0xffff;
    const struct sc_parameter parameter = {
        .offset_bytes = place >> 16,
        .size_bytes = attribute->number == ATTRIBUTE_PARAMETER ? last >> 18 : last,
    };
    if (ordinal >= kernel->parameter_count || kernel->parameters[ordinal].size_bytes ||
        !parameter.size_bytes || parameter.offset_bytes > kernel->parameter_bytes ||
        parameter.size_bytes > kernel->parameter_bytes - parameter.offset_bytes)
        return SC_INFO_MISPLACED;
    kernel->parameters[ordinal] = parameter;
    return SC_INFO_OK;
}

/* What must be known before parameters are placed: their number, and the bytes of all of them. */
static enum sc_info_status measure(const struct sc_info_table *table, struct sc_cubin_kernel *kernel,
                                   size_t *at)
{
    struct attribute_read attribute;
    kernel->parameter_count = kernel->parameter_bytes = 0;
    for (; *at < table->bytes; *at = attribute.next) {
        if (!read_attribute(table, *at, &attribute)) return SC_INFO_CUT;
        if (is_parameter(&attribute)) kernel->parameter_count++;
        if (attribute.number == ATTRIBUTE_PARAMETER_BYTES) kernel->parameter_bytes = attribute.half;
        if (attribute.number == ATTRIBUTE_PARAMETER_BANK && !kernel->parameter_bytes)
            kernel->parameter_bytes = word_of(&attribute, 1) >> 16;
        if (attribute.number == ATTRIBUTE_MAX_THREADS || attribute.number == ATTRIBUTE_EXACT_THREADS)
            kernel->max_threads = threads_of(&attribute);
    }
    *at = 0;
    return SC_INFO_OK;
}

enum sc_info_status sc_info_of_kernel(const struct sc_info_table *table, struct sc_cubin_kernel *kernel,
                                      size_t *at)
{
    enum sc_info_status status = measure(table, kernel, at);
    if (status) return status;
    free(kernel->parameters);
    kernel->parameters = calloc((size_t)kernel->parameter_count + 1, sizeof *kernel->parameters);
    if (!kernel->parameters) return SC_INFO_NO_MEMORY;
    struct attribute_read attribute;
    for (; !status && *at < table->bytes; *at = status ? *at : attribute.next) {
        if (!read_attribute(table, *at, &attribute)) return SC_INFO_CUT;
        if (is_parameter(&attribute)) status = place_parameter(&attribute, kernel);
    }
    return status;
}

enum sc_info_status sc_info_of_all(const struct sc_info_table *table,
                                   struct sc_cubin_kernel *(*find)(void *context, uint32_t symbol),
                                   void *context, size_t *at)
{
    struct attribute_read attribute;
    for (; *at < table->bytes; *at = attribute.next) {
        if (!read_attribute(table, *at, &attribute)) return SC_INFO_CUT;
        if (attribute.number != ATTRIBUTE_REGISTERS && attribute.number != ATTRIBUTE_FRAME_BYTES) continue;
        struct sc_cubin_kernel *kernel = find(context, word_of(&attribute, 0));
        if (kernel && attribute.number == ATTRIBUTE_REGISTERS) kernel->registers = word_of(&attribute, 1);
        if (kernel && attribute.number == ATTRIBUTE_FRAME_BYTES) kernel->local_bytes = word_of(&attribute, 1);
    }
    return SC_INFO_OK;
}
