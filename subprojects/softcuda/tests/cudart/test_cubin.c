/* The cubin reader on what nvcc makes, and on damaged input. Argument: the folder with the cubins. */
#include "cubin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *folder;

struct file {
    unsigned char *data; /* exactly `bytes` long, so that a sanitizer sees a read beyond the end */
    size_t bytes;
};

static struct file load(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.cubin", folder, name);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    struct file file = {.bytes = (size_t)ftell(stream)};
    rewind(stream);
    file.data = malloc(file.bytes);
    assert_non_null(file.data);
    assert_int_equal(fread(file.data, 1, file.bytes, stream), file.bytes);
    fclose(stream);
    return file;
}

static const struct sc_cubin_kernel *kernel_of(const struct sc_cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (!strcmp(cubin->kernels[i].name, name)) return &cubin->kernels[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

static void has_parameters(const struct sc_cubin_kernel *kernel, uint32_t count,
                           const struct sc_parameter *wanted, uint32_t bytes)
{
    assert_int_equal(kernel->parameter_count, count);
    assert_int_equal(kernel->parameter_bytes, bytes);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(kernel->parameters[i].offset_bytes, wanted[i].offset_bytes);
        assert_int_equal(kernel->parameters[i].size_bytes, wanted[i].size_bytes);
    }
}

static void has_variable(const struct sc_cubin *cubin, const char *name, uint64_t bytes, const void *initial,
                         bool managed, bool constant)
{
    const struct sc_cubin_variable *found = NULL;
    for (size_t i = 0; i < cubin->variable_count; i++)
        if (!strcmp(cubin->variables[i].name, name)) found = &cubin->variables[i];
    assert_non_null(found);
    assert_int_equal(found->bytes, bytes);
    assert_int_equal(found->managed, managed);
    assert_int_equal(found->constant, constant);
    if (initial)
        assert_memory_equal(found->initial, initial, bytes);
    else
        assert_null(found->initial);
}

/* Breaks if kernels or variables are missed, or what they need is read wrongly. On sm_90 the tables include
 * shared memory that is not the kernel's own. */
static void test_tables(void **state)
{
    (void)state;
    static const unsigned archs[] = {75, 90};
    static const float factors[] = {1, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        char name[32], why[256] = "";
        snprintf(name, sizeof name, "coded-%u", archs[i]);
        struct file file = load(name);
        struct sc_cubin cubin = {0};
        assert_int_equal(sc_cubin_bytes(file.data, file.bytes), file.bytes);
        assert_int_equal(sc_cubin_bytes(file.data, file.bytes + 1000), file.bytes);
        assert_int_equal(sc_cubin_read(file.data, file.bytes, &cubin, why, sizeof why), SC_CUBIN_OK);
        assert_int_equal(cubin.arch, archs[i]);
        assert_int_equal(cubin.kernel_count, 4);
        const struct sc_cubin_kernel *mixed = kernel_of(&cubin, "mixed"), *wide = kernel_of(&cubin, "wide");
        has_parameters(mixed, 4, (struct sc_parameter[]){{0, 8}, {8, 1}, {16, 8}, {24, 8}}, 32);
        assert_int_equal(mixed->static_shared_bytes, 1200);
        assert_int_equal(mixed->max_threads, 1024);
        assert_in_range(mixed->registers, 8, 64);
        has_parameters(wide, 3, (struct sc_parameter[]){{0, 24000}, {24000, 4}, {24008, 8}}, 24016);
        assert_int_equal(wide->static_shared_bytes, 0);
        assert_int_equal(wide->max_threads, 256);
        has_parameters(kernel_of(&cubin, "nothing"), 0, NULL, 0);
        assert_int_equal(kernel_of(&cubin, "nothing")->local_bytes, 0);
        assert_int_equal(kernel_of(&cubin, "scattered")->local_bytes, 400);
        assert_int_equal(cubin.variable_count, 5);
        has_variable(&cubin, "counter", 4, &(int){7}, false, false);
        has_variable(&cubin, "table", 400, NULL, false, false);
        has_variable(&cubin, "factors", 20, factors, false, true);
        has_variable(&cubin, "shared_counter", 4, &(int){3}, true, false);
        has_variable(&cubin, "shared_table", 40, NULL, true, false);
        assert_int_equal(cubin.constant_bytes, 20);
        sc_cubin_free(&cubin);
    }
}

/* Reads a copy, which the reader may keep. Any answer is right as long as it is an answer, and all that is
 * said to be there is. */
static enum sc_cubin_status read_copy(const unsigned char *data, size_t bytes)
{
    unsigned char *copy = malloc(bytes ? bytes : 1);
    char why[256] = "";
    struct sc_cubin cubin = {0};
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    const enum sc_cubin_status status = sc_cubin_read(copy, bytes, &cubin, why, sizeof why);
    if (status != SC_CUBIN_OK) {
        assert_true(strstr(why, "cubin: ") == why);
        assert_null(cubin.data);
        free(copy);
        return status;
    }
    unsigned sum = 0;
    for (size_t i = 0; i < cubin.variable_count; i++)
        for (size_t k = 0; cubin.variables[i].initial && k < cubin.variables[i].bytes; k++)
            sum += cubin.variables[i].initial[k];
    for (size_t i = 0; i < cubin.kernel_count; i++) {
        const struct sc_cubin_kernel *kernel = &cubin.kernels[i];
        sum += (unsigned)strlen(kernel->name);
        for (uint32_t k = 0; k < kernel->parameter_count; k++)
            assert_true((uint64_t)kernel->parameters[k].offset_bytes + kernel->parameters[k].size_bytes <=
                        kernel->parameter_bytes);
    }
    sc_cubin_free(&cubin);
    return sum == UINT32_MAX ? SC_CUBIN_CORRUPT : SC_CUBIN_OK;
}

/* Breaks if any cut leads beyond the end, or passes as whole. */
static void test_truncated(void **state)
{
    (void)state;
    struct file file = load("small");
    assert_int_equal(read_copy(file.data, file.bytes), SC_CUBIN_OK);
    size_t sections = 0;
    memcpy(&sections, file.data + 40, sizeof sections);
    for (size_t bytes = 0; bytes < file.bytes; bytes++) {
        assert_int_equal(sc_cubin_bytes(file.data, bytes), 0);
        if (bytes < sections) assert_int_equal(read_copy(file.data, bytes), SC_CUBIN_CORRUPT);
        if (bytes >= sections) read_copy(file.data, bytes);
    }
    free(file.data);
}

/* Breaks if a damaged size or offset makes the reader leave the file: run under a sanitizer. */
static void test_flipped(void **state)
{
    (void)state;
    struct file file = load("small");
    for (size_t bit = 0; bit < 8 * file.bytes; bit++) {
        file.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        read_copy(file.data, file.bytes);
        sc_cubin_bytes(file.data, file.bytes);
        file.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    free(file.data);
}

/* Breaks if a name passes that does not end within its table. */
static void test_names_that_do_not_end(void **state)
{
    (void)state;
    struct file file = load("small");
    uint64_t sections, offset, bytes;
    memcpy(&sections, file.data + 40, sizeof sections);
    unsigned char *strings = file.data + sections + 2 * 64; /* the section .strtab */
    memcpy(&offset, strings + 24, sizeof offset);
    memcpy(&bytes, strings + 32, sizeof bytes);
    unsigned refused = 0;
    for (uint64_t left = 0; left <= bytes; left++) {
        struct sc_cubin cubin = {0};
        char why[256] = "";
        unsigned char *copy = malloc(file.bytes);
        assert_non_null(copy);
        memcpy(strings + 32, &left, sizeof left);
        memcpy(copy, file.data, file.bytes);
        if (sc_cubin_read(copy, file.bytes, &cubin, why, sizeof why) != SC_CUBIN_OK) {
            assert_non_null(strstr(why, "has no name"));
            refused++;
            free(copy);
            continue;
        }
        for (size_t i = 0; i < cubin.kernel_count; i++) {
            const char *name = cubin.kernels[i].name;
            assert_true(name + strlen(name) < (const char *)copy + offset + left);
        }
        sc_cubin_free(&cubin);
    }
    assert_in_range(refused, 1, bytes);
    free(file.data);
}

/* Breaks if an error does not say where it is, or something else than a GPU's ELF file passes. */
static void test_errors(void **state)
{
    (void)state;
    struct file file = load("small");
    char why[256] = "";
    struct sc_cubin cubin = {0};
    file.data[18] = 62; /* the machine: x86-64 */
    assert_int_equal(sc_cubin_read(file.data, file.bytes, &cubin, why, sizeof why), SC_CUBIN_CORRUPT);
    assert_string_equal(why, "cubin: machine 62 at offset 18, which is no GPU");
    file.data[18] = 190;
    file.data[62] = 0xff; /* the section with the sections' names */
    assert_int_equal(sc_cubin_read(file.data, file.bytes, &cubin, why, sizeof why), SC_CUBIN_CORRUPT);
    assert_non_null(strstr(why, "at offset 62"));
    free(file.data);
    assert_int_equal(read_copy((const unsigned char *)"", 0), SC_CUBIN_CORRUPT);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped), cmocka_unit_test(test_names_that_do_not_end),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
