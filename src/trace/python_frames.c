#include "trace/python_frames.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/test_hooks.h"

/* --- the end of the interpreter: it then frees what it knows of its threads, also of those that are inside
 * calls of C, without a word to them. */

#define LONGEST_NS 1000000000u

/* PyMethodDef */
struct method {
    const char *name;
    void *(*call)(void *self, void *arguments);
    int takes;
    const char *help;
};
enum { TAKES_NOTHING = 4 }; /* METH_NOARGS */

/* Functions of Python, by the names that Python gives them. */
static struct {
    int (*is_initialized)(void);
    int (*add_pending_call)(int (*function)(void *), void *argument);
    void *(*import)(const char *name);
    void *(*new_function)(struct method *method, void *self, void *module);
    void *(*call_method)(void *object, const char *name, const char *format, ...);
    void *(*build)(const char *format, ...);
    void (*clear_error)(void);
    void (*release)(void *object);
} ending;
static bool registers;
static atomic_bool asked, ends;
static atomic_uint holders;

bool sl_python_find(const char *name, void *function)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, sizeof found);
    return found;
}

/* Looks for the functions of Python that are needed. Returns whether there is an interpreter. */
static bool open_end(void)
{
    registers = sl_python_find("Py_AddPendingCall", &ending.add_pending_call) &&
                sl_python_find("PyImport_ImportModule", &ending.import) &&
                sl_python_find("PyCFunction_NewEx", &ending.new_function) &&
                sl_python_find("PyObject_CallMethod", &ending.call_method) &&
                sl_python_find("Py_BuildValue", &ending.build) &&
                sl_python_find("PyErr_Clear", &ending.clear_error) &&
                sl_python_find("Py_DecRef", &ending.release);
    return sl_python_find("Py_IsInitialized", &ending.is_initialized);
}

/* Called by `atexit`. Holders never wait for the GIL. */
static void *wait_for_holders(void *self, void *arguments)
{
    (void)self, (void)arguments;
    atomic_store(&ends, true);
    for (uint64_t begin = sl_clock_ns(CLOCK_MONOTONIC);
         atomic_load(&holders) && sl_clock_ns(CLOCK_MONOTONIC) - begin < LONGEST_NS;)
        sched_yield();
    return ending.build("");
}

/* With the GIL, in Python's main thread. */
static int register_end(void *unused)
{
    (void)unused;
    static struct method method = {"sluice", wait_for_holders, TAKES_NOTHING, NULL};
    void *module = ending.import("atexit"),
         *function = module ? ending.new_function(&method, NULL, NULL) : NULL,
         *result = function ? ending.call_method(module, "register", "O", function) : NULL;
    if (!result) ending.clear_error();
    void *const objects[] = {result, function, module};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (objects[i]) ending.release(objects[i]);
    return 0;
}

bool sl_python_hold(void)
{
    if (!ending.is_initialized || !ending.is_initialized()) return false;
    atomic_fetch_add(&holders, 1);
    if (atomic_load(&ends) || !ending.is_initialized()) {
        sl_python_release();
        return false;
    }
    if (registers && !atomic_load_explicit(&asked, memory_order_relaxed) && !atomic_exchange(&asked, true) &&
        ending.add_pending_call(register_end, NULL))
        atomic_store(&asked, false);
    return true;
}

void sl_python_release(void)
{
    atomic_fetch_sub(&holders, 1);
}

void sl_python_after_fork(void)
{
    atomic_store(&holders, 0);
}

/* --- strings */

/* Offsets in a str object (Include/cpython/unicodeobject.h). */
enum { TEXT_LENGTH = 16, STATE = 32 };
enum { KIND_SHIFT = 2, KIND_MASK = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };

/* Encodes one character; returns its bytes. Surrogates stand for undecodable bytes and become ?. */
static size_t encode(uint32_t character, char out[4])
{
    bool bad = character < 0x20 || character == 0x7f || (character >= 0xd800 && character < 0xe000) ||
               character > 0x10ffff;
    if (bad) character = '?';
    size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = bytes; i-- > 1; character >>= 6) out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(leads[bytes] | character);
    return bytes;
}

void sl_python_text(const char *object, unsigned minor, char *out, size_t room)
{
    uint64_t length;
    uint32_t state;
    memcpy(&length, object + TEXT_LENGTH, sizeof length);
    memcpy(&state, object + STATE, sizeof state);
    unsigned kind = state >> KIND_SHIFT & KIND_MASK;
    if (!(state & COMPACT) || (kind != 1 && kind != 2 && kind != 4)) return;
    /* The characters follow the object's head, which has lost three members with 3.12. */
    size_t head = state & ASCII ? 40 : 56;
    const char *data = object + (minor < 12 ? head + (state & ASCII ? 8 : 16) : head);
    size_t used = strlen(out);
    for (uint64_t i = 0; i < length; i++) {
        char bytes[4];
        uint32_t character = 0;
        memcpy(&character, data + i * kind, kind);
        size_t count = encode(character, bytes);
        if (used + count >= room) break;
        memcpy(out + used, bytes, count);
        used += count;
    }
    out[used] = 0;
}

/* --- the location table: entries for runs of code units. The first byte of an entry has its highest bit set,
 * which no other byte has. */

enum { FIRST_BYTE = 0x80, ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

/* A number in groups of six bits, the lowest first; bit 6 says that another follows. The lowest bit is its
 * sign. */
static int64_t signed_number(const uint8_t *table, size_t bytes, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < bytes && shift < 42; at++, shift += 6) {
        value |= (uint64_t)(table[at] & 0x3f) << shift;
        if (!(table[at] & 0x40)) break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

uint32_t sl_python_line(const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset)
{
    int64_t line = first_line;
    uint64_t covered = 0;
    for (size_t at = 0; at < bytes;) {
        unsigned code = table[at] >> 3 & 15;
        covered += (table[at] & 7u) + 1;
        if (code == NO_COLUMNS || code == LONG)
            line += signed_number(table, bytes, at + 1);
        else if (code >= ONE_LINE_0 && code <= ONE_LINE_2)
            line += code - ONE_LINE_0;
        if (offset < covered) return code == NO_LOCATION || line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
        for (at++; at < bytes && !(table[at] & FIRST_BYTE); at++) {
        }
    }
    return 0;
}

/* --- frames */

enum { MOST_FRAMES = 48, FIRST_C_OWNER = 3 }; /* frames with an owner from here on stand for calls from C */

/* Offsets from the headers of CPython (Include/internal/pycore_frame.h, Include/cpython/code.h); constant
 * within a minor version. */
struct layout {
    unsigned char minor;
    unsigned char thread_cframe; /* to a structure that has the frame; 0: the thread itself has it */
    unsigned char frame;         /* the innermost one */
    unsigned char previous, code, instruction, owner; /* of a frame */
    unsigned char first_line, name, instructions;     /* of a code object */
};

static const struct layout layouts[] = {
    {11, .thread_cframe = 56, .frame = 8, .previous = 48, .code = 32, .instruction = 56, .owner = 69,
     .first_line = 72, .name = 128, .instructions = 184},
    {12, .thread_cframe = 56, .frame = 0, .previous = 8, .code = 0, .instruction = 56, .owner = 70,
     .first_line = 68, .name = 128, .instructions = 192},
    {13, .frame = 72, .previous = 8, .code = 0, .instruction = 56, .owner = 70, .first_line = 68, .name = 128,
     .instructions = 200},
};

enum { OBJECT_TYPE = 8, BYTES_DATA = 32, CODE_UNIT = 2 }; /* of an object, bytes, code */
/* Members of a code object around the qualified name: file, name, qualified name, line table. */
enum { NAME_AFTER_FILE = 16, TABLE_AFTER_NAME = 8 };

static struct {
    const struct layout *layout; /* NULL: no known Python */
    const char *(*thread)(void);
    const char *code_type;
} python;

/* 3.13 describes itself, after a cookie and a version. This reveals free-threaded builds, whose objects are
 * larger. */
static bool is_as_it_says(const struct layout *layout, const char *description)
{
    enum { FREE_THREADED = 16 };
    uint64_t free_threaded;
    if (layout->minor < 13) return true;
    if (!description || memcmp(description, "xdebugpy", 8) != 0) return false;
    memcpy(&free_threaded, description + FREE_THREADED, sizeof free_threaded);
    return !free_threaded;
}

void sl_python_frames_open(void)
{
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    python.layout = NULL;
    if (!version) return;
    const char *description = dlsym(RTLD_DEFAULT, "_PyRuntime");
    python.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    if (!sl_python_find("PyGILState_GetThisThreadState", &python.thread) || !python.code_type || !open_end())
        return;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (*version >> 16 == (3u << 8 | layouts[i].minor) && is_as_it_says(&layouts[i], description))
            python.layout = &layouts[i];
}

bool sl_python_frames_known(void)
{
    return python.layout;
}

static const char *pointer_at(const char *object, size_t offset)
{
    const char *pointer;
    memcpy(&pointer, object + offset, sizeof pointer);
    return pointer;
}

static uint64_t hash_frame(uint64_t hash, const struct layout *l, const char *frame, const char *code)
{
    const char *name = pointer_at(code, l->name);
    int32_t line;
    uint64_t length = 0;
    memcpy(&line, code + l->first_line, sizeof line);
    if (name) memcpy(&length, name + TEXT_LENGTH, sizeof length);
    uint64_t instruction = (uint64_t)(pointer_at(frame, l->instruction) - (code + l->instructions));
    return sl_hash_word(hash, instruction << 32 ^ length << 24 ^ (uint32_t)line);
}

/* Precondition: sl_python_hold. */
static const char *innermost(const struct layout *l)
{
    const char *thread = python.thread(), *frame = thread;
    SL_TEST_DELAY(PYTHON);
    if (frame && l->thread_cframe) frame = pointer_at(frame, l->thread_cframe);
    return frame ? pointer_at(frame, l->frame) : NULL;
}

/* The frame's code object; NULL: it is none, and the walk ends. Precondition: no frame of C. */
static const char *code_of(const struct layout *l, const char *frame)
{
    const char *code = pointer_at(frame, l->code);
    return code && pointer_at(code, OBJECT_TYPE) == python.code_type ? code : NULL;
}

static bool stands_for_c(const struct layout *l, const char *frame)
{
    return (unsigned char)frame[l->owner] >= FIRST_C_OWNER;
}

uint64_t sl_python_frames_hash(void)
{
    const struct layout *l = python.layout;
    if (!l || !sl_python_hold()) return 0;
    const char *frame = innermost(l);
    uint64_t hash = 0;
    for (int i = 0; frame && i < MOST_FRAMES; i++, frame = pointer_at(frame, l->previous)) {
        if (stands_for_c(l, frame)) continue;
        const char *code = code_of(l, frame);
        if (!code) break;
        hash = hash_frame(hash, l, frame, code);
    }
    sl_python_release();
    return hash;
}

static void describe(const struct layout *l, const char *frame, const char *code, struct sl_python_frame *out)
{
    const char *name = pointer_at(code, l->name), *file = pointer_at(code, l->name - NAME_AFTER_FILE),
               *table = pointer_at(code, l->name + TABLE_AFTER_NAME);
    int32_t first_line;
    uint64_t bytes = 0;
    ptrdiff_t at = pointer_at(frame, l->instruction) - (code + l->instructions);
    memcpy(&first_line, code + l->first_line, sizeof first_line);
    out->line = 0;
    out->text[0] = 0;
    if (name) sl_python_text(name, l->minor, out->text, SL_PYTHON_TEXT / 2);
    strcat(out->text, " ");
    if (file) sl_python_text(file, l->minor, out->text, SL_PYTHON_TEXT);
    if (!table || at < 0 || first_line < 0) return;
    memcpy(&bytes, table + TEXT_LENGTH, sizeof bytes);
    out->line = sl_python_line((const uint8_t *)table + BYTES_DATA, bytes, (uint32_t)first_line,
                               (uint64_t)at / CODE_UNIT);
}

void sl_python_frames_each(void (*each)(const struct sl_python_frame *frame, uint32_t depth, void *context),
                           void *context)
{
    const struct layout *l = python.layout;
    if (!l || !sl_python_hold()) return;
    const char *frame = innermost(l);
    uint32_t depth = 0;
    for (int i = 0; frame && i < MOST_FRAMES && depth < SL_PYTHON_FRAMES;
         i++, frame = pointer_at(frame, l->previous)) {
        if (stands_for_c(l, frame)) continue;
        const char *code = code_of(l, frame);
        if (!code) break;
        struct sl_python_frame found;
        describe(l, frame, code, &found);
        each(&found, depth++, context);
    }
    sl_python_release();
}
