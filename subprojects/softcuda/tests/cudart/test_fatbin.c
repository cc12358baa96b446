/* The fat binary reader on what nvcc makes, in every compression, and on damaged input.
 * Arguments: the folder with the fat binaries. */
#include "fatbin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
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
    snprintf(path, sizeof path, "%s/%s.fatbin", folder, name);
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

static enum sc_fatbin_status read_bounded(const void *data, size_t bytes)
{
    struct sc_fatbin_images images = {0};
    char why[256] = "";
    const enum sc_fatbin_status status = sc_fatbin_ptx_bounded(data, bytes, 0, &images, why, sizeof why);
    if (status == SC_FATBIN_OK) {
        assert_int_equal(strlen(images.items[0].text), images.items[0].bytes);
        sc_fatbin_images_free(&images);
    } else {
        assert_null(images.items);
        assert_true(why[0] != '\0');
    }
    return status;
}

static void expect_kernels(const struct sc_fatbin_images *images, unsigned arch)
{
    assert_int_equal(images->count, 1);
    assert_int_equal(images->items[0].arch, arch);
    assert_int_equal(strlen(images->items[0].text), images->items[0].bytes);
    assert_non_null(strstr(images->items[0].text, ".entry first("));
    assert_non_null(strstr(images->items[0].text, ".entry second("));
}

/* Breaks if a compression, the entry layout or the choice of architecture is read wrongly. */
static void test_every_compression(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "speed", "balance", "size"};
    static const struct {
        unsigned device, chosen;
    } choices[] = {{0, 90}, {75, 75}, {80, 75}, {90, 90}, {120, 90}, {50, 75}};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct file file = load(names[n]);
        for (size_t c = 0; c < sizeof choices / sizeof choices[0]; c++) {
            struct sc_fatbin_images images = {0};
            char why[256] = "";
            assert_int_equal(sc_fatbin_ptx(file.data, choices[c].device, &images, why, sizeof why),
                             SC_FATBIN_OK);
            expect_kernels(&images, choices[c].chosen);
            sc_fatbin_images_free(&images);
        }
        free(file.data);
    }
}

struct wrapper {
    uint32_t magic, version;
    const void *container;
    const void *const *extra;
};

/* Breaks if a program's registered wrapper, or the linked units of a version 2 one, are not followed. */
static void test_wrappers(void **state)
{
    (void)state;
    struct file file = load("size");
    struct file machine_code = load("sass");
    char why[256] = "";
    struct sc_fatbin_images images = {0};
    const struct wrapper plain = {0x466243b1u, 1, file.data, NULL};
    assert_int_equal(sc_fatbin_ptx(&plain, 80, &images, why, sizeof why), SC_FATBIN_OK);
    expect_kernels(&images, 75);
    sc_fatbin_images_free(&images);

    const uint64_t empty[2] = {0x00100001ba55ed50u, 0};
    const void *const units[] = {file.data, &plain, machine_code.data, NULL};
    const struct wrapper linked = {0x466243b1u, 2, empty, units};
    assert_int_equal(sc_fatbin_ptx(&linked, 90, &images, why, sizeof why), SC_FATBIN_OK);
    assert_int_equal(images.count, 2);
    assert_int_equal(images.items[1].arch, 90);
    sc_fatbin_images_free(&images);

    const struct wrapper nothing = {0x466243b1u, 1, NULL, NULL};
    assert_int_equal(sc_fatbin_ptx(&nothing, 80, &images, why, sizeof why), SC_FATBIN_CORRUPT);
    const struct wrapper hollow = {0x466243b1u, 2, empty, NULL};
    assert_int_equal(sc_fatbin_ptx(&hollow, 80, &images, why, sizeof why), SC_FATBIN_NO_PTX);
    free(file.data);
    free(machine_code.data);
}

/* Breaks if machine code is taken for PTX, or if the message does not tell the user what to do. */
static void test_machine_code_only(void **state)
{
    (void)state;
    struct file file = load("sass");
    struct sc_fatbin_images images = {0};
    char why[256] = "";
    assert_int_equal(sc_fatbin_ptx(file.data, 80, &images, why, sizeof why), SC_FATBIN_NO_PTX);
    assert_non_null(strstr(why, "machine code only"));
    assert_non_null(strstr(why, "-gencode"));
    free(file.data);
    static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F'};
    assert_int_equal(sc_fatbin_ptx(elf, 80, &images, why, sizeof why), SC_FATBIN_NO_PTX);
}

/* Breaks if text is not recognised, or if what is no PTX is passed on as PTX. */
static void test_text(void **state)
{
    (void)state;
    struct sc_fatbin_images images = {0};
    char why[256] = "";
    assert_int_equal(sc_fatbin_ptx("\n// made\n.version 9.0\n", 0, &images, why, sizeof why), SC_FATBIN_OK);
    assert_string_equal(images.items[0].text, "\n// made\n.version 9.0\n");
    sc_fatbin_images_free(&images);
    assert_int_equal(sc_fatbin_ptx("", 0, &images, why, sizeof why), SC_FATBIN_UNKNOWN);
    assert_int_equal(sc_fatbin_ptx("PK\3\4", 0, &images, why, sizeof why), SC_FATBIN_UNKNOWN);
    assert_int_equal(sc_fatbin_ptx(NULL, 0, &images, why, sizeof why), SC_FATBIN_UNKNOWN);
    assert_int_equal(read_bounded(".version", 4), SC_FATBIN_OK);
    assert_int_equal(read_bounded("", 0), SC_FATBIN_UNKNOWN);
}

/* Breaks if any cut leads beyond the end of the buffer or passes as whole. */
static void test_truncated(void **state)
{
    (void)state;
    struct file file = load("size");
    for (size_t bytes = 0; bytes < file.bytes; bytes++) {
        unsigned char *cut = malloc(bytes ? bytes : 1);
        assert_non_null(cut);
        memcpy(cut, file.data, bytes);
        assert_int_not_equal(read_bounded(cut, bytes), SC_FATBIN_OK);
        free(cut);
    }
    free(file.data);
}

/* Breaks if a damaged size, offset or stream makes the reader leave its buffer: run under a sanitizer. Any
 * answer is right as long as it is an answer. */
static void test_flipped(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "speed", "size"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct file file = load(names[n]);
        for (size_t bit = 0; bit < 8 * file.bytes; bit++) {
            file.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
            read_bounded(file.data, file.bytes);
            file.data[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        }
        free(file.data);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_compression), cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_machine_code_only), cmocka_unit_test(test_text),
        cmocka_unit_test(test_truncated),         cmocka_unit_test(test_flipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
