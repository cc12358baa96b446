/* The fat binary reader on what nvcc makes, in every compression, and on damaged input.
 * Arguments: the folder with the fat binaries. */
#include "cubin.h"
#include "fatbin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Breaks if machine code is not found, in whatever compression, or not that of the newest architecture that
 * the device has reached. */
static void test_cubins(void **state)
{
    (void)state;
    static const char *const names[] = {"coded-none", "coded-speed", "coded-size"};
    static const struct {
        unsigned device, chosen;
    } choices[] = {{75, 75}, {89, 75}, {90, 90}, {120, 90}, {60, 75}};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct file file = load(names[n]);
        for (size_t c = 0; c < sizeof choices / sizeof choices[0]; c++) {
            struct sc_fatbin_images images = {0};
            char why[256] = "";
            assert_int_equal(sc_fatbin_cubin(file.data, c % 2 ? file.bytes : 0, choices[c].device, &images,
                                             why, sizeof why),
                             SC_FATBIN_OK);
            assert_int_equal(images.count, 1);
            assert_int_equal(images.items[0].arch, choices[c].chosen);
            assert_memory_equal(images.items[0].text, "\177ELF", 4);
            assert_int_equal(sc_cubin_bytes(images.items[0].text, images.items[0].bytes),
                             images.items[0].bytes);
            sc_fatbin_images_free(&images);
        }
        free(file.data);
    }
}

/* Breaks if PTX is taken for machine code, if a bare cubin is copied beyond its end or believed to be longer
 * than what is there, or if the machine code of linked units is sought anywhere but in the container. */
static void test_where_cubins_are(void **state)
{
    (void)state;
    struct file text = load("size"), coded = load("coded-none");
    struct sc_fatbin_images images = {0}, bare = {0};
    char why[256] = "";
    assert_int_equal(sc_fatbin_cubin(text.data, 0, 90, &images, why, sizeof why), SC_FATBIN_NO_PTX);
    assert_int_equal(sc_fatbin_cubin(".version 9.0", 0, 90, &images, why, sizeof why), SC_FATBIN_UNKNOWN);
    const void *const units[] = {text.data, NULL};
    const struct wrapper linked = {0x466243b1u, 2, coded.data, units};
    assert_int_equal(sc_fatbin_cubin(&linked, 0, 90, &images, why, sizeof why), SC_FATBIN_OK);
    assert_int_equal(images.count, 1);
    const struct sc_fatbin_image *cubin = &images.items[0];
    assert_int_equal(sc_fatbin_cubin(cubin->text, 0, 90, &bare, why, sizeof why), SC_FATBIN_OK);
    assert_int_equal(bare.items[0].bytes, cubin->bytes);
    assert_memory_equal(bare.items[0].text, cubin->text, cubin->bytes);
    sc_fatbin_images_free(&bare);
    assert_int_equal(sc_fatbin_cubin(cubin->text, cubin->bytes - 1, 90, &bare, why, sizeof why),
                     SC_FATBIN_CORRUPT);
    assert_non_null(strstr(why, "offset 0"));
    sc_fatbin_images_free(&images);
    free(text.data);
    free(coded.data);
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

#define PAGE 4096u

/* Maps the file's bytes so that they end where a mapping ends; behind it there is, with `neighbour`, other
 * readable memory. Returns the first byte; *base and *mapped are for munmap. */
static unsigned char *at_the_end(const struct file *file, bool neighbour, void **base, size_t *mapped)
{
    char path[] = "/tmp/fatbin-XXXXXX";
    const size_t pages = (file->bytes + PAGE - 1) / PAGE * PAGE, lead = pages - file->bytes;
    const int stored = mkstemp(path);
    assert_true(stored >= 0);
    unlink(path);
    assert_int_equal(pwrite(stored, file->data, file->bytes, (off_t)lead), file->bytes);
    *mapped = pages + PAGE;
    *base = mmap(NULL, *mapped, neighbour ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(*base, MAP_FAILED);
    void *placed = mmap(*base, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, stored, 0);
    assert_ptr_equal(placed, *base);
    close(stored);
    return (unsigned char *)*base + lead;
}

static enum sc_fatbin_status read_unbounded(const void *data, char *why, size_t why_bytes)
{
    struct sc_fatbin_images images = {0};
    *why = '\0';
    const enum sc_fatbin_status status = sc_fatbin_ptx(data, 80, &images, why, why_bytes);
    if (status == SC_FATBIN_OK)
        sc_fatbin_images_free(&images);
    else
        assert_true(why[0] != '\0');
    return status;
}

static void add_to(unsigned char *number, uint64_t more)
{
    uint64_t value;
    memcpy(&value, number, sizeof value);
    value += more;
    memcpy(number, &value, sizeof value);
}

/* Breaks if a length in a header is believed beyond the end of the object that holds the image. */
static void test_lengths_that_lie(void **state)
{
    (void)state;
    struct file file = load("none");
    char why[256];
    for (int neighbour = 0; neighbour < 2; neighbour++) {
        void *base;
        size_t mapped;
        unsigned char *image = at_the_end(&file, neighbour, &base, &mapped);
        assert_int_equal(read_unbounded(image, why, sizeof why), SC_FATBIN_OK);
        for (int bit = 0; bit < 64; bit++) {
            add_to(image + 8, UINT64_C(1) << bit); /* of all entries */
            assert_int_equal(read_unbounded(image, why, sizeof why), SC_FATBIN_CORRUPT);
            assert_non_null(strstr(why, "header at offset 0 claims"));
            add_to(image + 8, -(UINT64_C(1) << bit));
            add_to(image + 24, UINT64_C(1) << bit); /* of the first entry */
            assert_int_not_equal(read_unbounded(image, why, sizeof why), SC_FATBIN_OK);
            assert_non_null(strstr(why, "offset"));
            add_to(image + 24, -(UINT64_C(1) << bit));
        }
        assert_int_equal(read_unbounded(image, why, sizeof why), SC_FATBIN_OK);
        munmap(base, mapped);
    }
    free(file.data);
}

/* Breaks if a text without a NUL, an image of a few bytes, or an address where there is nothing is read
 * beyond the end of the memory. */
static void test_the_end_of_memory(void **state)
{
    (void)state;
    static const char text[] = ".version 9.0";
    char why[256];
    unsigned char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(pages, PAGE, PROT_READ | PROT_WRITE), 0);
    unsigned char *end = pages + PAGE;
    memcpy(end - strlen(text), text, strlen(text));
    assert_int_equal(read_unbounded(end - strlen(text), why, sizeof why), SC_FATBIN_OK);
    assert_int_equal(read_unbounded(end, why, sizeof why), SC_FATBIN_UNKNOWN);
    const uint32_t wrapper = 0x466243b1u, container = 0xba55ed50u;
    memcpy(end - 4, &wrapper, 4);
    assert_int_equal(read_unbounded(end - 4, why, sizeof why), SC_FATBIN_UNKNOWN);
    memcpy(end - 4, &container, 4);
    assert_int_equal(read_unbounded(end - 4, why, sizeof why), SC_FATBIN_CORRUPT);
    end[-1] = 0xb1;
    assert_int_equal(read_unbounded(end - 1, why, sizeof why), SC_FATBIN_UNKNOWN);
    const void *const units[] = {end, NULL};
    const struct wrapper linked = {0x466243b1u, 2, end, units},
                         endless = {0x466243b1u, 2, end, (void *)(end - 8)};
    memcpy(end - 8, &(const void *){end}, 8);
    assert_int_equal(read_unbounded(&linked, why, sizeof why), SC_FATBIN_UNKNOWN);
    assert_int_equal(read_unbounded(&endless, why, sizeof why), SC_FATBIN_UNKNOWN);
    munmap(pages, 2 * PAGE);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_compression),
        cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_machine_code_only),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_cubins),
        cmocka_unit_test(test_where_cubins_are),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_lengths_that_lie),
        cmocka_unit_test(test_the_end_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
