/* Python's frames, of an interpreter that this program pretends to be: it exports the names that are looked
 * for, and lays frames out as the headers of each version do. tests/shim/check_python.py asks a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/python_frames.h"

#define EXPORTED __attribute__((visibility("default")))

struct version {
    unsigned long number;
    size_t cframe, frame; /* of the thread, and of what that leads to; 0, 72: the thread has the frame */
    size_t previous, code, instruction, owner, first_line, name, instructions;
};
static const struct version versions[] = {
    {0x030b07f0, 56, 8, 48, 32, 56, 69, 72, 128, 184},
    {0x030c01f0, 56, 0, 8, 0, 56, 70, 68, 128, 192},
    {0x030d05f0, 0, 72, 8, 0, 56, 70, 68, 128, 200},
};
#define VERSIONS (sizeof versions / sizeof *versions)

static char thread[256], cframe[64], frames[4][128], codes[4][512], names[4][64];
static const char *now;
static int initialized = 1;

EXPORTED extern unsigned long Py_Version;
EXPORTED extern char PyCode_Type[64], _PyRuntime[256];
EXPORTED const void *PyGILState_GetThisThreadState(void);
EXPORTED int Py_IsInitialized(void);
unsigned long Py_Version;
char PyCode_Type[64], _PyRuntime[256];

const void *PyGILState_GetThisThreadState(void)
{
    return now;
}

int Py_IsInitialized(void)
{
    return initialized;
}

static void put(char *object, size_t offset, const void *pointer)
{
    memcpy(object + offset, &pointer, sizeof pointer);
}

/* Frame `f`, in function `f` at instruction `at`, called by frame `f` + 1. */
static void set_frame(const struct version *v, int f, const char *previous, size_t at)
{
    int32_t line = 100 * (f + 1);
    uint64_t length = 5;
    put(frames[f], v->previous, previous);
    put(frames[f], v->code, codes[f]);
    put(frames[f], v->instruction, codes[f] + v->instructions + at);
    frames[f][v->owner] = 0;
    put(codes[f], 8, PyCode_Type);
    put(codes[f], v->name, names[f]);
    memcpy(codes[f] + v->first_line, &line, sizeof line);
    memcpy(names[f] + 16, &length, sizeof length);
}

/* Three frames. */
static void begin(const struct version *v)
{
    memset(thread, 0, sizeof thread);
    memset(cframe, 0, sizeof cframe);
    memset(frames, 0, sizeof frames);
    memset(codes, 0, sizeof codes);
    Py_Version = v->number;
    memcpy(_PyRuntime, "xdebugpy", 8);
    memset(_PyRuntime + 8, 0, sizeof _PyRuntime - 8);
    for (int f = 0; f < 3; f++) set_frame(v, f, f < 2 ? frames[f + 1] : NULL, 10);
    if (v->cframe) put(thread, v->cframe, cframe);
    put(v->cframe ? cframe : thread, v->frame, frames[0]);
    now = thread;
    sl_python_frames_open();
}

static void each_line_of_each_caller_is_another_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSIONS; i++) {
        begin(&versions[i]);
        uint64_t seen[8], count = 0;
        seen[count++] = sl_python_frames_hash();
        for (int f = 0; f < 3; f++) {
            set_frame(&versions[i], f, f < 2 ? frames[f + 1] : NULL, 12);
            seen[count++] = sl_python_frames_hash();
            set_frame(&versions[i], f, f < 2 ? frames[f + 1] : NULL, 10);
        }
        names[1][16] = 6; /* another function that begins at the same line */
        seen[count++] = sl_python_frames_hash();
        names[1][16] = 5;
        assert_int_equal(sl_python_frames_hash(), seen[0]);
        for (uint64_t a = 0; a < count; a++) {
            assert_int_not_equal(seen[a], 0);
            for (uint64_t b = 0; b < a; b++) assert_int_not_equal(seen[a], seen[b]);
        }
    }
}

/* Addresses differ in every run, and so would the sites of a profile. */
static void where_code_lies_does_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSIONS; i++) {
        begin(&versions[i]);
        uint64_t before = sl_python_frames_hash();
        memcpy(codes[3], codes[0], sizeof codes[0]);
        put(frames[0], versions[i].code, codes[3]);
        put(frames[0], versions[i].instruction, codes[3] + versions[i].instructions + 10);
        assert_int_equal(sl_python_frames_hash(), before);
    }
}

/* They stand for calls of the interpreter from C, and have no function. */
static void frames_of_c_are_passed_over(void **state)
{
    (void)state;
    for (size_t i = 1; i < VERSIONS; i++) {
        begin(&versions[i]);
        uint64_t before = sl_python_frames_hash();
        put(frames[3], versions[i].previous, frames[1]);
        put(frames[3], versions[i].code, (void *)1);
        frames[3][versions[i].owner] = 3;
        put(frames[0], versions[i].previous, frames[3]);
        assert_int_equal(sl_python_frames_hash(), before);
    }
}

static void what_is_no_code_ends_the_walk(void **state)
{
    (void)state;
    begin(&versions[1]);
    uint64_t before = sl_python_frames_hash();
    put(codes[1], 8, thread);
    put(frames[1], versions[1].previous, (void *)1);
    assert_int_not_equal(sl_python_frames_hash(), before);
    put(frames[0], versions[1].code, NULL);
    assert_int_equal(sl_python_frames_hash(), 0);
}

static void threads_without_python_have_no_frames(void **state)
{
    (void)state;
    begin(&versions[2]);
    now = NULL;
    assert_int_equal(sl_python_frames_hash(), 0);
    now = thread;
    put(thread, versions[2].frame, NULL);
    assert_int_equal(sl_python_frames_hash(), 0);
}

/* A recursion that is deeper than what is looked at has the place of its innermost frames. */
static void a_walk_ends(void **state)
{
    (void)state;
    begin(&versions[1]);
    put(frames[2], versions[1].previous, frames[0]);
    assert_int_not_equal(sl_python_frames_hash(), 0);
}

static void other_versions_are_left_alone(void **state)
{
    (void)state;
    static const unsigned long others[] = {0, 0x02070000, 0x030a0000, 0x030e0000, 0x040b0000};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        begin(&versions[0]);
        assert_int_not_equal(sl_python_frames_hash(), 0);
        Py_Version = others[i];
        sl_python_frames_open();
        assert_int_equal(sl_python_frames_hash(), 0);
    }
}

/* Its threads' states are gone, or about to go. */
static void an_interpreter_that_ends_is_left_alone(void **state)
{
    (void)state;
    begin(&versions[0]);
    uint64_t before = sl_python_frames_hash();
    initialized = 0;
    now = (void *)1;
    assert_int_equal(sl_python_frames_hash(), 0);
    initialized = 1;
    now = thread;
    assert_int_equal(sl_python_frames_hash(), before);
}

/* 3.13 says whether its objects are those of the usual build. */
static void builds_without_the_gil_are_left_alone(void **state)
{
    (void)state;
    begin(&versions[2]);
    _PyRuntime[16] = 1;
    sl_python_frames_open();
    assert_int_equal(sl_python_frames_hash(), 0);
    begin(&versions[2]);
    _PyRuntime[0] = 'y';
    sl_python_frames_open();
    assert_int_equal(sl_python_frames_hash(), 0);
}

/* Strings and line tables as CPython has them in memory; damaged ones end the reading. */
enum { COMPACT = 1 << 5, ASCII = 1 << 6 };

/* A str object of CPython 3.`minor`, whose characters have `kind` bytes each. */
static const char *text_object(unsigned minor, unsigned kind, bool ascii, const void *data, uint64_t length)
{
    static char object[512];
    uint32_t state = kind << 2 | COMPACT | (ascii ? ASCII : 0);
    size_t at = minor < 12 ? (ascii ? 48 : 72) : (ascii ? 40 : 56);
    memset(object, 0, sizeof object);
    memcpy(object + 16, &length, sizeof length);
    memcpy(object + 32, &state, sizeof state);
    memcpy(object + at, data, length * kind);
    return object;
}

static void texts_of_each_kind_become_utf_8(void **state)
{
    (void)state;
    for (unsigned minor = 11; minor <= 13; minor++) {
        char out[64] = "";
        sl_python_text(text_object(minor, 1, true, "train.py", 8), minor, out, sizeof out);
        assert_string_equal(out, "train.py");
        sl_python_text(text_object(minor, 1, false, "\xe4", 1), minor, out, sizeof out);
        assert_string_equal(out, "train.pyä");
        static const uint16_t two[] = {0x4e2d, 0xd800, 'x'};
        static const uint32_t four[] = {0x1f600, 0x110000, '\n'};
        out[0] = 0;
        sl_python_text(text_object(minor, 2, false, two, 3), minor, out, sizeof out);
        assert_string_equal(out, "中?x");
        out[0] = 0;
        sl_python_text(text_object(minor, 4, false, four, 3), minor, out, sizeof out);
        assert_string_equal(out, "\U0001f600??");
    }
}

static void long_texts_are_cut_at_a_whole_character(void **state)
{
    (void)state;
    char out[8] = "abc";
    static const uint16_t two[] = {0x4e2d, 0x4e2d, 0x4e2d, 0x4e2d};
    sl_python_text(text_object(13, 2, false, two, 2), 13, out, sizeof out);
    assert_string_equal(out, "abc中");
    sl_python_text(text_object(13, 3, false, two, 2), 13, out, sizeof out); /* no such kind */
    assert_string_equal(out, "abc中");
}

/* Tables that CPython 3.11 and later make (dis.findlinestarts of functions with these lines). */
static void each_kind_of_entry_has_its_line(void **state)
{
    (void)state;
    static const uint8_t table[] = {
        0x80 | 11 << 3 | 0,
        0,
        4, /* unit 0: one line further, with columns */
        0x80 | 3 << 3 | 1,
        0x12, /* units 1, 2: the same line, short */
        0x80 | 13 << 3 | 0,
        9 << 1 & 0x3f,      /* unit 3: 9 lines further, no columns */
        0x80 | 15 << 3 | 0, /* unit 4: no location */
        0x80 | 14 << 3 | 2,
        3,
        0,
        1,
        2, /* units 5 to 7: one line back, long form */
        0x80 | 13 << 3 | 0,
        0x40 | 8,
        4, /* unit 8: a number of two groups: 132 lines further */
    };
    static const uint32_t lines[] = {101, 101, 101, 110, 0, 109, 109, 109, 241};
    for (uint64_t at = 0; at < 9; at++)
        assert_int_equal(sl_python_line(table, sizeof table, 100, at), lines[at]);
    assert_int_equal(sl_python_line(table, sizeof table, 100, 9), 0);
    assert_int_equal(sl_python_line(table, 0, 100, 0), 0);
}

/* Whatever bytes there are, the reading ends, within the table (the sanitizers see that). */
static void any_bytes_are_read_to_an_end(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint8_t table[24];
        for (size_t b = 0; b < sizeof table; b++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            table[b] = (uint8_t)(seed >> 56);
        }
        for (size_t bytes = 0; bytes <= sizeof table; bytes++) sl_python_line(table, bytes, 7, seed >> 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_each_caller_is_another_place),
        cmocka_unit_test(where_code_lies_does_not_matter),
        cmocka_unit_test(frames_of_c_are_passed_over),
        cmocka_unit_test(what_is_no_code_ends_the_walk),
        cmocka_unit_test(threads_without_python_have_no_frames),
        cmocka_unit_test(a_walk_ends),
        cmocka_unit_test(other_versions_are_left_alone),
        cmocka_unit_test(an_interpreter_that_ends_is_left_alone),
        cmocka_unit_test(builds_without_the_gil_are_left_alone),
        cmocka_unit_test(texts_of_each_kind_become_utf_8),
        cmocka_unit_test(long_texts_are_cut_at_a_whole_character),
        cmocka_unit_test(each_kind_of_entry_has_its_line),
        cmocka_unit_test(any_bytes_are_read_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
