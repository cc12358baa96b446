// A driver whose launches and copies leave by an exception, or by a jump, if the program asks for it.
#include <csetjmp>
#include <stdexcept>

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN std::jmp_buf *jump_to;
std::jmp_buf *jump_to;

static int leave()
{
    if (jump_to) std::longjmp(*jump_to, 1);
    throw std::runtime_error("from the driver");
}

SHOWN int cuInit(unsigned)
{
    return 0;
}
SHOWN int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}
SHOWN int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                         void **, void **)
{
    return leave();
}
SHOWN int cuMemcpyHtoD_v2(unsigned long long, const void *, unsigned long)
{
    return leave();
}
SHOWN int cuMemAlloc_v2(unsigned long long *, unsigned long)
{
    return leave();
}
SHOWN int cuCtxSynchronize()
{
    return leave();
}
