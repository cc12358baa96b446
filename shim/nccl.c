#include "nccl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "core/runtime.h"
#include "nccl_real.h"

#define INLINE_SPANS 8

/* In the order of include/sluice/trace.h. */
enum {
    SEVERAL_KINDS,
#define SL_NCCL(symbol, declarations, arguments, ...) KIND_##symbol,
#include "nccl_api.def"
#undef SL_NCCL
};

struct use {
    struct sl_span span;
    CUstream stream;
    const void *communicator;
    uint32_t kind;
    int own, peer; /* ranks of the communicator; -1: not known, or there is no single peer */
};

/* The memory of the calling thread's calls, until their kernels are launched. */
static __thread struct {
    unsigned depth; /* of groups */
    bool inside;    /* in a call of NCCL that may launch */
    bool incomplete;
    uint32_t count, capacity;
    struct use *uses; /* `here`, or from malloc */
    struct sl_span *spans;
    struct sl_message *messages;
    struct use here[INLINE_SPANS];
    struct sl_span spans_here[INLINE_SPANS];
    struct sl_message messages_here[INLINE_SPANS];
} told __attribute__((tls_model("initial-exec")));

static size_t size_of(int type)
{
    static const uint8_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof sizes ? sizes[type] : 0;
}

static void free_arrays(void)
{
    if (told.uses == told.here) return;
    free(told.uses);
    free(told.spans);
    free(told.messages);
}

static bool reserve(void)
{
    if (!told.uses) {
        told.uses = told.here;
        told.spans = told.spans_here;
        told.messages = told.messages_here;
        told.capacity = INLINE_SPANS;
    }
    if (told.count < told.capacity) return true;
    uint32_t capacity = 2 * told.capacity;
    struct use *uses = malloc(capacity * sizeof *uses);
    struct sl_span *spans = malloc(capacity * sizeof *spans);
    struct sl_message *messages = malloc(capacity * sizeof *messages);
    if (!uses || !spans || !messages) {
        free(uses);
        free(spans);
        free(messages);
        return false;
    }
    memcpy(uses, told.uses, told.count * sizeof *uses);
    free_arrays();
    told.uses = uses;
    told.spans = spans;
    told.messages = messages;
    told.capacity = capacity;
    return true;
}

static void forget(void)
{
    free_arrays();
    told.uses = NULL;
    told.spans = NULL;
    told.messages = NULL;
    told.count = told.capacity = 0;
    told.incomplete = false;
}

/* Memory that is not ours counts as bytes only. */
static void use(const void *address, uint64_t bytes, bool write, const struct use *call)
{
    if (!bytes) return;
    if (!reserve()) {
        told.incomplete = true;
        return;
    }
    told.uses[told.count] = *call;
    told.uses[told.count++].span = (struct sl_span){(uintptr_t)address, bytes, write};
}

/* Whether a call is part of the launch on the stream: NCCL launches all calls of a communicator in a group at
 * once, on the stream of one of them. */
static bool is_part(const struct use *use, sl_stream stream)
{
    if (use->stream == stream) return true;
    for (uint32_t i = 0; i < told.count; i++)
        if (told.uses[i].stream == stream && told.uses[i].communicator == use->communicator) return true;
    return false;
}

static bool take_message(const struct use *use, struct sl_message *out)
{
    if (use->own < 0 || use->peer < 0) return false;
    *out = (struct sl_message){.peer = (uint32_t)use->peer,
                               .own = (uint32_t)use->own,
                               .bytes = use->span.bytes,
                               .kind = use->kind == KIND_ncclSend ? SL_MESSAGE_SEND : SL_MESSAGE_RECEIVE};
    return true;
}

void sl_nccl_claim(struct sl_launch *launch)
{
    uint32_t count = 0, messages = 0;
    uint64_t bytes = 0;
    if (!told.inside || told.incomplete) return;
    for (uint32_t i = 0; i < told.count; i++) {
        const struct use *use = &told.uses[i];
        if (!is_part(use, launch->stream)) continue;
        if (!bytes) launch->communicator = sl_communicator(use->communicator);
        launch->collective = !bytes || launch->collective == use->kind ? use->kind : SEVERAL_KINDS;
        bytes += use->span.bytes;
        messages += take_message(use, &told.messages[messages]);
        if (sl_runtime_owns(use->span.address)) told.spans[count++] = use->span;
    }
    launch->kind = SL_LAUNCH_COLLECTIVE;
    launch->parameters = NULL;
    launch->packed = NULL;
    launch->packed_bytes = 0;
    launch->copied_bytes = bytes;
    launch->more_spans = told.spans;
    launch->more_span_count = count;
    launch->messages = told.messages;
    launch->message_count = messages;
}

/* A nested call of NCCL counts as part of the outer call. */
static bool begin_call(void)
{
    if (told.inside) return false;
    told.inside = told.depth == 0;
    return true;
}

static void end_call(void)
{
    if (told.depth) return;
    told.inside = false;
    forget();
}

static int ranks_of(void *comm, const void *caller)
{
    int count = 0;
    return SL_NCCL_REAL(ncclCommCount, caller) && !SL_NCCL_REAL(ncclCommCount, caller)(comm, &count) &&
                   count > 0
               ? count
               : 1;
}

static int rank_of(void *comm, const void *caller)
{
    int rank = -1;
    return SL_NCCL_REAL(ncclCommUserRank, caller) && !SL_NCCL_REAL(ncclCommUserRank, caller)(comm, &rank)
               ? rank
               : -1;
}

#define reads(address, size) use(address, size, false, &call)
#define writes(address, size) use(address, size, true, &call)
#define meets(rank) (call.peer = (rank))
#define SL_NCCL(symbol, declarations, arguments, ...)                                                        \
    int sl_entry_##symbol declarations                                                                       \
    {                                                                                                        \
        const void *caller = __builtin_return_address(0);                                                    \
        sl_fn_##symbol *function = SL_NCCL_REAL(symbol, caller);                                             \
        if (!function) return SL_NCCL_MISSING;                                                               \
        if (!sl_runtime_running() || !begin_call()) return function arguments;                               \
        uint64_t bytes = count * size_of(type), ranks = (uint64_t)ranks_of(comm, caller);                    \
        int own = rank_of(comm, caller);                                                                     \
        struct use call = {                                                                                  \
            .stream = stream, .communicator = comm, .kind = KIND_##symbol, .own = own, .peer = -1};          \
        (void)ranks;                                                                                         \
        __VA_ARGS__                                                                                          \
        int result = function arguments;                                                                     \
        end_call();                                                                                          \
        return result;                                                                                       \
    }                                                                                                        \
    SL_NCCL_EXPORT(symbol, declarations)
#include "nccl_api.def"
#undef SL_NCCL

int sl_entry_ncclGroupStart(void)
{
    sl_fn_ncclGroupStart *function = SL_NCCL_REAL(ncclGroupStart, __builtin_return_address(0));
    if (!function) return SL_NCCL_MISSING;
    int result = function();
    if (!result && !told.inside) told.depth++;
    return result;
}

/* The outermost end launches the group. */
int sl_entry_ncclGroupEnd(void)
{
    sl_fn_ncclGroupStart *function = SL_NCCL_REAL(ncclGroupEnd, __builtin_return_address(0));
    if (!function) return SL_NCCL_MISSING;
    if (told.inside || !told.depth) return function();
    bool launches = --told.depth == 0;
    told.inside = launches;
    int result = function();
    if (launches) end_call();
    return result;
}
SL_NCCL_EXPORT(ncclGroupStart, (void))
SL_NCCL_EXPORT(ncclGroupEnd, (void))
