/* Loads and stores, built once per instruction set (SC_ISA).
 *
 * Sixteen lanes are handled together: adjacent addresses become one copy, equal addresses one read and a
 * splat; other lanes are handled one by one. If the addresses of all lanes of the group are adjacent, the
 * whole instruction is one copy.
 */
#include "chunk.h"
#include "ops.h"
#include "worker.h"

#define SC_JOIN2(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN2(a, b)

/* Like `inside`, but looks the address up if necessary; records no fault. */
SC_INLINE bool reach(struct sc_group *group, const struct sc_op *op, struct sc_window *window,
                     uint64_t address, uint64_t bytes)
{
    if (__builtin_expect(inside(window, address, bytes), 1)) return true;
    return sc_check_address(group, op, window, address, (uint32_t)bytes, UINT32_MAX);
}

SC_INLINE uint64_t read_element(uint64_t address, unsigned bytes, bool extend)
{
    const void *at = (const void *)(uintptr_t)address;
    uint64_t value = 0;
    if (bytes == 1) return extend ? (uint64_t)(int64_t) * (const int8_t *)at : *(const uint8_t *)at;
    if (bytes == 2) {
        uint16_t half;
        memcpy(&half, at, 2);
        return extend ? (uint64_t)(int64_t)(int16_t)half : half;
    }
    if (bytes == 4) {
        uint32_t word;
        memcpy(&word, at, 4);
        return extend ? (uint64_t)(int64_t)(int32_t)word : word;
    }
    memcpy(&value, at, 8);
    return value;
}

SC_INLINE void put_lane(unsigned char *vector, unsigned lane, unsigned bytes, uint64_t value)
{
    if (bytes == 4)
        ((sc_lane32 *)vector)[lane] = (uint32_t)value;
    else
        ((sc_lane64 *)vector)[lane] = value;
}

SC_INLINE uint64_t get_lane(const unsigned char *vector, unsigned lane, unsigned bytes)
{
    return bytes == 4 ? ((const sc_lane32 *)vector)[lane] : ((const sc_lane64 *)vector)[lane];
}

/* Counts the link traffic of the active lanes of a chunk that is neither contiguous nor a broadcast: 0 bytes
 * for a lane with the same address as the previous one, the lane's own bytes if it has a neighbour in memory,
 * a sector of 32 bytes otherwise. */
static __attribute__((noinline)) void count_lanes(struct sc_group *group, const struct sc_window *window,
                                                  const uint64_t *address, uint32_t active, uint32_t step,
                                                  bool write)
{
    uint32_t cost[SC_CHUNK], total = 0, alone = step > 32 ? step : 32;
    uint64_t around[SC_CHUNK + 2], low = UINT64_MAX, high = 0;
    for (unsigned i = 0; i < SC_CHUNK; i++) around[i + 1] = (active >> i & 1) ? address[i] : 1;
    around[0] = around[SC_CHUNK + 1] = 1; /* adjacent to no aligned address */
    for (unsigned i = 0; i < SC_CHUNK; i++) {
        uint64_t here = around[i + 1], before = here - around[i], after = around[i + 2] - here;
        uint32_t bytes = before == step || after <= step ? step : alone;
        cost[i] = before == 0 || here == 1 ? 0 : bytes;
        total += cost[i];
        low = here != 1 && here < low ? here : low;
        high = here != 1 && here > high ? here : high;
    }
    if (window->kind == SC_RANGE_DEVICE || low >> SC_TRAFFIC_SHIFT == (high + step - 1) >> SC_TRAFFIC_SHIFT) {
        sc_count_here(group->worker, window, low, total, write);
        return;
    }
    for (unsigned i = 0; i < SC_CHUNK; i++)
        if (cost[i]) sc_count_here(group->worker, window, address[i], cost[i], write);
}

/* Checks every active lane separately, to find the one that faults. */
static __attribute__((noinline)) bool check_lanes(struct sc_group *group, const struct sc_op *op,
                                                  struct sc_window *window, const uint64_t *address,
                                                  uint32_t active, uint32_t lane, uint32_t step, bool write)
{
    for (uint32_t bits = active; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        if (address[i] & (step - 1)) {
            group->fault_kind = SC_FAULT_MISALIGNED;
            group->fault_lane = lane + i;
            group->fault_address = address[i];
            return false;
        }
        if (!inside(window, address[i], step) &&
            !sc_check_address(group, op, window, address[i], step, lane + i))
            return false;
    }
    /* All lanes were in windows of one kind, except in a kernel that mixes spaces in one instruction. */
    if (window->kind != SC_WINDOW_ON_CHIP) count_lanes(group, window, address, active, step, write);
    return true;
}

/* Whether the active lanes of a chunk may access their addresses; counts their traffic. */
SC_INLINE bool check_chunk(struct sc_group *group, const struct sc_op *op, struct sc_window *window,
                           const struct chunk *chunk, uint32_t active, uint32_t lane, uint32_t step,
                           bool write)
{
    uint64_t address[SC_CHUNK];
    if (active == 0xffff && all_inside(chunk, window, step)) {
        if (window->kind == SC_WINDOW_ON_CHIP) return true;
        spread(chunk, address);
        count_lanes(group, window, address, active, step, write);
        return true;
    }
    spread(chunk, address);
    return check_lanes(group, op, window, address, active, lane, step, write);
}

#if defined(__AVX512F__)
/* Reads sixteen times four adjacent words: word k of each four goes to d[k]. */
SC_INLINE void transpose4(unsigned char *const *d, size_t at_byte, const unsigned char *from)
{
    const __m512i even = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(2));
    __m512i r0 = _mm512_loadu_si512(from), r1 = _mm512_loadu_si512(from + 64);
    __m512i r2 = _mm512_loadu_si512(from + 128), r3 = _mm512_loadu_si512(from + 192);
    __m512i low01 = _mm512_permutex2var_epi32(r0, even, r1), high01 = _mm512_permutex2var_epi32(r2, even, r3);
    __m512i low23 = _mm512_permutex2var_epi32(r0, odd, r1), high23 = _mm512_permutex2var_epi32(r2, odd, r3);
    _mm512_storeu_si512(d[0] + at_byte, _mm512_shuffle_i64x2(low01, high01, 0x44));
    _mm512_storeu_si512(d[1] + at_byte, _mm512_shuffle_i64x2(low01, high01, 0xee));
    _mm512_storeu_si512(d[2] + at_byte, _mm512_shuffle_i64x2(low23, high23, 0x44));
    _mm512_storeu_si512(d[3] + at_byte, _mm512_shuffle_i64x2(low23, high23, 0xee));
}
#endif

SC_INLINE void copy_run(unsigned char *const *d, size_t at_byte, uint64_t address, unsigned element,
                        unsigned count, unsigned result, bool extend)
{
    const unsigned char *from = (const unsigned char *)(uintptr_t)address;
    if (element == result && count == 1) {
        memcpy(d[0] + at_byte, from, (size_t)SC_CHUNK * element);
    } else if (element == 4 && result == 4 && count == 2) {
        sc_lane32 word[2 * SC_CHUNK], *x = (sc_lane32 *)(d[0] + at_byte), *y = (sc_lane32 *)(d[1] + at_byte);
        memcpy(word, from, sizeof word);
        for (unsigned i = 0; i < SC_CHUNK; i++) x[i] = word[2 * i];
        for (unsigned i = 0; i < SC_CHUNK; i++) y[i] = word[2 * i + 1];
    } else if (element == 2 && result == 4 && count == 2 && !extend) {
        sc_lane32 word[SC_CHUNK], *x = (sc_lane32 *)(d[0] + at_byte), *y = (sc_lane32 *)(d[1] + at_byte);
        memcpy(word, from, sizeof word);
        for (unsigned i = 0; i < SC_CHUNK; i++) x[i] = word[i] & 0xffff;
        for (unsigned i = 0; i < SC_CHUNK; i++) y[i] = word[i] >> 16;
    } else if (element == 2 && result == 4 && count == 4 && !extend) {
        sc_lane64 word[SC_CHUNK];
        memcpy(word, from, sizeof word);
        for (unsigned k = 0; k < 4; k++)
            for (unsigned i = 0; i < SC_CHUNK; i++)
                ((sc_lane32 *)(d[k] + at_byte))[i] = (uint32_t)(word[i] >> (16 * k)) & 0xffff;
#if defined(__AVX512F__)
    } else if (element == 4 && result == 4 && count == 4) {
        transpose4(d, at_byte, from);
#endif
    } else if (element == 4 && result == 4 && count == 4) {
        sc_lane32 word[4 * SC_CHUNK];
        memcpy(word, from, sizeof word);
        for (unsigned k = 0; k < 4; k++)
            for (unsigned i = 0; i < SC_CHUNK; i++) ((sc_lane32 *)(d[k] + at_byte))[i] = word[4 * i + k];
    } else {
        for (unsigned i = 0; i < SC_CHUNK; i++)
            for (unsigned k = 0; k < count; k++)
                put_lane(d[k] + at_byte, i, result,
                         read_element(address + (i * count + k) * element, element, extend));
    }
}

SC_INLINE void splat(unsigned char *d, unsigned result, uint64_t value)
{
    for (unsigned i = 0; i < SC_CHUNK; i++) put_lane(d, i, result, value);
}

/* Loads the lanes of one chunk one by one */
SC_INLINE void load_lanes(unsigned char *const *d, size_t at_byte, const struct chunk *at, uint32_t active,
                          unsigned element, unsigned count, unsigned result, bool extend)
{
    uint64_t address[SC_CHUNK];
    spread(at, address);
    if (active == 0xffff && element == 4 && result == 4 && count <= 4) {
        for (unsigned k = 0; k < count; k++) gather32((uint32_t *)(void *)(d[k] + at_byte), address, k * 4);
        return;
    }
    for (uint32_t bits = active; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        for (unsigned k = 0; k < count; k++)
            put_lane(d[k] + at_byte, i, result, read_element(address[i] + k * element, element, extend));
    }
}

/* Traffic of one instruction, accumulated while it stays in one 2 MiB block */
struct tally {
    uint64_t address, bytes;
    uint32_t kind;
};

SC_INLINE void settle(struct sc_group *group, struct tally *tally, bool write)
{
    struct sc_window window = {.kind = tally->kind};
    if (tally->bytes) sc_count_here(group->worker, &window, tally->address, tally->bytes, write);
    tally->bytes = 0;
}

SC_INLINE void note(struct sc_group *group, struct tally *tally, const struct sc_window *window,
                    uint64_t address, uint64_t bytes, uint64_t cost, bool write)
{
    if (window->kind == SC_WINDOW_ON_CHIP) return;
    uint64_t block = address >> SC_TRAFFIC_SHIFT;
    bool straddles = (address + bytes - 1) >> SC_TRAFFIC_SHIFT != block;
    if (straddles || tally->address >> SC_TRAFFIC_SHIFT != block || tally->kind != window->kind) {
        settle(group, tally, write);
        if (straddles) {
            sc_count(group->worker, window, address, bytes, write);
            return;
        }
        tally->address = address;
        tally->kind = window->kind;
    }
    tally->bytes += cost;
}

/* The rows of a tile are far apart in memory: prefetches all their cache lines before the first one is
 * read. */
SC_INLINE void prefetch_chunks(const unsigned char *a, uint32_t chunks, int64_t offset)
{
    for (uint32_t chunk = 0; chunk < chunks; chunk++)
        __builtin_prefetch(
            (const void *)(uintptr_t)(((const sc_lane64 *)a)[chunk * SC_CHUNK] + (uint64_t)offset));
}

/* Whether the addresses of all lanes of the group are contiguous; then one copy suffices, from *start. */
SC_INLINE bool whole_run(struct sc_group *group, const struct sc_op *op, struct sc_window *window,
                         const unsigned char *a, uint32_t chunks, uint32_t step, bool write, uint64_t *start)
{
    const sc_lane64 *lane = (const sc_lane64 *)a;
    uint64_t first = lane[0], different = 0;
    uint32_t lanes = chunks * SC_CHUNK;
    if (lane[lanes - 1] != first + (uint64_t)(lanes - 1) * step) return false;
    for (uint32_t i = 0; i < lanes; i++) different |= lane[i] ^ (first + (uint64_t)i * step);
    uint64_t from = first + (uint64_t)op->immediate;
    if (op->access.space == SC_SPACE_SHARED) from += (uint64_t)(uintptr_t)group->shared;
    if (different || (from & (step - 1)) || !reach(group, op, window, from, (uint64_t)lanes * step))
        return false;
    sc_count(group->worker, window, from, (uint64_t)lanes * step, write);
    *start = from;
    return true;
}

SC_INLINE bool load(struct sc_group *group, const struct sc_op *op, unsigned address_bytes, unsigned element,
                    unsigned count, unsigned result, bool extend)
{
    struct sc_window *window = &group->caches[op->cache];
    const bool uniform = op->flags & SC_FLAG_UNIFORM, full = uniform || group->use_full;
    const uint32_t first = uniform ? 0 : group->first_chunk, chunks = uniform ? 1 : group->chunks;
    const unsigned char *a = sc_operand(group, op->a, op->stride_a, first);
    const size_t a_step = (size_t)op->stride_a * 64;
    const uint64_t base = op->access.space == SC_SPACE_SHARED ? (uint64_t)(uintptr_t)group->shared : 0;
    const int64_t offset = op->immediate;
    const uint32_t *places = group->program->places + op->extra;
    const uint32_t step = element * count;
    unsigned char *d[4];
    uint64_t from, previous = 1; /* address of this warp's last broadcast; 1 is no aligned address */
    struct chunk at;
    const bool may_repeat = address_bytes == 4 && count > 1;
    bool repeats = false;      /* the previous chunk was contiguous */
    uint32_t before[SC_CHUNK]; /* its addresses, because the register may be overwritten */
    struct tally tally = {0, 0, 0};
    for (unsigned k = 0; k < count; k++) /* uniform results have first = 0, so they need no stride */
        d[k] = group->file + places[2 * k] + (size_t)first * result * SC_CHUNK;
    if (full && address_bytes == 8 && op->stride_a && element == result && count == 1 && chunks > 1 &&
        whole_run(group, op, window, a, chunks, step, false, &from)) {
        copy_chunks(d[0], (const void *)(uintptr_t)from, chunks, element);
        return true;
    }
    if (address_bytes == 8 && a_step) prefetch_chunks(a, chunks, offset);
    for (uint32_t chunk = 0; chunk < chunks; chunk++, a += a_step) {
        const size_t at_byte = (size_t)chunk * result * SC_CHUNK;
        uint32_t lane = (first + chunk) * SC_CHUNK;
        uint32_t active = full ? 0xffff : mask_bits(group->use_mask + lane);
        repeats = repeats && active;
        if (active) {
            at = addresses(a, address_bytes, base, offset);
            from = first_address(a, address_bytes, base, offset);
            if ((lane & 31) == 0) previous = 1;
            bool straight = active == 0xffff && (from & (step - 1)) == 0;
            if (may_repeat && repeats && straight && equal_lanes(a, before)) {
                for (unsigned k = 0; k < count; k++)
                    memcpy(d[k] + at_byte, d[k] + at_byte - result * SC_CHUNK, (size_t)result * SC_CHUNK);
                continue;
            }
            repeats = false;
            if (straight && follows(&at, address_bytes, base, from, step) &&
                reach(group, op, window, from, (uint64_t)step * SC_CHUNK)) {
                note(group, &tally, window, from, (uint64_t)step * SC_CHUNK, (uint64_t)step * SC_CHUNK,
                     false);
                if (may_repeat) memcpy(before, a, sizeof before);
                copy_run(d, at_byte, from, element, count, result, extend);
                repeats = true;
            } else if (straight && follows(&at, address_bytes, base, from, 0) &&
                       reach(group, op, window, from, step)) {
                uint64_t warps = uniform ? (group->active + 31) / 32 : previous != from;
                note(group, &tally, window, from, step, step * warps, false);
                previous = from;
                for (unsigned k = 0; k < count; k++)
                    splat(d[k] + at_byte, result, read_element(from + k * element, element, extend));
            } else {
                at = widen(&at, address_bytes, base);
                if (!check_chunk(group, op, window, &at, active, lane, step, false)) return false;
                load_lanes(d, at_byte, &at, active, element, count, result, extend);
            }
        }
    }
    settle(group, &tally, false);
    return true;
}

SC_INLINE void write_element(uint64_t address, unsigned bytes, uint64_t value)
{
    memcpy((void *)(uintptr_t)address, &value, bytes);
}

SC_INLINE void store_run(const unsigned char *const *s, uint64_t address, unsigned element, unsigned count,
                         unsigned result)
{
    unsigned char *to = (unsigned char *)(uintptr_t)address;
    if (element == result && count == 1) {
        memcpy(to, s[0], (size_t)SC_CHUNK * element);
    } else if (element == 4 && result == 4) {
        sc_lane32 word[4 * SC_CHUNK];
        for (unsigned i = 0; i < SC_CHUNK; i++)
            for (unsigned k = 0; k < count; k++) word[count * i + k] = ((const sc_lane32 *)s[k])[i];
        memcpy(to, word, (size_t)4 * count * SC_CHUNK);
    } else if (element == 2 && result == 4 && count == 2) {
        const sc_lane32 *x = (const sc_lane32 *)s[0], *y = (const sc_lane32 *)s[1];
        sc_lane32 word[SC_CHUNK];
        for (unsigned i = 0; i < SC_CHUNK; i++) word[i] = (x[i] & 0xffff) | y[i] << 16;
        memcpy(to, word, sizeof word);
    } else {
        for (unsigned i = 0; i < SC_CHUNK; i++)
            for (unsigned k = 0; k < count; k++)
                write_element(address + (i * count + k) * element, element, get_lane(s[k], i, result));
    }
}

SC_INLINE void store_lanes(const unsigned char *const *s, const struct chunk *at, uint32_t active,
                           unsigned element, unsigned count, unsigned result)
{
    uint64_t address[SC_CHUNK];
    spread(at, address);
    for (uint32_t bits = active; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        for (unsigned k = 0; k < count; k++)
            write_element(address[i] + k * element, element, get_lane(s[k], i, result));
    }
}

SC_INLINE bool store(struct sc_group *group, const struct sc_op *op, unsigned address_bytes, unsigned element,
                     unsigned count, unsigned result)
{
    struct sc_window *window = &group->caches[op->cache];
    const bool full = group->use_full;
    const uint32_t first = group->first_chunk, chunks = group->chunks;
    const unsigned char *a = sc_operand(group, op->a, op->stride_a, first);
    const size_t a_step = (size_t)op->stride_a * 64;
    const uint64_t base = op->access.space == SC_SPACE_SHARED ? (uint64_t)(uintptr_t)group->shared : 0;
    const int64_t offset = op->immediate;
    const uint32_t *places = group->program->places + op->extra;
    const uint32_t step = element * count;
    const unsigned char *s[4];
    size_t s_step[4];
    uint64_t to;
    struct chunk at;
    struct tally tally = {0, 0, 0};
    for (unsigned k = 0; k < count; k++) {
        s[k] = sc_operand(group, places[2 * k], places[2 * k + 1], first);
        s_step[k] = (size_t)places[2 * k + 1] * 64;
    }
    if (full && address_bytes == 8 && op->stride_a && places[1] && element == result && count == 1 &&
        chunks > 1 && whole_run(group, op, window, a, chunks, step, true, &to)) {
        copy_chunks((void *)(uintptr_t)to, s[0], chunks, element);
        return true;
    }
    for (uint32_t chunk = 0; chunk < chunks; chunk++, a += a_step) {
        uint32_t lane = (first + chunk) * SC_CHUNK;
        uint32_t active = full ? 0xffff : mask_bits(group->use_mask + lane);
        if (active) {
            at = addresses(a, address_bytes, base, offset);
            to = first_address(a, address_bytes, base, offset);
            if (active == 0xffff && !(to & (step - 1)) && follows(&at, address_bytes, base, to, step) &&
                reach(group, op, window, to, (uint64_t)step * SC_CHUNK)) {
                note(group, &tally, window, to, (uint64_t)step * SC_CHUNK, (uint64_t)step * SC_CHUNK, true);
                store_run(s, to, element, count, result);
            } else {
                at = widen(&at, address_bytes, base);
                if (!check_chunk(group, op, window, &at, active, lane, step, true)) return false;
                store_lanes(s, &at, active, element, count, result);
            }
        }
        for (unsigned k = 0; k < count; k++) s[k] += s_step[k];
    }
    settle(group, &tally, true);
    return true;
}

static bool load_any(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_access *x = &op->access;
    return load(group, op, x->address_bytes, x->element_bytes, x->count, x->result_bytes, x->extend_signed);
}

static bool store_any(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_access *x = &op->access;
    return store(group, op, x->address_bytes, x->element_bytes, x->count, x->result_bytes);
}

/* Access shapes with specialised code: address bytes, element bytes, count, register bytes */
#define EACH_ACCESS(X)                                                                                       \
    X(4, 1, 1, 4)                                                                                            \
    X(4, 2, 1, 4)                                                                                            \
    X(4, 2, 2, 4)                                                                                            \
    X(8, 2, 2, 4)                                                                                            \
    X(8, 2, 4, 4)                                                                                            \
    X(4, 4, 1, 4)                                                                                            \
    X(4, 4, 2, 4)                                                                                            \
    X(4, 4, 4, 4)                                                                                            \
    X(4, 8, 1, 8)                                                                                            \
    X(4, 8, 2, 8)                                                                                            \
    X(8, 1, 1, 4) X(8, 2, 1, 4) X(8, 4, 1, 4) X(8, 4, 2, 4) X(8, 4, 4, 4) X(8, 8, 1, 8) X(8, 8, 2, 8)

#define DEFINE(ab, eb, n, rb)                                                                                \
    static bool load_##ab##_##eb##x##n(struct sc_group *group, const struct sc_op *op)                       \
    {                                                                                                        \
        return load(group, op, ab, eb, n, rb, false);                                                        \
    }                                                                                                        \
    static bool store_##ab##_##eb##x##n(struct sc_group *group, const struct sc_op *op)                      \
    {                                                                                                        \
        return store(group, op, ab, eb, n, rb);                                                              \
    }
EACH_ACCESS(DEFINE)
#undef DEFINE

static struct {
    uint8_t address_bytes, element_bytes, count, result_bytes;
    sc_op_function *load, *store;
} const special[] = {
#define ENTRY(ab, eb, n, rb) {ab, eb, n, rb, load_##ab##_##eb##x##n, store_##ab##_##eb##x##n},
    EACH_ACCESS(ENTRY)
#undef ENTRY
};

static sc_op_function *choose(const struct sc_access *access, bool write)
{
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i].address_bytes == access->address_bytes &&
            special[i].element_bytes == access->element_bytes && special[i].count == access->count &&
            special[i].result_bytes == access->result_bytes && (write || !access->extend_signed))
            return write ? special[i].store : special[i].load;
    return write ? store_any : load_any;
}

static sc_op_function *choose_load(const struct sc_access *access)
{
    return choose(access, false);
}
static sc_op_function *choose_store(const struct sc_access *access)
{
    return choose(access, true);
}

extern sc_op_function *const SC_JOIN(sc_lane_functions_, SC_ISA)[SC_OP_LANE_COUNT];
extern sc_op_function *const SC_JOIN(sc_batch_, SC_ISA), *const SC_JOIN(sc_product_, SC_ISA);

const struct sc_isa SC_JOIN(sc_isa_, SC_ISA) = {
#define SC_TEXT2(x) #x
#define SC_TEXT(x) SC_TEXT2(x)
    .name = SC_TEXT(SC_ISA),
    .lane = SC_JOIN(sc_lane_functions_, SC_ISA),
    .load = choose_load,
    .store = choose_store,
    .product = &SC_JOIN(sc_product_, SC_ISA),
    .batch = &SC_JOIN(sc_batch_, SC_ISA),
    .mask = &SC_JOIN(sc_mask_, SC_ISA),
};
