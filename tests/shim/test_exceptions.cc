// C++ exceptions unwind with the program's own unwinder, through threads and across loaded objects.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

extern "C" int compare_or_throw(const void *left, const void *right)
{
    int a = *static_cast<const int *>(left), b = *static_cast<const int *>(right);
    if (a == 3) throw std::runtime_error("three");
    return a < b ? -1 : a > b;
}

static bool caught()
{
    int numbers[] = {5, 4, 3, 2, 1};
    try {
        compare_or_throw(&numbers[0], &numbers[1]);
        compare_or_throw(&numbers[2], &numbers[1]);
    } catch (const std::exception &error) {
        return std::string(error.what()) == "three";
    }
    return false;
}

int main()
{
    bool in_thread = false;
    for (int i = 0; i < 1000; i++)
        if (!caught()) return std::puts("an exception was not caught"), 1;
    std::thread([&] { in_thread = caught(); }).join();
    return in_thread ? 0 : 1;
}
