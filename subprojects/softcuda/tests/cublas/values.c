/* Breaks if a value that softcuda writes down for itself is not that of NVIDIA's headers. */
#include <cublasLt.h>
#include <cublas_v2.h>

#define ENUM(type) _Static_assert(sizeof(type) == sizeof(int), "");
#define VALUE(name, value) _Static_assert((int)name == (value), #name);
#define END(type)
#include "values.def"

int main(void)
{
    return 0;
}
