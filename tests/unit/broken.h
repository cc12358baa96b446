/* Breaks one field of a structure at a time. */
#ifndef SLUICE_TEST_BROKEN_H
#define SLUICE_TEST_BROKEN_H

/* With `value` in `field` the structure is not valid any more, and with what was there it is. */
#define assert_breaks(field, value, is_valid)                                                                \
    do {                                                                                                     \
        __auto_type kept_ = (field);                                                                         \
        (field) = (value);                                                                                   \
        assert_false(is_valid);                                                                              \
        (field) = kept_;                                                                                     \
        assert_true(is_valid);                                                                               \
    } while (0)

#endif
