/* Which questions a driver answers about a kernel's handle, by the call that made it. Asking the wrong one
 * may end the process, so each question has a process of its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer.h"
#include "probe.h"

enum { QUESTION_LIMIT_SECONDS = 5, ANSWER_BYTES = 64, PARAMETERS = 3 }; /* read_all has three */

/* The handle's type is the question's; whether it is the handle's is what is asked. */
static CUresult ask_function_name(void *handle, bool *right)
{
    const char *name = NULL;
    CUresult result = cu.cuFuncGetName(&name, handle);
    *right = !result && name && !strcmp(name, "read_all");
    return result;
}

static CUresult ask_kernel_name(void *handle, bool *right)
{
    const char *name = NULL;
    CUresult result = cu.cuKernelGetName(&name, handle);
    *right = !result && name && !strcmp(name, "read_all");
    return result;
}

static CUresult ask_function_parameter(void *handle, bool *right)
{
    size_t offset = 0, bytes = 0, beyond;
    CUresult result = cu.cuFuncGetParamInfo(handle, PARAMETERS - 1, &offset, &bytes);
    *right =
        !result && offset == 16 && bytes == 8 && cu.cuFuncGetParamInfo(handle, PARAMETERS, &beyond, &beyond);
    return result;
}

static CUresult ask_kernel_parameter(void *handle, bool *right)
{
    size_t offset = 0, bytes = 0, beyond;
    CUresult result = cu.cuKernelGetParamInfo(handle, PARAMETERS - 1, &offset, &bytes);
    *right = !result && offset == 16 && bytes == 8 &&
             cu.cuKernelGetParamInfo(handle, PARAMETERS, &beyond, &beyond);
    return result;
}

static CUresult ask_module(void *handle, bool *right)
{
    CUmodule module = NULL;
    CUresult result = cu.cuFuncGetModule(&module, handle);
    *right = !result && module;
    return result;
}

static CUresult ask_library(void *handle, bool *right)
{
    CUlibrary library = NULL;
    CUresult result = cu.cuKernelGetLibrary(&library, handle);
    *right = !result && library;
    return result;
}

static const struct question {
    const char *name;
    CUresult (*ask)(void *handle, bool *right);
    void **function; /* NULL in it if the driver lacks it */
    bool of_kernel;  /* the argument is declared a CUkernel */
    bool needed;     /* sluice asks it, of handles of the right kind */
} questions[] = {
    {"cuKernelGetName", ask_kernel_name, (void **)&cu.cuKernelGetName, true, true},
    {"cuFuncGetName", ask_function_name, (void **)&cu.cuFuncGetName, false, true},
    {"cuKernelGetParamInfo", ask_kernel_parameter, (void **)&cu.cuKernelGetParamInfo, true, true},
    {"cuFuncGetParamInfo", ask_function_parameter, (void **)&cu.cuFuncGetParamInfo, false, true},
    {"cuFuncGetModule", ask_module, (void **)&cu.cuFuncGetModule, false, false},
    {"cuKernelGetLibrary", ask_library, (void **)&cu.cuKernelGetLibrary, true, false},
};
enum { QUESTION_COUNT = sizeof questions / sizeof *questions };

enum handle { FROM_MODULE, FROM_LIBRARY, FROM_KERNEL, HANDLE_COUNT };
static const char *const handle_names[HANDLE_COUNT] = {"a CUfunction of cuModuleGetFunction",
                                                       "a CUkernel of cuLibraryGetKernel",
                                                       "a CUfunction of cuKernelGetFunction"};

static void *make_handle(enum handle kind)
{
    CUmodule module;
    CUlibrary library;
    CUfunction function;
    CUkernel kernel;
    if (kind == FROM_MODULE) {
        MUST(cu.cuModuleLoadData(&module, probe_kernels));
        MUST(cu.cuModuleGetFunction(&function, module, "read_all"));
        return function;
    }
    MUST(cu.cuLibraryLoadData(&library, probe_kernels, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cu.cuLibraryGetKernel(&kernel, library, "read_all"));
    if (kind == FROM_LIBRARY) return kernel;
    MUST(cu.cuKernelGetFunction(&function, kernel));
    return function;
}

/* In a process of its own. Writes what came, at once, since the next line may be the last. */
static void answer_question(const struct question *question, enum handle kind, int to)
{
    CUdevice device;
    CUcontext context;
    const char *answer = "right";
    bool right = false;
    MUST(cu.cuInit(0));
    MUST(cu.cuDeviceGet(&device, 0));
    MUST(cu.cuDevicePrimaryCtxRetain(&context, device));
    MUST(cu.cuCtxSetCurrent(context));
    CUresult result = question->ask(make_handle(kind), &right);
    if (result)
        cu.cuGetErrorName(result, &answer);
    else if (!right)
        answer = "wrong answer";
    if (write(to, answer, strlen(answer)) < 0) _exit(EXIT_FAILURE);
    _exit(EXIT_SUCCESS);
}

struct asked {
    pid_t child;
    int from;
};

static struct asked ask(const struct question *question, enum handle kind)
{
    int ends[2];
    if (pipe(ends)) exit(EXIT_FAILURE);
    struct asked asked = {fork(), ends[0]};
    if (asked.child == 0) {
        alarm(QUESTION_LIMIT_SECONDS);
        answer_question(question, kind, ends[1]);
    }
    close(ends[1]);
    return asked;
}

static void hear(struct asked asked, char answer[static ANSWER_BYTES])
{
    int status = 0;
    ssize_t got = read(asked.from, answer, ANSWER_BYTES - 1);
    answer[got > 0 ? got : 0] = '\0';
    close(asked.from);
    waitpid(asked.child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(answer, ANSWER_BYTES, "no answer in %d s", QUESTION_LIMIT_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(answer, ANSWER_BYTES, "crash, signal %d", WTERMSIG(status));
    else if (!*answer)
        snprintf(answer, ANSWER_BYTES, "could not be asked");
}

/* Of each question all handles at once: a process takes up to a second to open the device. */
void part_names(struct probe *probe)
{
    (void)probe;
    for (int i = 0; i < QUESTION_COUNT; i++) {
        const struct question *question = &questions[i];
        struct asked asked[HANDLE_COUNT];
        char answer[ANSWER_BYTES];
        if (!*question->function || !cu.cuLibraryLoadData) {
            answer_text("the driver lacks it", "%s", question->name);
            continue;
        }
        for (enum handle kind = 0; kind < HANDLE_COUNT; kind++) asked[kind] = ask(question, kind);
        for (enum handle kind = 0; kind < HANDLE_COUNT; kind++) {
            hear(asked[kind], answer);
            answer_text(answer, "%s of %s", question->name, handle_names[kind]);
            if (question->needed && question->of_kernel == (kind == FROM_LIBRARY))
                answer_metadata(!strcmp(answer, "right"), "%s answers of %s", question->name,
                                handle_names[kind]);
        }
    }
}
