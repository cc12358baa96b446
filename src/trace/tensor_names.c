#include "trace/python_frames.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "trace/events.h"
#include "trace/trace_write.h"

enum { WHOLE_FILE = 257, NAME_ROOM = 256, MOST_NAMES = 65536 }; /* Py_file_input */

/* Types are compared by type() and issubclass(), because isinstance() may call a property of a foreign
 * object; members are read from the objects' dictionaries, because methods of modules may be the program's
 * own. Of tensors only PyTorch's own types are asked, without the functions that a program may put before
 * theirs; a gradient only of leaves, as others warn. */
static const char script[] =
    "import gc, sys\n"
    "lines, names, found = [], {}, ''\n"
    "def add(tensor, name):\n"
    "    try:\n"
    "        if issubclass(type(tensor), Tensor) and id(tensor) not in names:\n"
    "            names[id(tensor)] = name\n"
    "            own = tensor.__dict__.get('_local_tensor', tensor)\n"
    "            if type(own) in plain and own.is_cuda and own.numel():\n"
    "                lines.append(f'{own.data_ptr()} {own.numel() * own.element_size()} {name}')\n"
    "    except Exception:\n"
    "        pass\n"
    "def walk(module, prefix, seen):\n"
    "    seen.add(id(module))\n"
    "    for kind in '_parameters', '_buffers':\n"
    "        for name, tensor in list(module.__dict__.get(kind, {}).items()):\n"
    "            add(tensor, prefix + name)\n"
    "            if kind == '_parameters' and type(tensor) in plain and tensor.is_leaf:\n"
    "                add(tensor.grad, prefix + name + '.grad')\n"
    "    for name, child in list(module.__dict__.get('_modules', {}).items()):\n"
    "        if child is not None and id(child) not in seen:\n"
    "            walk(child, prefix + name + '.', seen)\n"
    "collects = gc.isenabled()\n"
    "gc.disable()\n"
    "try:\n"
    "    torch = sys.modules['torch']\n"
    "    Module, Optimizer, Tensor = torch.nn.Module, torch.optim.Optimizer, torch.Tensor\n"
    "    plain = Tensor, torch.nn.Parameter\n"
    "    modules, optimizers = [], []\n"
    "    for thing in gc.get_objects():\n"
    "        kind = type(thing)\n"
    "        if issubclass(kind, Module):\n"
    "            modules.append(thing)\n"
    "        elif issubclass(kind, Optimizer):\n"
    "            optimizers.append(thing)\n"
    "    inner = {id(child) for module in modules for child in module.__dict__.get('_modules', "
    "{}).values()}\n"
    "    roots = [module for module in modules if id(module) not in inner and\n"
    "             any(module.__dict__.get(kind) for kind in ('_modules', '_parameters', '_buffers'))]\n"
    "    with torch._C.DisableTorchFunction():\n"
    "        for root in roots:\n"
    "            walk(root, type(root).__name__ + '.' if len(roots) > 1 else '', set())\n"
    "        for optimizer in optimizers:\n"
    "            for parameter, state in list(optimizer.state.items()):\n"
    "                for key, value in list(state.items()):\n"
    "                    add(value, names.get(id(parameter), 'parameter') + '.' + str(key))\n"
    "    found = '\\n'.join(lines)\n"
    "except Exception:\n"
    "    pass\n"
    "finally:\n"
    "    if collects:\n"
    "        gc.enable()\n";

/* Functions of Python, by the names that Python gives them. */
static struct {
    int (*add_pending_call)(int (*function)(void *), void *argument);
    void *(*run)(const char *text, int start, void *globals, void *locals, void *flags);
    void *(*dictionary)(void);
    void *(*item)(void *dictionary, const char *key); /* borrowed */
    const char *(*text)(void *object);
    void (*empty)(void *dictionary);
    void (*clear_error)(void);
    void (*release)(void *object);
} python;
static atomic_bool usable;

void sl_tensor_names_open(void)
{
    usable =
        sl_python_frames_known() && sl_python_find("Py_AddPendingCall", &python.add_pending_call) &&
        sl_python_find("PyRun_StringFlags", &python.run) &&
        sl_python_find("PyDict_New", &python.dictionary) &&
        sl_python_find("PyDict_GetItemString", &python.item) &&
        sl_python_find("PyUnicode_AsUTF8", &python.text) && sl_python_find("PyDict_Clear", &python.empty) &&
        sl_python_find("PyErr_Clear", &python.clear_error) && sl_python_find("Py_DecRef", &python.release);
}

/* Reads a number and the space after it; false: there is none. */
static bool number(const char **at, uint64_t *out)
{
    char *end;
    errno = 0;
    if (**at < '0' || **at > '9') return false;
    *out = strtoull(*at, &end, 10);
    if (errno || *end != ' ') return false;
    *at = end + 1;
    return true;
}

uint32_t sl_tensor_names_emit(const char *lines)
{
    uint32_t count = 0;
    for (const char *line = lines, *end; *line && count < MOST_NAMES; line = *end ? end + 1 : end) {
        uint64_t address, bytes;
        char name[NAME_ROOM];
        end = line + strcspn(line, "\n");
        if (!number(&line, &address) || !number(&line, &bytes) || line >= end) continue;
        size_t length = (size_t)(end - line) < sizeof name ? (size_t)(end - line) : sizeof name - 1;
        memcpy(name, line, length);
        name[length] = 0;
        count += sl_trace_emit((struct sl_event){.type = SL_EVENT_NAME,
                                                 .time_ns = sl_clock_ns(CLOCK_MONOTONIC),
                                                 .a = address,
                                                 .b = bytes,
                                                 .text = sl_intern_some(name)});
    }
    return count;
}

/* With the GIL, in Python's main thread. An interrupt by the user passes through to the program. */
static int look(void *unused)
{
    (void)unused;
    void *globals = python.dictionary();
    if (!globals) {
        python.clear_error();
        return 0;
    }
    void *result = python.run(script, WHOLE_FILE, globals, globals, NULL);
    void *found = result ? python.item(globals, "found") : NULL;
    const char *lines = found ? python.text(found) : NULL;
    if (lines) sl_tensor_names_emit(lines);
    if (result && !lines) python.clear_error();
    if (result) python.release(result);
    python.empty(globals); /* its functions refer to it, and together they would keep the program's objects */
    python.release(globals);
    return result ? 0 : -1;
}

void sl_tensor_names_ask(void)
{
    if (!usable || !sl_python_hold()) return;
    python.add_pending_call(look, NULL);
    sl_python_release();
}
