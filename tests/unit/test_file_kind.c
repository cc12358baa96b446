/* Which files may be replaced: what is lost if this is wrong is a file of somebody else's. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"

#define MARKER "no\0tes"
static const struct sl_file_kind notes = SL_FILE_KIND("no notes", MARKER);

static char folder[] = "/tmp/sluice-kind-XXXXXX";
static char path[64];

/* The file is `before` letters and then `marker_bytes` bytes of the marker. */
static void put(size_t before, size_t marker_bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < before; i++) assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fwrite(MARKER, 1, marker_bytes, file), marker_bytes);
    assert_int_equal(fclose(file), 0);
}

/* Both ways of asking say so. */
static void assert_replaceable(bool expected)
{
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    errno = 0;
    assert_int_equal(sl_file_replaceable(fd, &notes), expected);
    assert_int_equal(errno, expected ? 0 : EEXIST);
    errno = 0;
    assert_int_equal(sl_file_path_replaceable(path, &notes), expected);
    assert_int_equal(errno, expected ? 0 : EEXIST);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0); /* whoever opened it reads from its start */
    close(fd);
}

static void the_first_bytes_say_what_a_file_is(void **state)
{
    (void)state;
    size_t whole = sizeof(MARKER) - 1;
    put(0, whole);
    assert_replaceable(true);
    put(SL_MARKER_WITHIN - whole, whole);
    assert_replaceable(true);
    put(SL_MARKER_WITHIN - whole + 1, whole);
    assert_replaceable(false);
    for (size_t cut = 1; cut < whole; cut++) {
        put(0, cut);
        assert_replaceable(false);
    }
}

static void an_empty_file_is_of_any_kind(void **state)
{
    (void)state;
    put(0, 0);
    assert_replaceable(true);
    put(1, 0);
    assert_replaceable(false);
}

static void all_is_replaced_where_that_is_allowed(void **state)
{
    (void)state;
    put(100, 0);
    assert_false(sl_file_overwrites());
    sl_file_overwrite(true);
    assert_true(sl_file_overwrites());
    assert_replaceable(true);
    sl_file_overwrite(false);
    assert_replaceable(false);
}

/* Nothing could be lost there; and nobody waits for a pipe's other end to find out. */
static void pipes_and_devices_hold_nothing(void **state)
{
    (void)state;
    int ends[2], device = open("/dev/zero", O_RDONLY);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(sl_file_path_replaceable(path, &notes));
    assert_true(sl_file_path_replaceable("/dev/zero", &notes));
    assert_int_equal(pipe(ends), 0);
    assert_true(sl_file_replaceable(ends[0], &notes));
    assert_true(sl_file_replaceable(device, &notes));
    close(ends[0]);
    close(ends[1]);
    close(device);
    unlink(path);
    assert_true(sl_file_path_replaceable(path, &notes)); /* there is none */
}

static void what_cannot_be_read_stays(void **state)
{
    (void)state;
    put(0, sizeof(MARKER) - 1);
    int fd = open(path, O_WRONLY);
    assert_false(sl_file_replaceable(fd, &notes));
    assert_int_equal(errno, EEXIST);
    close(fd);
    assert_false(sl_file_replaceable(fd, &notes));
    assert_int_equal(errno, EBADF);
    if (geteuid() == 0) return; /* who may read everything */
    assert_int_equal(chmod(path, 0200), 0);
    assert_false(sl_file_path_replaceable(path, &notes));
    assert_int_equal(errno, EEXIST);
}

static void a_refusal_says_what_would_help(void **state)
{
    (void)state;
    assert_string_equal(
        sl_file_problem(&notes, EEXIST),
        "there is a file that is no notes, which SLUICE_OVERWRITE=1 or --force would replace");
    assert_string_equal(sl_file_problem(&notes, ENOSPC), strerror(ENOSPC));
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof(path), "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_bytes_say_what_a_file_is),
        cmocka_unit_test(an_empty_file_is_of_any_kind),
        cmocka_unit_test(all_is_replaced_where_that_is_allowed),
        cmocka_unit_test(pipes_and_devices_hold_nothing),
        cmocka_unit_test(what_cannot_be_read_stays),
        cmocka_unit_test(a_refusal_says_what_would_help),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
