/* Profiles as bytes: what is written is read back, and whatever is damaged, or lies, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "launch/symbols.h"
#include "profile/profile.h"
#include "profile_sample.h"

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

/* A profile with something of the first and of the third device. */
static struct sl_profile of_three_devices(void)
{
    struct sl_profile profile = profile_sample(), third = profile_sample();
    third.properties.period = 3;
    third.string_count = 1;
    assert_int_equal(sl_profile_put_device(&profile, 2, &third), SL_OK);
    assert_null(third.string);
    sl_profile_free(&third);
    return profile;
}

static void each_device_has_its_part(void **state)
{
    (void)state;
    struct sl_profile profile = of_three_devices(), back, part, sample = profile_sample();
    uint8_t *bytes;
    size_t count;
    assert_int_equal(sl_profile_encode(&profile, &bytes, &count), SL_OK);
    assert_int_equal(sl_profile_decode(bytes, count, &back), SL_OK);
    assert_same_profile(&profile, &back);
    assert_int_equal(back.other_count, 2);
    assert_int_equal(back.others[0].string_count, 0);
    assert_false(sl_profile_take_device(&back, 3, &part));
    assert_true(sl_profile_take_device(&back, 2, &part));
    assert_int_equal(part.properties.period, 3);
    assert_int_equal(part.string_count, 1);
    assert_int_equal(part.key_count, sample.key_count);
    assert_int_equal(sl_profile_put_device(&back, 0, &part), SL_OK); /* in place of what is there */
    assert_int_equal(back.string_count, 1);
    assert_string_equal(back.command, "train --steps 3");
    part = (struct sl_profile){0};
    assert_int_equal(sl_profile_put_device(&back, SL_PROFILE_MOST_OTHERS + 1, &part), SL_ERR_UNSUPPORTED);
    profile.others[1].symbols[1].slot = 1000; /* each part is checked */
    profile.others[1].symbols[1].kind = SL_SYMBOL_ALLOC;
    free(bytes);
    sl_profile_free(&back);
    assert_int_equal(sl_profile_encode(&profile, &bytes, &count), SL_OK);
    assert_int_equal(sl_profile_decode(bytes, count, &back), SL_ERR_FORMAT);
    free(bytes);
    sl_profile_free(&profile);
    sl_profile_free(&sample);
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

/* The header as docs/profile-format.md has it. */
struct header {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t payload_bytes, stored_bytes, checksum;
};

static struct header header_of(size_t payload_bytes, size_t stored_bytes)
{
    return (struct header){.magic = SL_PROFILE_MAGIC,
                           .version = SL_PROFILE_VERSION,
                           .header_bytes = sizeof(struct header),
                           .payload_bytes = payload_bytes,
                           .stored_bytes = stored_bytes};
}

/* What becomes of a file with this header, sealed, and these stored bytes. */
static enum sl_status decoded(struct header header, const void *stored, size_t bytes)
{
    struct sl_profile back = {0};
    uint8_t *file = malloc(sizeof header + bytes);
    assert_non_null(file);
    header.checksum = XXH64(stored, bytes, XXH64(&header, offsetof(struct header, checksum), 0));
    memcpy(file, &header, sizeof header);
    memcpy(file + sizeof header, stored, bytes);
    enum sl_status status = sl_profile_decode(file, sizeof header + bytes, &back);
    free(file);
    sl_profile_free(&back);
    return status;
}

/* The same of a payload. */
static enum sl_status decoded_payload(const uint8_t *payload, size_t bytes)
{
    uint8_t stored[4096];
    size_t stored_bytes = ZSTD_compress(stored, sizeof stored, payload, bytes, 1);
    assert_false(ZSTD_isError(stored_bytes));
    return decoded(header_of(bytes, stored_bytes), stored, stored_bytes);
}

static void headers_that_lie_are_refused(void **state)
{
    (void)state;
    static const uint8_t payload[21]; /* 15 texts and numbers of the head, and six empty arrays */
    uint8_t stored[256];
    size_t bytes = ZSTD_compress(stored, sizeof stored, payload, sizeof payload, 1);
    const struct header good = header_of(sizeof payload, bytes);
    struct header bad = good;
    assert_int_equal(decoded(good, stored, bytes), SL_OK);
    bad.version++;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_VERSION);
    bad.version = 0;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_VERSION);
    bad = good;
    bad.header_bytes++;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_FORMAT);
    bad = good;
    bad.payload_bytes++;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_FORMAT);
    bad.payload_bytes = sizeof payload - 1;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_FORMAT);
    bad.payload_bytes = 64 * SL_MIB + 1; /* memory is not taken for more than any profile has */
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_FORMAT);
    bad.payload_bytes = UINT64_MAX;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_FORMAT);
    bad = good;
    bad.stored_bytes++;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_TRUNCATED);
    bad.stored_bytes = UINT64_MAX;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_TRUNCATED);
    bad.stored_bytes = bytes - 1;
    assert_int_equal(decoded(bad, stored, bytes), SL_ERR_FORMAT);
    assert_int_equal(decoded(good, "no zstd frame", 13), SL_ERR_TRUNCATED);
    bad = header_of(sizeof payload, 13);
    assert_int_equal(decoded(bad, "no zstd frame", 13), SL_ERR_FORMAT);
}

static size_t most_wanted; /* elements, by any one call of calloc */

/* The linker gives profile_format.c this for calloc(). */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    if (count > most_wanted) most_wanted = count;
    return __real_calloc(count, size);
}

/* A count stands for memory that is taken before its elements are read: each takes a byte at least, so there
 * are never more of them than bytes. */
static void counts_are_bounded_by_what_follows(void **state)
{
    (void)state;
    enum { OBJECTS = 15, KERNELS, KEYS, SYMBOLS, ACCESSES, STRING, ALL }; /* where the counts stand */
    uint8_t payload[64] = {0};
    assert_int_equal(decoded_payload(payload, ALL), SL_OK);
    most_wanted = 0;
    for (size_t at = OBJECTS; at < ALL; at++) {
        memset(payload, 0, sizeof payload);
        payload[at] =
            0xff; /* with the next one more than there are bytes, and fewer than a profile may have */
        payload[at + 1] = 0x1f;
        assert_int_equal(decoded_payload(payload, sizeof payload), SL_ERR_FORMAT);
        memset(payload + at, 0xff, 9); /* 2^63, and what follows */
        payload[at + 9] = 1;
        assert_int_equal(decoded_payload(payload, sizeof payload), SL_ERR_FORMAT);
    }
    assert_true(most_wanted <= sizeof payload);
}

static void texts_are_bounded_by_what_follows(void **state)
{
    (void)state;
    enum { ALL = 21 };
    uint8_t payload[64] = {0};
    payload[0] = 1; /* a text with a zero in it: everything behind it would be lost */
    assert_int_equal(decoded_payload(payload, ALL + 1), SL_ERR_FORMAT);
    payload[1] = 'x';
    assert_int_equal(decoded_payload(payload, ALL + 1), SL_OK);
    assert_int_equal(decoded_payload(payload, ALL + 2), SL_ERR_FORMAT); /* bytes that nobody reads */
    memset(payload, 'x', sizeof payload);
    payload[0] = sizeof payload; /* one more than there are */
    assert_int_equal(decoded_payload(payload, sizeof payload), SL_ERR_FORMAT);
}

/* A command line may be of any length. */
static void long_texts_are_cut(void **state)
{
    (void)state;
    struct sl_profile nothing = {0}, back;
    char *command = malloc(10000);
    uint8_t *bytes;
    size_t count;
    memset(command, 'x', 9999);
    command[9999] = 0;
    nothing.command = command;
    assert_int_equal(sl_profile_encode(&nothing, &bytes, &count), SL_OK);
    assert_int_equal(sl_profile_decode(bytes, count, &back), SL_OK);
    assert_int_equal(strlen(back.command), 4096);
    assert_int_equal(strlen(command), 9999); /* what is written is not changed */
    free(bytes);
    free(command);
    sl_profile_free(&back);
}

static void the_beginning_says_what_it_is(void **state)
{
    (void)state;
    const uint8_t *magic = (const uint8_t *)SL_PROFILE_MAGIC;
    assert_true(sl_profile_is_one(magic, 8));
    assert_false(sl_profile_is_one(magic, 7));
    assert_false(sl_profile_is_one(NULL, 0));
    for (int at = 0; at < 8; at++) {
        uint8_t other[9];
        memcpy(other, magic, 9);
        other[at] ^= 1;
        assert_false(sl_profile_is_one(other, 8));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(an_empty_profile_is_one),
        cmocka_unit_test(each_device_has_its_part),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(what_refers_to_nothing_is_refused),
        cmocka_unit_test(headers_that_lie_are_refused),
        cmocka_unit_test(counts_are_bounded_by_what_follows),
        cmocka_unit_test(texts_are_bounded_by_what_follows),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(the_beginning_says_what_it_is),
    };
    return cmocka_run_group_tests_name("profile format", tests, NULL, NULL);
}
