/* Says which libcudart it got: by its DT_RPATH, or, with an argument, by that path. */
#include <dlfcn.h>
#include <stdio.h>

#include <cuda_runtime_api.h>

int main(int argc, char **argv)
{
    cudaError_t (*get_version)(int *) = cudaRuntimeGetVersion;
    int version = 0;
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void **)&get_version = dlsym(library, "cudaRuntimeGetVersion");
    }
    if (!get_version || get_version(&version) != cudaSuccess) return 1;
    printf("%s\n", version == 1 ? "the wheel's" : "softcuda's");
    return 0;
}
