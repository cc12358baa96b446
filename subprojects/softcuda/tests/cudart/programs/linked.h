// What the two units of linked.cu share.
typedef int (*operation)(int);

__device__ int helper(int x);
int other_unit(int *out); // the value of the counter, after a kernel of that unit has added one to out[0]

template <class T> __global__ void add_one(T *x)
{
    x[threadIdx.x] += 1;
}
