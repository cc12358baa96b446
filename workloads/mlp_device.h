/* The device as the multi-layer perceptron uses it: the Driver API and nothing else. Errors end the program
 * with one line. */
#ifndef MLP_DEVICE_H
#define MLP_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

enum { EXIT_USAGE = 2, EXIT_OUT_OF_MEMORY = 3, MOST_STREAMS = 8 };

/* The kernels' names in mlp_kernels.cu. */
#define KERNELS(X) X(product) X(sum_columns) X(rectify_gradient) X(cross_entropy) X(mean) X(adam)
enum kernel {
#define KERNEL_NUMBER(name) KERNEL_##name,
    KERNELS(KERNEL_NUMBER)
#undef KERNEL_NUMBER
        KERNEL_COUNT
};

struct device {
    CUdevice number;
    CUcontext context;
    CUmodule module;
    CUfunction kernels[KERNEL_COUNT];
    CUstream streams[MOST_STREAMS];
    CUevent reached[MOST_STREAMS]; /* what order_streams records */
    int stream_count;
    size_t live_bytes, peak_bytes; /* as requested, not what the driver makes of them */

    /* While a graph is built node by node: launches become nodes, each behind the one before. */
    CUgraph building;
    CUgraphNode last_node;
};

/* Memory from the device's default pool. */
struct tensor {
    CUdeviceptr data; /* 0: not taken */
    size_t bytes;
};

struct grid {
    unsigned blocks_x, blocks_y, threads_x, threads_y;
};

void check(CUresult result, const char *what);
void *host_allocate(size_t bytes);

void device_start(struct device *device, int stream_count);
void device_finish(struct device *device);

/* Taken and dropped in the order of stream number `stream`. */
void tensor_take(struct device *device, struct tensor *tensor, size_t bytes, int stream, const char *name);
void tensor_drop(struct device *device, struct tensor *tensor, int stream);

/* What is given to stream `later` from now on waits for what stream `earlier` has been given. */
void order_streams(struct device *device, int earlier, int later);

/* `parameters`: the kernel's, packed as its declaration aligns them. */
void launch(struct device *device, int stream, enum kernel kernel, struct grid grid, const void *parameters,
            size_t bytes);

/* Threads in a row, at least one for each of `count`. */
struct grid grid_over(size_t count);

#endif
