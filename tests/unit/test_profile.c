/* The profile's file: it is replaced as a whole, and nothing that must not be replaced is. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile_sample.h"

static char folder[] = "/tmp/sluice-profile-XXXXXX";
static char path[sizeof folder + 32];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/profile", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void assert_same_profile(const struct sl_profile *a, const struct sl_profile *b)
{
    uint8_t *one, *other;
    size_t one_bytes, other_bytes;
    assert_int_equal(sl_profile_encode(a, &one, &one_bytes), SL_OK);
    assert_int_equal(sl_profile_encode(b, &other, &other_bytes), SL_OK);
    assert_int_equal(one_bytes, other_bytes);
    assert_memory_equal(one, other, one_bytes);
    free(one);
    free(other);
}

static void put(const void *bytes, size_t count)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, count), count);
    close(file);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
    (void)state;
    struct sl_profile profile = profile_sample(), back;
    struct stat before, after;
    bool is_one;
    assert_int_equal(sl_profile_read(path, &back, &is_one), SL_ERR_IO);
    assert_int_equal(errno, ENOENT);
    assert_true(is_one);
    put("", 0);
    assert_int_equal(sl_profile_read(path, &back, &is_one), SL_ERR_IO);
    assert_int_equal(errno, ENOENT);
    assert_true(is_one);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(sl_profile_write(path, &profile), SL_OK);
    assert_int_equal(stat(path, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_int_equal(after.st_mode & 0777, 0600);
    assert_int_equal(sl_profile_read(path, &back, &is_one), SL_OK);
    assert_true(is_one);
    assert_same_profile(&profile, &back);
    sl_profile_free(&back);
    sl_profile_free(&profile);
}

static void other_files_are_told_apart(void **state)
{
    (void)state;
    struct sl_profile back;
    bool is_one;
    put("SLPROF\r\n", 8);
    assert_int_equal(sl_profile_read(path, &back, &is_one), SL_ERR_TRUNCATED);
    assert_true(is_one);
    char newer[64] = "SLPROF\r\n\2";
    put(newer, sizeof newer);
    assert_int_equal(sl_profile_read(path, &back, &is_one), SL_ERR_VERSION);
    assert_true(is_one);
    put("a letter", 8);
    assert_int_equal(sl_profile_read(path, &back, &is_one), SL_ERR_FORMAT);
    assert_false(is_one);
    assert_int_equal(sl_profile_read(folder, &back, &is_one), SL_ERR_FORMAT);
    assert_false(is_one);
}

static void links_and_devices_stay(void **state)
{
    (void)state;
    struct sl_profile profile = profile_sample();
    char target[sizeof path + 8];
    struct stat at;
    snprintf(target, sizeof target, "%s.target", path);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(sl_profile_write(path, &profile), SL_ERR_IO);
    assert_int_equal(errno, EPERM);
    assert_int_equal(access(target, F_OK), -1);
    unlink(path);
    put("x", 1);
    assert_int_equal(link(path, target), 0);
    assert_int_equal(sl_profile_write(path, &profile), SL_ERR_IO);
    unlink(target);
    assert_int_equal(sl_profile_write(folder, &profile), SL_ERR_IO);
    assert_int_equal(sl_profile_write("/dev/null", &profile), SL_OK);
    assert_int_equal(stat("/dev/null", &at), 0);
    assert_true(S_ISCHR(at.st_mode));
    /* No folder, no file; and nothing is left beside it. */
    snprintf(target, sizeof target, "%s/no/profile", folder);
    assert_int_equal(sl_profile_write(target, &profile), SL_ERR_IO);
    assert_int_equal(errno, ENOENT);
    sl_profile_free(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_as_a_whole),
        cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(links_and_devices_stay),
    };
    return cmocka_run_group_tests_name("profile", tests, make_folder, remove_folder);
}
