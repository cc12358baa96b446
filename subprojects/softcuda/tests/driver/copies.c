/* Copies move the right bytes, in stream order, whatever waits for them. */
#include <string.h>

#include "check.h"

#define BYTES 100003

static void fill(unsigned char *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(i * 7 + seed);
}

static void round_trip(void)
{
    CUdeviceptr a, b;
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemAlloc(&b, BYTES));
    unsigned char *out = malloc(BYTES), *back = calloc(1, BYTES);
    fill(out, BYTES, 1);
    OK(cuMemcpyHtoD(a, out, BYTES));
    OK(cuMemcpyDtoD(b, a, BYTES));
    OK(cuMemcpyDtoH(back, b, BYTES));
    CHECK(!memcmp(out, back, BYTES));
    OK(cuMemcpy(a + 10, b + 100, 1000));
    OK(cuMemcpyDtoH(back, a, BYTES));
    CHECK(!memcmp(back + 10, out + 100, 1000) && back[9] == out[9] && back[1010] == out[1010]);
    FAILS(cuMemcpyHtoD(a, out, BYTES + 4096), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH(back, 4096, 16), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD(a, out, 0));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    free(out);
    free(back);
}

/* The source of a pageable asynchronous copy may be reused as soon as the call returns; a pinned one may not.
 */
static void sources(void)
{
    CUstream stream;
    CUdeviceptr a;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&a, BYTES));
    unsigned char *pageable = malloc(BYTES), *pinned, expected[64];
    OK(cuMemAllocHost((void **)&pinned, BYTES));
    fill(pageable, BYTES, 3);
    memcpy(expected, pageable, sizeof expected);
    OK(cuMemcpyHtoDAsync(a, pageable, 64, stream));
    memset(pageable, 0, BYTES);
    OK(cuMemcpyDtoHAsync(pinned, a, 64, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(!memcmp(pinned, expected, 64));
    /* Towards pageable memory the call itself waits. */
    OK(cuMemcpyDtoHAsync(pageable, a, 64, stream));
    CHECK(!memcmp(pageable, expected, 64));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(a));
    OK(cuStreamDestroy(stream));
    free(pageable);
}

static void boxes(void)
{
    enum { WIDTH = 100, HEIGHT = 20 };
    CUdeviceptr a;
    size_t pitch;
    OK(cuMemAllocPitch(&a, &pitch, WIDTH, HEIGHT, 4));
    CHECK(pitch >= WIDTH);
    unsigned char host[HEIGHT][WIDTH], back[HEIGHT][WIDTH];
    fill(&host[0][0], sizeof host, 9);
    memset(back, 0, sizeof back);
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = host,
                        .srcPitch = WIDTH,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = a,
                        .dstPitch = pitch,
                        .WidthInBytes = WIDTH,
                        .Height = HEIGHT};
    OK(cuMemcpy2D(&in));
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = a,
                         .srcPitch = pitch,
                         .srcXInBytes = 3,
                         .srcY = 2,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = back,
                         .dstPitch = WIDTH,
                         .WidthInBytes = 10,
                         .Height = 5};
    OK(cuMemcpy2D(&out));
    for (int y = 0; y < 5; y++) CHECK(!memcmp(back[y], &host[y + 2][3], 10));
    CHECK(back[0][10] == 0 && back[5][0] == 0);
    OK(cuMemFree(a));
}

static void sets(void)
{
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 4096));
    unsigned int words[1024];
    OK(cuMemsetD32(a, 0x01020304, 1024));
    OK(cuMemsetD16(a + 8, 0xabcd, 3));
    OK(cuMemsetD8(a + 1, 0xee, 1));
    OK(cuMemsetD2D8(a + 64, 64, 0x55, 4, 3));
    OK(cuMemcpyDtoH(words, a, sizeof words));
    CHECK(words[0] == 0x0102ee04 && words[1] == 0x01020304 && words[2] == 0xabcdabcd &&
          words[3] == 0x0102abcd);
    CHECK(words[16] == 0x55555555 && words[17] == 0x01020304 && words[32] == 0x55555555 &&
          words[48] == 0x55555555);
    FAILS(cuMemsetD32(a + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(a));
}

int main(void)
{
    CUdevice device = start();
    round_trip();
    sources();
    boxes();
    sets();
    finish(device);
    return 0;
}
