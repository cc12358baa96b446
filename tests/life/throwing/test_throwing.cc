// Exceptions and jumps that begin in the driver pass through the preloaded object's functions to the program.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

extern "C" {
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);
int cuMemcpyHtoD_v2(unsigned long long, const void *, unsigned long);
int cuMemAlloc_v2(unsigned long long *, unsigned long);
int cuCtxSynchronize();
extern std::jmp_buf *jump_to;
}

static int left, destroyed;

struct watch {
    ~watch() { destroyed++; }
};

static int launch()
{
    return cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
}
static int copy()
{
    return cuMemcpyHtoD_v2(0, nullptr, 0);
}
static int allocate()
{
    unsigned long long address;
    return cuMemAlloc_v2(&address, 16);
}

static void catch_all()
{
    for (int (*call)() : {launch, copy, allocate, cuCtxSynchronize})
        for (int i = 0; i < 100; i++) try {
                watch here;
                call();
            } catch (const std::runtime_error &error) {
                left += std::string(error.what()) == "from the driver";
            }
}

static void jump_over()
{
    static std::jmp_buf here;
    for (int (*call)() : {launch, copy, allocate, cuCtxSynchronize})
        for (volatile int i = 0; i < 100; i++) {
            jump_to = &here;
            if (setjmp(here) == 0)
                call();
            else
                left++;
        }
    jump_to = nullptr;
}

int main()
{
    catch_all();
    std::thread(catch_all).join();
    jump_over();
    catch_all();
    if (left == 1600 && destroyed == 1200) return 0;
    std::printf("%d calls were left, %d objects destroyed\n", left, destroyed);
    return 1;
}
