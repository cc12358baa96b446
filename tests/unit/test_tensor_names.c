/* Names of tensors, from an interpreter that this program pretends to be. tests/shim/check_names.py asks a
 * real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/python_frames.h"
#include "trace/trace_write.h"
#include "trace_file.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern unsigned long Py_Version;
EXPORTED extern char PyCode_Type[64], _PyRuntime[256];
EXPORTED const void *PyGILState_GetThisThreadState(void);
EXPORTED int Py_IsInitialized(void);
EXPORTED int Py_AddPendingCall(int (*function)(void *), void *argument);
EXPORTED void *PyRun_StringFlags(const char *text, int start, void *globals, void *locals, void *flags);
EXPORTED void *PyDict_New(void);
EXPORTED void *PyDict_GetItemString(void *dictionary, const char *key);
EXPORTED const char *PyUnicode_AsUTF8(void *object);
EXPORTED void PyDict_Clear(void *object);
EXPORTED void PyErr_Clear(void);
EXPORTED void Py_DecRef(void *object);
unsigned long Py_Version;
char PyCode_Type[64], _PyRuntime[256];

static char path[] = "/tmp/sluice-names-XXXXXX";
static _Atomic sl_tick newest;
static struct sl_trace *trace;
static int dictionary, none; /* objects */
static const char *found;    /* what the script leaves; NULL: nothing */
static bool interrupted;
static int asked, held, emptied, cleared; /* calls; references; dictionaries; errors */
static int (*pending)(void *);
static int initialized = 1;

const void *PyGILState_GetThisThreadState(void)
{
    return NULL;
}

int Py_IsInitialized(void)
{
    return initialized;
}

int Py_AddPendingCall(int (*function)(void *), void *argument)
{
    assert_null(argument);
    pending = function;
    asked++;
    return 0;
}

void *PyDict_New(void)
{
    held++;
    return &dictionary;
}

void *PyRun_StringFlags(const char *text, int start, void *globals, void *locals, void *flags)
{
    assert_non_null(strstr(text, "get_objects"));
    assert_int_equal(start, 257);
    assert_ptr_equal(globals, &dictionary);
    assert_ptr_equal(locals, &dictionary);
    assert_null(flags);
    if (interrupted) return NULL;
    held++;
    return &none;
}

void *PyDict_GetItemString(void *object, const char *key)
{
    assert_ptr_equal(object, &dictionary);
    assert_string_equal(key, "found");
    return found ? &found : NULL;
}

const char *PyUnicode_AsUTF8(void *object)
{
    return *(const char **)object;
}

void PyDict_Clear(void *object)
{
    assert_ptr_equal(object, &dictionary);
    assert_true(held);
    emptied++;
}

void PyErr_Clear(void)
{
    cleared++;
}

void Py_DecRef(void *object)
{
    assert_non_null(object);
    held--;
}

static int start(void **state)
{
    (void)state;
    asked = held = emptied = cleared = 0;
    found = NULL;
    interrupted = false;
    Py_Version = 0x030b07f0;
    sl_python_frames_open();
    sl_tensor_names_open();
    if (sl_trace_open(path, &(struct sl_trace_options){.full = SL_TRACE_WAIT}, &trace) != SL_OK) return -1;
    sl_trace_emit_to(trace, &newest);
    return 0;
}

static struct trace_content written(void)
{
    sl_trace_emit_to(NULL, &newest);
    sl_trace_close(trace);
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.problem.status, SL_OK);
    return content;
}

/* The lines come from foreign objects. */
static void lines_of_another_form_are_left_out(void **state)
{
    (void)state;
    char lines[2048], name[601];
    memset(name, 'n', 600);
    name[600] = 0;
    snprintf(lines, sizeof lines,
             "4096 256 first.weight\n\nx 7 no address\n12 no bytes\n-1 7 sign\n12 7 \n12 "
             "7\n18446744073709551616 1 too large\n"
             "8192 1 a name with spaces\n1 1 %s",
             name);
    assert_int_equal(sl_tensor_names_emit(lines), 3);
    assert_int_equal(sl_tensor_names_emit(""), 0);
    struct trace_content content = written();
    assert_int_equal(content.count, 3);
    const struct sl_event *first = &content.records[0].event;
    assert_int_equal(first->type, SL_EVENT_NAME);
    assert_int_equal(first->a, 4096);
    assert_int_equal(first->b, 256);
    assert_string_equal(first->text, "first.weight");
    assert_string_equal(content.records[1].event.text, "a name with spaces");
    assert_int_equal(strlen(content.records[2].event.text), 255);
    trace_content_free(&content);
}

static void what_the_script_finds_is_recorded(void **state)
{
    (void)state;
    found = "64 8 bias";
    sl_tensor_names_ask();
    assert_int_equal(asked, 1);
    assert_int_equal(pending(NULL), 0);
    assert_int_equal(held, 0);
    assert_int_equal(emptied, 1);
    struct trace_content content = written();
    assert_int_equal(content.count, 1);
    assert_string_equal(content.records[0].event.text, "bias");
    trace_content_free(&content);
}

/* The script catches errors, so what comes out of it is the user's interrupt: the program has to see it. */
static void an_interrupt_passes_through(void **state)
{
    (void)state;
    interrupted = true;
    sl_tensor_names_ask();
    assert_int_equal(pending(NULL), -1);
    assert_int_equal(emptied, 1);
    assert_int_equal(cleared, 0);
    assert_int_equal(held, 0);
    struct trace_content content = written();
    assert_int_equal(content.count, 0);
    trace_content_free(&content);
}

static void nothing_found_is_no_error(void **state)
{
    (void)state;
    sl_tensor_names_ask();
    assert_int_equal(pending(NULL), 0);
    assert_int_equal(held, 0);
    struct trace_content content = written();
    assert_int_equal(content.count, 0);
    trace_content_free(&content);
}

static void one_that_ends_is_not_asked(void **state)
{
    (void)state;
    initialized = 0;
    sl_tensor_names_ask();
    initialized = 1;
    assert_int_equal(asked, 0);
    struct trace_content content = written();
    trace_content_free(&content);
}

static void an_unknown_python_is_not_asked(void **state)
{
    (void)state;
    Py_Version = 0x030e00f0;
    sl_python_frames_open();
    sl_tensor_names_open();
    sl_tensor_names_ask();
    assert_int_equal(asked, 0);
    struct trace_content content = written();
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines_of_another_form_are_left_out, start),
        cmocka_unit_test_setup(what_the_script_finds_is_recorded, start),
        cmocka_unit_test_setup(an_interrupt_passes_through, start),
        cmocka_unit_test_setup(nothing_found_is_no_error, start),
        cmocka_unit_test_setup(one_that_ends_is_not_asked, start),
        cmocka_unit_test_setup(an_unknown_python_is_not_asked, start),
    };
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
