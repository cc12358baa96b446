/* The profile's file: what is written is read back, whatever is damaged is refused, and nothing that must not
 * be replaced is. */
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
#include "profile/profile_format.h"
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

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct sl_profile profile = profile_sample(), back;
    uint8_t *bytes;
    size_t count;
    assert_int_equal(sl_profile_encode(&profile, &bytes, &count), SL_OK);
    assert_true(sl_profile_is_one(bytes, count));
    assert_int_equal(sl_profile_decode(bytes, count, &back), SL_OK);
    assert_same_profile(&profile, &back);
    assert_string_equal(back.objects[1].name, "libmodel.so");
    assert_int_equal(back.objects[1].build_id[1], 4);
    assert_string_equal(back.command, "train --steps 3");
    assert_string_equal(back.wanted.backing, "");
    assert_int_equal(back.wanted.chunk_bytes, 4 * SL_MIB);
    assert_int_equal(back.properties.need_bytes, 600 * SL_MIB);
    assert_int_equal(sl_profile_slots(&back), 5);
    assert_true(back.keys[1].short_lived);
    assert_string_equal(back.kernels[1].name, "backward");
    assert_int_equal(back.kernels[1].sizes[1], 24);
    assert_int_equal(back.symbols[3].first_access, 2);
    assert_int_equal(back.symbols[3].duration_ns, 77000);
    assert_int_equal(back.accesses[1].offset, 4096);
    assert_true(back.accesses[4].only_read && !back.accesses[3].only_read);
    assert_int_equal(back.string_count, profile.string_count);
    assert_memory_equal(back.string, profile.string, profile.string_count * sizeof *back.string);
    free(bytes);
    sl_profile_free(&profile);
    sl_profile_free(&back);
    sl_profile_free(&back);
}

static void an_empty_profile_is_one(void **state)
{
    (void)state;
    struct sl_profile nothing = {0}, back;
    uint8_t *bytes;
    size_t count;
    assert_int_equal(sl_profile_encode(&nothing, &bytes, &count), SL_OK);
    assert_int_equal(sl_profile_decode(bytes, count, &back), SL_OK);
    assert_string_equal(back.sluice, "");
    assert_int_equal(back.string_count, 0);
    free(bytes);
    sl_profile_free(&back);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    struct sl_profile profile = profile_sample(), back = {0};
    uint8_t *bytes;
    size_t count;
    assert_int_equal(sl_profile_encode(&profile, &bytes, &count), SL_OK);
    for (size_t cut = 0; cut < count; cut++) {
        uint8_t *shorter = malloc(cut + 1); /* of its own: a sanitizer sees what is read behind it */
        memcpy(shorter, bytes, cut);
        assert_int_not_equal(sl_profile_decode(shorter, cut, &back), SL_OK);
        assert_null(back.symbols);
        free(shorter);
    }
    uint8_t *longer = malloc(count + 1);
    memcpy(longer, bytes, count);
    longer[count] = 0;
    assert_int_equal(sl_profile_decode(longer, count + 1, &back), SL_ERR_FORMAT);
    free(longer);
    free(bytes);
    sl_profile_free(&profile);
}

static void every_flipped_bit_is_refused(void **state)
{
    (void)state;
    struct sl_profile profile = profile_sample(), back = {0};
    uint8_t *bytes;
    size_t count;
    assert_int_equal(sl_profile_encode(&profile, &bytes, &count), SL_OK);
    for (size_t bit = 0; bit < 8 * count; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(sl_profile_decode(bytes, count, &back), SL_OK);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(sl_profile_decode(bytes, count, &back), SL_OK);
    free(bytes);
    sl_profile_free(&profile);
    sl_profile_free(&back);
}

static enum sl_status read_back(const struct sl_profile *profile)
{
    struct sl_profile back;
    uint8_t *bytes;
    size_t count;
    assert_int_equal(sl_profile_encode(profile, &bytes, &count), SL_OK);
    enum sl_status status = sl_profile_decode(bytes, count, &back);
    free(bytes);
    if (status == SL_OK) sl_profile_free(&back);
    return status;
}

/* Checksums are right, what they cover is not: as somebody may write it. */
static void what_refers_to_nothing_is_refused(void **state)
{
    (void)state;
    struct sl_profile profile = profile_sample();
#define REFUSED(place, value)                                                                                \
    do {                                                                                                     \
        typeof(place) kept = (place);                                                                        \
        (place) = (value);                                                                                   \
        assert_int_equal(read_back(&profile), SL_ERR_FORMAT);                                                \
        (place) = kept;                                                                                      \
        assert_int_equal(read_back(&profile), SL_OK);                                                        \
    } while (0)
    REFUSED(profile.string[2], profile.symbol_count);
    REFUSED(profile.symbols[1].slot, 5);
    REFUSED(profile.symbols[1].kind, 3);
    REFUSED(profile.symbols[0].kind, 1);
    REFUSED(profile.symbols[3].access_count, 2);
    REFUSED(profile.symbols[3].access_count, 4);
    REFUSED(profile.symbols[3].kernel, 3);
    REFUSED(profile.accesses[0].slot, 5);
    REFUSED(profile.accesses[0].kernel, 3);
    REFUSED(profile.accesses[1].offset, 8 * SL_MIB);
    REFUSED(profile.accesses[4].bytes, 1025);
    REFUSED(profile.accesses[4].offset, 1);
    REFUSED(profile.keys[0].bytes, 0);
    REFUSED(profile.keys[1].slots, SL_PROFILE_MOST_SLOTS - 1);
    REFUSED(profile.kernels[1].sizes[1], 65536);
    sl_profile_free(&profile);
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
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(an_empty_profile_is_one),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(what_refers_to_nothing_is_refused),
        cmocka_unit_test(a_file_is_replaced_as_a_whole),
        cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(links_and_devices_stay),
    };
    return cmocka_run_group_tests_name("profile", tests, make_folder, remove_folder);
}
