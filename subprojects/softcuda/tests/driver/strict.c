/* With SOFTCUDA_STRICT_HANDLES: asking about a handle of the wrong kind, or one that is gone, ends the
 * process. Each question is asked by a process of its own. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "kernels.h"

enum question { WELL, KERNEL_AS_FUNCTION, FUNCTION_AS_KERNEL, GONE, QUESTIONS };

static void ask(enum question question)
{
    CUmodule module;
    CUlibrary library;
    CUfunction function, of_kernel;
    CUkernel kernel;
    const char *name;
    size_t offset;
    start();
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    switch (question) {
    case WELL:
        OK(cuFuncGetName(&name, function));
        OK(cuFuncGetModule(&module, function));
        OK(cuKernelGetName(&name, kernel));
        OK(cuKernelGetFunction(&of_kernel, kernel));
        OK(cuFuncGetName(&name, of_kernel));
        OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
                          NULL)); /* both kinds are legal */
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        FAILS(cuFuncGetParamInfo(function, 0, &offset, NULL), CUDA_ERROR_INVALID_VALUE);
        break;
    case KERNEL_AS_FUNCTION:
        cuFuncGetName(&name, (CUfunction)kernel);
        break;
    case FUNCTION_AS_KERNEL:
        cuKernelGetParamInfo((CUkernel)function, 0, &offset, NULL);
        break;
    case GONE:
        OK(cuModuleUnload(module));
        cuFuncGetName(&name, function);
        break;
    default:
        break;
    }
    _exit(0);
}

int main(void)
{
    int failed = 0;
    for (enum question question = WELL; question < QUESTIONS; question++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) ask(question);
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
        int ended = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        int well = WIFEXITED(status) && !WEXITSTATUS(status);
        if (question == WELL ? well : ended) continue;
        fprintf(stderr, "question %d: status %#x\n", (int)question, (unsigned)status);
        failed = 1;
    }
    return failed;
}
