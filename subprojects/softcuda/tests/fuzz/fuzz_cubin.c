/* The cubin reader on arbitrary bytes. */
#include "cubin.h"
#include "fuzz.h"

/* Reads all that is said to be there. */
static uint64_t sum_of(const struct sc_cubin *cubin)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < cubin->kernel_count; i++) {
        const struct sc_cubin_kernel *kernel = &cubin->kernels[i];
        sum += strlen(kernel->name);
        for (uint32_t k = 0; k < kernel->parameter_count; k++) {
            const struct sc_parameter *parameter = &kernel->parameters[k];
            if ((uint64_t)parameter->offset_bytes + parameter->size_bytes > kernel->parameter_bytes)
                __builtin_trap();
        }
    }
    for (size_t i = 0; i < cubin->variable_count; i++) {
        const struct sc_cubin_variable *variable = &cubin->variables[i];
        sum += strlen(variable->name);
        for (uint64_t k = 0; variable->initial && k < variable->bytes; k++) sum += variable->initial[k];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static volatile uint64_t sum __attribute__((unused)); /* read so that nothing is optimised away */
    struct sc_cubin cubin = {0};
    char why[128] = "";
    if (sc_cubin_bytes(data, bytes) > bytes) __builtin_trap();
    unsigned char *copy = malloc(bytes ? bytes : 1);
    if (!copy) abort();
    memcpy(copy, data, bytes);
    if (sc_cubin_read(copy, bytes, &cubin, why, sizeof why) != SC_CUBIN_OK) {
        if (cubin.data || why[0] == '\0') __builtin_trap();
        free(copy);
        return 0;
    }
    sum = sum_of(&cubin);
    sc_cubin_free(&cubin);
    return 0;
}
