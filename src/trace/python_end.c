#include "trace/python_end.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"

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
} python;
static bool registers;
static atomic_bool asked, ends;
static atomic_uint holders;

static bool find(const char *name, void *function)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, sizeof found);
    return found;
}

bool sl_python_end_open(void)
{
    registers = find("Py_AddPendingCall", &python.add_pending_call) &&
                find("PyImport_ImportModule", &python.import) &&
                find("PyCFunction_NewEx", &python.new_function) &&
                find("PyObject_CallMethod", &python.call_method) && find("Py_BuildValue", &python.build) &&
                find("PyErr_Clear", &python.clear_error) && find("Py_DecRef", &python.release);
    return find("Py_IsInitialized", &python.is_initialized);
}

/* Called by `atexit`. Holders never wait for the GIL. */
static void *wait_for_holders(void *self, void *arguments)
{
    (void)self, (void)arguments;
    atomic_store(&ends, true);
    for (uint64_t begin = sl_clock_ns(CLOCK_MONOTONIC);
         atomic_load(&holders) && sl_clock_ns(CLOCK_MONOTONIC) - begin < LONGEST_NS;)
        sched_yield();
    return python.build("");
}

/* With the GIL, in Python's main thread. */
static int register_end(void *unused)
{
    (void)unused;
    static struct method method = {"sluice", wait_for_holders, TAKES_NOTHING, NULL};
    void *module = python.import("atexit"),
         *function = module ? python.new_function(&method, NULL, NULL) : NULL,
         *result = function ? python.call_method(module, "register", "O", function) : NULL;
    if (!result) python.clear_error();
    void *const objects[] = {result, function, module};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (objects[i]) python.release(objects[i]);
    return 0;
}

bool sl_python_hold(void)
{
    if (!python.is_initialized || !python.is_initialized()) return false;
    atomic_fetch_add(&holders, 1);
    if (atomic_load(&ends) || !python.is_initialized()) {
        sl_python_release();
        return false;
    }
    if (registers && !atomic_load_explicit(&asked, memory_order_relaxed) && !atomic_exchange(&asked, true) &&
        python.add_pending_call(register_end, NULL))
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
