/* What kernels do wrong is told by the documented error, which stays with the context, and the process lives
 * on. Each kernel runs in a process of its own: after such an error a program may only end. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".const .align 4 .b8 numbers[64] = {1, 2, 3};\n"
    ".visible .entry read(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p];\n"
    "  ld.global.u32 %r, [%d]; st.global.u32 [%d+4], %r; ret; }\n"
    ".visible .entry write(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u32 [%d], 1; ret; "
    "}\n"
    ".visible .entry add(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p];\n"
    "  atom.global.add.u32 %r, [%d], 1; ret; }\n"
    ".visible .entry generic(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; st.u64 [%d], %d; ret; }\n"
    ".visible .entry one_thread(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; .reg .pred %q; ld.param.u64 %d, "
    "[p];\n"
    "  mov.u32 %r, %tid.x; setp.eq.u32 %q, %r, 21; @%q st.global.u32 [%d], %r; ret; }\n"
    ".visible .entry shared(.param .u64 p) { .shared .align 4 .b8 tile[64]; .reg .b64 %d; .reg .b32 %a, %r;\n"
    "  ld.param.u64 %d, [p]; cvt.u32.u64 %r, %d; mov.u32 %a, tile; add.u32 %a, %a, %r; st.shared.u32 [%a], "
    "%r;\n"
    "  ld.shared.u32 %r, [%a]; ret; }\n"
    ".visible .entry local(.param .u64 p) { .local .align 8 .b8 stack[64]; .reg .b64 %a, %d;\n"
    "  ld.param.u64 %d, [p]; mov.u64 %a, stack; add.u64 %a, %a, %d; st.local.u64 [%a], %d; ld.local.u64 %d, "
    "[%a]; ret; }\n"
    ".visible .entry constant(.param .u64 p, .param .u64 out) { .reg .b64 %a, %d; .reg .b32 %r;\n"
    "  ld.param.u64 %d, [p]; mov.u64 %a, numbers; add.u64 %a, %a, %d; ld.const.u32 %r, [%a];\n"
    "  st.global.u32 [%d], %r; ret; }\n"
    ".visible .entry vector(.param .u64 p) { .reg .b64 %d; .reg .b32 %r<4>; ld.param.u64 %d, [p];\n"
    "  ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d]; st.global.v4.u32 [%d], {%r3, %r2, %r1, %r0}; ret; }\n"
    ".visible .entry stop(.param .u64 p) { trap; }\n";

/* Where a case's parameter points */
enum place { NOWHERE, MEMORY, FREED, NUMBER };

struct crash {
    const char *kernel;
    enum place place;
    unsigned long long offset;
    CUresult wanted;
    int only_in_software;
};

static const struct crash crashes[] = {
    {"read", NOWHERE, 0, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"write", NOWHERE, 0x10000, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"add", NOWHERE, 0x10000, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"generic", NOWHERE, 0x10000, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"one_thread", NOWHERE, 0x10000, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"write", MEMORY, 1ull << 45, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"write", FREED, 4096, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"read", FREED, 0, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"shared", NUMBER, 1 << 24, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"local", NUMBER, 1 << 24, CUDA_ERROR_ILLEGAL_ADDRESS},
    {"read", MEMORY, 1, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"write", MEMORY, 2, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"add", MEMORY, 6, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"generic", MEMORY, 4, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"vector", MEMORY, 8, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"shared", NUMBER, 2, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"local", NUMBER, 4, CUDA_ERROR_MISALIGNED_ADDRESS},
    {"stop", NUMBER, 0, CUDA_ERROR_LAUNCH_FAILED},
    /* A device rounds allocations up, and its constants have no end that it looks for: these it may let pass.
     */
    {"write", MEMORY, 64 << 20, CUDA_ERROR_ILLEGAL_ADDRESS, 1},
    {"vector", MEMORY, (64 << 20) - 8, CUDA_ERROR_MISALIGNED_ADDRESS, 1},
    {"constant", NUMBER, 64, CUDA_ERROR_ILLEGAL_ADDRESS, 1},
    {"shared", NUMBER, 64, CUDA_ERROR_ILLEGAL_ADDRESS, 1},
};

static CUdeviceptr point(enum place place)
{
    CUdeviceptr memory = 0;
    if (place == NOWHERE || place == NUMBER) return 0;
    OK(cuMemAlloc(&memory, 64 << 20));
    OK(cuMemsetD8(memory, 0, 64 << 20));
    if (place == FREED) OK(cuMemFree(memory));
    return memory;
}

/* Every later call says the same. */
static void expect_sticky(CUfunction function, void **parameters, CUresult wanted)
{
    CUdeviceptr more;
    char bytes[4];
    FAILS(cuCtxSynchronize(), wanted);
    FAILS(cuMemAlloc(&more, 16), wanted);
    FAILS(cuStreamQuery(NULL), wanted);
    FAILS(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL), wanted);
    FAILS(cuMemcpyDtoH(bytes, (CUdeviceptr)0x10000, sizeof bytes), wanted);
    FAILS(cuCtxSynchronize(), wanted);
}

static void crash(const struct crash *it)
{
    CUdevice device = start();
    CUmodule module;
    CUfunction function;
    if (it->only_in_software && !is_software(device)) exit(0);
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, it->kernel));
    CUdeviceptr address = point(it->place) + it->offset, out = 0;
    void *parameters[] = {&address, &out};
    OK(cuCtxSynchronize());
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    expect_sticky(function, parameters, it->wanted);
    exit(0);
}

/* What the host does wrong harms nothing. */
static void frees(void)
{
    CUdevice device = start();
    CUdeviceptr memory, other;
    int value = 7;
    OK(cuMemAlloc(&memory, 64 << 20));
    OK(cuMemAlloc(&other, 16));
    FAILS(cuMemFree(memory + 256), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
    FAILS(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoD(memory, &value, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH(&value, memory, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD32(memory, 1, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD(other, &value, 4));
    OK(cuMemFree(other));
    finish(device);
    exit(0);
}

static int in_child(void (*run)(const struct crash *), const struct crash *it)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (run) run(it);
        frees();
    }
    int status = 1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) && it) fprintf(stderr, "in kernel %s, offset %#llx\n", it->kernel, it->offset);
    return WEXITSTATUS(status);
}

int main(void)
{
    int failed = in_child(NULL, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes && failed != 77; i++)
        failed |= in_child(crash, &crashes[i]);
    return failed;
}
