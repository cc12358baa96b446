/* A program that marks what it does, with sluice/marks.h, and asks what sluice did, with sluice/figures.h. It
 * runs as well where nobody listens. */
#include "adder.h"

#include <pthread.h>
#include <string.h>

#include "sluice/figures.h"
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

/* Whether the figures are right; the caller may know fewer of them than the library, or more. */
static int asks(uint64_t launches)
{
    struct {
        struct sluice_figures figures;
        uint64_t unknown;
    } more;
    struct sluice_figures now;
    sluice_figures_function *ask = sluice_figures_find();
    memset(&now, 0xff, sizeof now);
    size_t known = sluice_get_figures(0, &now);
    if (!ask) return known == 0 && now.launches == UINT64_MAX;
    if (known != sizeof now || now.launches != launches || now.live_bytes != MIB) return 0;
    if (sluice_get_figures(1, &now) != 0 || now.launches != launches) return 0;
    memset(&more, 0xff, sizeof more);
    if (ask(0, &more.figures, sizeof more) != sizeof now || more.unknown) return 0;
    if (more.figures.launches != launches || more.figures.chunk_bytes != now.chunk_bytes) return 0;
    memset(&now, 0xff, sizeof now);
    known = ask(0, &now, sizeof now.launches);
    return known == sizeof now.launches && now.launches == launches && now.bytes_in_plan == UINT64_MAX;
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
    if (!asks(4)) return 2;
    ok(cuMemFree(data));
    return 0;
}
