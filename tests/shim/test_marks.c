/* A program that marks what it does, with sluice/marks.h, and runs as well where nobody listens. */
#include "adder.h"

#include <pthread.h>
#include <string.h>

#include "sluice/marks.h"

static CUdeviceptr data;

static void work(int launches)
{
    for (int i = 0; i < launches; i++) ok(cuMemsetD8(data, (unsigned char)i, MIB));
}

static void *beside(void *nothing)
{
    sluice_mark_push("beside");
    sluice_mark_pop();
    return nothing;
}

int main(void)
{
    char name[300], changed[] = "changed";
    pthread_t thread;
    sluice_mark("before the device is used");
    if (use_device(NULL)) return 1;
    ok(cuMemAlloc(&data, MIB));
    sluice_mark_push("forward");
    work(2);
    sluice_mark_push("layer 1");
    work(1);
    sluice_mark_pop();
    sluice_mark_pop();
    work(1);
    sluice_mark("a moment");
    sluice_mark_push(changed);
    memset(changed, 'x', sizeof changed - 1);
    sluice_mark_pop();
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    sluice_mark(name);
    sluice_mark(NULL);
    if (pthread_create(&thread, NULL, beside, NULL)) return 1;
    pthread_join(thread, NULL);
    ok(cuMemFree(data));
    return 0;
}
