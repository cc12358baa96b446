/* The installed reader, as another program has it: its header and its library, nothing else of sluice. */
#include <sluice/trace_reader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static const char *golden;
static char copy[] = "/tmp/sluice-reader-XXXXXX";

/* The golden trace, cut to `size` bytes (0: whole) and with the bits of `flip` changed at byte `at`. */
static const char *altered(long size, long at, int flip)
{
    static char bytes[1 << 16];
    FILE *from = fopen(golden, "rb"), *to = fopen(copy, "wb");
    assert_non_null(from);
    assert_non_null(to);
    size_t whole = fread(bytes, 1, sizeof(bytes), from);
    bytes[at] ^= (char)flip;
    assert_int_equal(fwrite(bytes, 1, size ? (size_t)size : whole, to), size ? (size_t)size : whole);
    fclose(from);
    fclose(to);
    return copy;
}

struct seen {
    unsigned records, launches, gaps, lost;
    char kernel[64];
    enum sluice_trace_status opened;
    struct sluice_trace_problem problem;
};

static void count(struct sluice_trace_reader *reader, struct seen *seen)
{
    struct sluice_trace_record record;
    while (sluice_trace_next(reader, &record)) {
        seen->records++;
        seen->launches += record.type == SLUICE_TRACE_LAUNCH;
        if (record.type == SLUICE_TRACE_GAP && record.flags == 2)
            seen->gaps++, seen->lost += (unsigned)record.a;
        if (record.type == SLUICE_TRACE_KERNEL && !seen->kernel[0])
            snprintf(seen->kernel, sizeof(seen->kernel), "%s", record.text);
    }
    seen->problem = *sluice_trace_problem(reader);
}

static struct seen read_all(const char *path)
{
    struct seen seen = {0};
    struct sluice_trace_reader *reader;
    seen.opened = sluice_trace_open(path, &reader, &seen.problem);
    if (seen.opened) return seen;
    assert_string_equal(sluice_trace_file_header(reader)->program, "gpt");
    count(reader, &seen);
    while (seen.problem.status == SLUICE_TRACE_DAMAGED && sluice_trace_resume(reader)) count(reader, &seen);
    sluice_trace_close(reader);
    return seen;
}

static void a_whole_file(void **state)
{
    (void)state;
    struct seen seen = read_all(golden);
    assert_int_equal(seen.problem.status, SLUICE_TRACE_OK);
    assert_int_equal(seen.records, 28);
    assert_int_equal(seen.launches, 6);
    assert_string_equal(seen.kernel, "matmul(float const*, float*)");
}

static void files_that_are_not_whole(void **state)
{
    (void)state;
    const long header = sizeof(struct sluice_trace_header);
    struct seen seen = read_all(altered(header + 50, 0, 0));
    assert_int_equal(seen.problem.status, SLUICE_TRACE_CUT);
    assert_int_equal(seen.problem.offset, header);
    seen = read_all(altered(0, header + 45, 1));
    assert_int_equal(seen.problem.status, SLUICE_TRACE_OK);
    assert_int_equal(seen.gaps, 1);
    assert_int_equal(seen.records, 28 - seen.lost + 1);
    seen = read_all(altered(0, 30, 1));
    assert_int_equal(seen.opened, SLUICE_TRACE_DAMAGED);
    seen = read_all(altered(0, 0, 1));
    assert_int_equal(seen.opened, SLUICE_TRACE_FOREIGN);
    seen = read_all("/no/such/file");
    assert_int_equal(seen.opened, SLUICE_TRACE_UNREADABLE);
    assert_non_null(strstr(seen.problem.text, "No such file"));
}

static void nothing_else_is_exported(void **state)
{
    (void)state;
    assert_non_null(dlsym(RTLD_DEFAULT, "sluice_trace_open"));
    static const char *const inner[] = {"sl_trace_reader_open", "sl_trace_decode", "ZSTD_decompress",
                                        "XXH64"};
    for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++) assert_null(dlsym(RTLD_DEFAULT, inner[i]));
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? mkstemp(copy) : -1;
    if (fd < 0) return 2;
    close(fd);
    golden = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file),
        cmocka_unit_test(files_that_are_not_whole),
        cmocka_unit_test(nothing_else_is_exported),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(copy);
    return failed;
}
