/* Copies from and to managed memory: does a copy that leaves its direction to the driver, as
 * cudaMemcpyDefault does, or that is synchronous, cost more than one that names it? By where the managed
 * memory is and what the other side is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

enum partner { PINNED, PAGEABLE, DEVICE, PARTNERS };
static const char *const partner_names[PARTNERS] = {"pinned", "pageable", "device"};

enum form { TYPED, UNTYPED, TYPED_SYNC, UNTYPED_SYNC, FORMS };
static const char *const form_names[FORMS] = {"typed", "untyped", "typed, synchronous",
                                              "untyped, synchronous"};

static const struct {
    const char *name, *history;
} places[] = {{"resident", "dw"}, {"on the host", "dwe"}};
enum { PLACES = sizeof places / sizeof *places };

struct copy {
    CUdeviceptr managed, device; /* `device`: the partner, if it is device memory */
    void *host;                  /* otherwise */
    uint64_t bytes;
    bool from_managed;
    enum form form;
    CUstream stream;
};

static void start(const struct copy *copy)
{
    CUdeviceptr partner = copy->device ? copy->device : (CUdeviceptr)(uintptr_t)copy->host;
    CUdeviceptr to = copy->from_managed ? partner : copy->managed;
    CUdeviceptr from = copy->from_managed ? copy->managed : partner;
    if (copy->form == UNTYPED)
        MUST(cu.cuMemcpyAsync(to, from, copy->bytes, copy->stream));
    else if (copy->form == UNTYPED_SYNC)
        MUST(cu.cuMemcpy(to, from, copy->bytes));
    else if (copy->device && copy->form == TYPED)
        MUST(cu.cuMemcpyDtoDAsync(to, from, copy->bytes, copy->stream));
    else if (copy->device)
        MUST(cu.cuMemcpyDtoD(to, from, copy->bytes));
    else if (copy->from_managed && copy->form == TYPED)
        MUST(cu.cuMemcpyDtoHAsync(copy->host, from, copy->bytes, copy->stream));
    else if (copy->from_managed)
        MUST(cu.cuMemcpyDtoH(copy->host, from, copy->bytes));
    else if (copy->form == TYPED)
        MUST(cu.cuMemcpyHtoDAsync(to, copy->host, copy->bytes, copy->stream));
    else
        MUST(cu.cuMemcpyHtoD(to, copy->host, copy->bytes));
}

static void measure(const struct probe *probe, const struct copy *copy, int place, enum partner partner)
{
    double best_call = 0, best_all = 0;
    for (int i = 0; i <= probe->repeat; i++) {
        move_all(probe, places[place].history, copy->managed, copy->bytes, copy->stream);
        MUST(cu.cuCtxSynchronize());
        double before = now_seconds();
        start(copy);
        double call = now_seconds() - before;
        /* A synchronous copy from device to device may return before it is done. */
        MUST(cu.cuCtxSynchronize());
        double all = now_seconds() - before;
        if (i == 0) continue; /* it warms up */
        if (i == 1 || call < best_call) best_call = call;
        if (i == 1 || all < best_all) best_all = all;
    }
    printf("{\"part\": \"copies\", \"managed\": \"%s\", \"direction\": \"%s\", \"partner\": \"%s\", "
           "\"form\": \"%s\", "
           "\"bytes\": %llu, \"gbps\": %.3f, \"call_us\": %.2f, \"until_done_us\": %.2f}\n",
           places[place].name, copy->from_managed ? "from" : "to", partner_names[partner],
           form_names[copy->form], (unsigned long long)copy->bytes, (double)copy->bytes / best_all * 1e-9,
           best_call * 1e6, best_all * 1e6);
}

void part_copies(struct probe *probe)
{
    struct copy copy = {.bytes = probe->bytes < 512 * MIB ? 4 * MIB : 64 * MIB, .stream = stream_new()};
    void *pinned, *pageable = malloc(copy.bytes);
    CUdeviceptr device;
    if (!pageable) return;
    if (!cu.cuMemcpyAsync || !cu.cuMemcpy) {
        fprintf(stderr, "um_probe: the driver has no cuMemcpyAsync\n");
        free(pageable);
        return;
    }
    MUST(cu.cuMemHostAlloc(&pinned, copy.bytes, 0));
    MUST(cu.cuMemAlloc(&device, copy.bytes));
    memset(pageable, 1, copy.bytes);
    memset(pinned, 1, copy.bytes);
    copy.managed = managed_new(probe, copy.bytes, ADVICE_HOST_ACCESSED_BY);
    for (int place = 0; place < PLACES; place++)
        for (enum partner partner = 0; partner < PARTNERS; partner++)
            for (int from = 0; from < 2; from++)
                for (enum form form = 0; form < FORMS; form++) {
                    copy.device = partner == DEVICE ? device : 0;
                    copy.host = partner == PINNED ? pinned : pageable;
                    copy.from_managed = from == 1;
                    copy.form = form;
                    measure(probe, &copy, place, partner);
                }
    MUST(cu.cuMemFree(copy.managed));
    MUST(cu.cuMemFree(device));
    MUST(cu.cuMemFreeHost(pinned));
    free(pageable);
    MUST(cu.cuStreamDestroy(copy.stream));
}
