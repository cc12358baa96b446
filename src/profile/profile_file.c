#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "base/grow.h"
#include "base/varint.h"
#include "device/backend.h"
#include "launch/symbols.h"

#define FILE_MOST (128 * SL_MIB)
#define PAYLOAD_MOST ((uint64_t)64 * SL_MIB)
#define OBJECTS_MOST 4096u
#define PARAMETER_BYTES_MOST 65536u /* of one kernel */
#define LEVEL 3

struct header {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t payload_bytes, stored_bytes; /* before and after compression */
    uint64_t checksum; /* of the stored bytes, seeded with that of the preceding header fields */
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(struct header) == 40, "used in place");

static uint64_t checksum_of(const struct header *header, const uint8_t *stored)
{
    return XXH64(stored, header->stored_bytes, XXH64(header, offsetof(struct header, checksum), 0));
}

/* A buffer that grows while writing and is consumed while reading. The first error is kept. */
struct coder {
    bool writing;
    enum sl_status status;
    uint8_t *bytes; /* writing */
    uint32_t used, capacity;
    const uint8_t *at, *end; /* reading */
};

static void fail(struct coder *c, enum sl_status status)
{
    if (c->status == SL_OK) c->status = status;
}

static bool has_room(struct coder *c, uint32_t more)
{
    if (c->status) return false;
    if (!sl_grow_by(&c->bytes, &c->capacity, c->used, more, 1)) fail(c, SL_ERR_NO_MEMORY);
    return !c->status;
}

static void code(struct coder *c, uint64_t *value, uint64_t most)
{
    uint64_t read = 0;
    if (c->writing) {
        if (has_room(c, SL_VARINT_MOST))
            c->used = (uint32_t)(sl_varint_put(c->bytes + c->used, *value) - c->bytes);
        return;
    }
    if (c->status) return;
    const uint8_t *next = sl_varint_get(c->at, c->end, &read);
    if (!next || read > most) {
        fail(c, SL_ERR_FORMAT);
        return;
    }
    c->at = next;
    *value = read;
}

static void code_long(struct coder *c, uint64_t *value)
{
    code(c, value, UINT64_MAX);
}

static void code_number(struct coder *c, uint32_t *value, uint64_t most)
{
    uint64_t wide = *value;
    code(c, &wide, most < UINT32_MAX ? most : UINT32_MAX);
    *value = (uint32_t)wide;
}

static void code_text(struct coder *c, char **text)
{
    uint64_t length = c->writing && *text ? strnlen(*text, SL_PROFILE_LONGEST_TEXT) : 0;
    code(c, &length, SL_PROFILE_LONGEST_TEXT);
    if (c->writing) {
        if (!length || !has_room(c, (uint32_t)length)) return;
        memcpy(c->bytes + c->used, *text, length);
        c->used += (uint32_t)length;
        return;
    }
    if (c->status) return;
    if (length > (size_t)(c->end - c->at) || memchr(c->at, 0, length)) {
        fail(c, SL_ERR_FORMAT);
        return;
    }
    *text = malloc(length + 1);
    if (!*text) {
        fail(c, SL_ERR_NO_MEMORY);
        return;
    }
    memcpy(*text, c->at, length);
    (*text)[length] = 0;
    c->at += length;
}

/* The number of elements and, when reading, zeroed memory for them. Each takes at least a byte. */
static void code_array(struct coder *c, void *array, uint32_t *count, uint64_t most, size_t size)
{
    uint32_t wanted = c->writing ? *count : 0;
    code_number(c, &wanted, most);
    if (c->writing || c->status) return;
    if (wanted > (size_t)(c->end - c->at)) {
        fail(c, SL_ERR_FORMAT);
        return;
    }
    void *memory = calloc(wanted + (size_t)1, size);
    if (!memory) {
        fail(c, SL_ERR_NO_MEMORY);
        return;
    }
    *(void **)array = memory;
    *count = wanted;
}

static void code_kernel(struct coder *c, struct sl_profile_kernel *kernel)
{
    uint32_t count = kernel->parameter_count, bytes = 0;
    code_text(c, &kernel->name);
    code_array(c, &kernel->offsets, &count, SL_MAX_PARAMETERS, 2 * sizeof *kernel->offsets);
    if (c->status) return;
    if (!c->writing) kernel->sizes = kernel->offsets + count;
    kernel->parameter_count = count;
    for (uint32_t p = 0; p < count; p++) {
        code_number(c, &kernel->offsets[p], UINT16_MAX);
        code_number(c, &kernel->sizes[p], UINT16_MAX);
        bytes += kernel->sizes[p];
    }
    if (!c->writing && bytes > PARAMETER_BYTES_MOST) fail(c, SL_ERR_FORMAT);
}

static void code_key(struct coder *c, struct sl_profile_key *key)
{
    uint32_t short_lived = key->short_lived;
    code_long(c, &key->site);
    code_long(c, &key->bytes);
    code_number(c, &key->slots, SL_PROFILE_MOST_SLOTS);
    code_number(c, &short_lived, 1);
    key->short_lived = short_lived;
}

static void code_symbol(struct coder *c, struct sl_profile_symbol *symbol)
{
    uint32_t kind = symbol->kind;
    code_number(c, &kind, SL_SYMBOL_FREE);
    symbol->kind = (uint8_t)kind;
    if (kind != SL_SYMBOL_LAUNCH) {
        code_number(c, &symbol->slot, UINT32_MAX);
        return;
    }
    code_number(c, &symbol->kernel, UINT32_MAX);
    code_long(c, &symbol->shape);
    code_number(c, &symbol->access_count, SL_PROFILE_MOST_ACCESSES);
    code_long(c, &symbol->duration_ns);
}

static void code_access(struct coder *c, struct sl_profile_access *access)
{
    uint32_t only_read = access->only_read;
    code_number(c, &access->slot, UINT32_MAX);
    code_number(c, &access->where, UINT32_MAX);
    code_number(c, &access->kernel, UINT32_MAX);
    code_long(c, &access->offset);
    code_long(c, &access->bytes);
    code(c, &access->threads, INT64_MAX);
    code_number(c, &only_read, 1);
    access->only_read = only_read;
}

static void code_properties(struct coder *c, struct sl_profile_properties *p)
{
    uint64_t *const numbers[] = {&p->budget_bytes,        &p->chunk_bytes,          &p->need_bytes,
                                 &p->link_in_bytes_per_s, &p->link_out_bytes_per_s, &p->fed,
                                 &p->predicted,           &p->iterations,           &p->period};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) code_long(c, numbers[i]);
}

static void code_head(struct coder *c, struct sl_profile *p)
{
    code_text(c, &p->sluice);
    code_text(c, &p->command);
    code_text(c, &p->wanted.backing);
    code_long(c, &p->written_s);
    code_long(c, &p->wanted.budget_bytes);
    code_long(c, &p->wanted.chunk_bytes);
    code_properties(c, &p->properties);
    code_array(c, &p->objects, &p->object_count, OBJECTS_MOST, sizeof *p->objects);
    for (uint32_t i = 0; i < p->object_count && !c->status; i++) {
        code_text(c, &p->objects[i].name);
        for (int half = 0; half < 2; half++) code_long(c, &p->objects[i].build_id[half]);
    }
}

/* What belongs to a device. */
static void code_content(struct coder *c, struct sl_profile *p)
{
    code_array(c, &p->kernels, &p->kernel_count, SL_PROFILE_MOST_KERNELS, sizeof *p->kernels);
    for (uint32_t i = 0; i < p->kernel_count && !c->status; i++) code_kernel(c, &p->kernels[i]);
    code_array(c, &p->keys, &p->key_count, SL_PROFILE_MOST_SLOTS, sizeof *p->keys);
    for (uint32_t i = 0; i < p->key_count && !c->status; i++) code_key(c, &p->keys[i]);
    code_array(c, &p->symbols, &p->symbol_count, SL_PROFILE_MOST_SYMBOLS, sizeof *p->symbols);
    for (uint32_t i = 0; i < p->symbol_count && !c->status; i++) code_symbol(c, &p->symbols[i]);
    code_array(c, &p->accesses, &p->access_count, SL_PROFILE_MOST_ACCESSES, sizeof *p->accesses);
    for (uint32_t i = 0; i < p->access_count && !c->status; i++) code_access(c, &p->accesses[i]);
    code_array(c, &p->string, &p->string_count, SL_PROFILE_LONGEST, sizeof *p->string);
    for (uint32_t i = 0; i < p->string_count && !c->status; i++) code_number(c, &p->string[i], UINT32_MAX);
}

/* The further devices are the rest of the payload, if there is a rest. */
static void code_others(struct coder *c, struct sl_profile *p)
{
    if (c->writing ? !p->other_count : c->at == c->end) return;
    code_array(c, &p->others, &p->other_count, SL_PROFILE_MOST_OTHERS, sizeof *p->others);
    if (!p->other_count) fail(c, SL_ERR_FORMAT);
    for (uint32_t i = 0; i < p->other_count && !c->status; i++) {
        code_properties(c, &p->others[i].properties);
        code_content(c, &p->others[i]);
    }
}

static void code_profile(struct coder *c, struct sl_profile *p)
{
    code_head(c, p);
    code_content(c, p);
    code_others(c, p);
}

/* Gives each symbol its first access. Returns whether all references are valid. Accesses are in the order of
 * the symbols. */
static bool resolve(struct sl_profile *p)
{
    uint64_t slots = 0, accesses = 0;
    const struct sl_profile_key **key_of;
    for (uint32_t k = 0; k < p->key_count; k++) slots += p->keys[k].slots;
    if (slots > SL_PROFILE_MOST_SLOTS || !(key_of = malloc((slots + 1) * sizeof *key_of))) return false;
    bool consistent = true;
    for (uint32_t k = 0, s = 0; k < p->key_count; k++) {
        consistent &= p->keys[k].bytes > 0;
        for (uint32_t i = 0; i < p->keys[k].slots; i++) key_of[s++] = &p->keys[k];
    }
    for (uint32_t s = 0; s < p->symbol_count; s++) {
        struct sl_profile_symbol *symbol = &p->symbols[s];
        symbol->first_access = (uint32_t)accesses;
        accesses += symbol->access_count;
        consistent &= symbol->kind == SL_SYMBOL_LAUNCH || symbol->slot < slots;
        consistent &= symbol->kernel <= p->kernel_count;
    }
    consistent &= accesses == p->access_count;
    for (uint32_t a = 0; a < p->access_count; a++) {
        const struct sl_profile_access *access = &p->accesses[a];
        consistent &= access->slot < slots && access->kernel <= p->kernel_count &&
                      access->offset < key_of[access->slot]->bytes &&
                      access->bytes <= key_of[access->slot]->bytes - access->offset;
    }
    for (uint32_t i = 0; i < p->string_count; i++) consistent &= p->string[i] < p->symbol_count;
    free(key_of);
    return consistent && (!p->symbol_count || p->symbols[0].kind == SL_SYMBOL_LAUNCH);
}

enum sl_status sl_profile_encode(const struct sl_profile *profile, uint8_t **out, size_t *bytes)
{
    struct coder c = {.writing = true};
    uint8_t *file = NULL;
    struct sl_profile copy = *profile; /* writing does not change it */
    code_profile(&c, &copy);
    if (!c.status && c.used > PAYLOAD_MOST) fail(&c, SL_ERR_INVALID);
    size_t most = sizeof(struct header) + (c.status ? 0 : ZSTD_compressBound(c.used));
    if (!c.status && !(file = malloc(most))) fail(&c, SL_ERR_NO_MEMORY);
    if (!c.status) {
        ZSTD_CCtx *compressor = ZSTD_createCCtx(); /* the thread's stack may be small */
        size_t stored = compressor ? ZSTD_compressCCtx(compressor, file + sizeof(struct header),
                                                       most - sizeof(struct header), c.bytes, c.used, LEVEL)
                                   : (size_t)-1;
        ZSTD_freeCCtx(compressor);
        struct header header = {.magic = SL_PROFILE_MAGIC,
                                .version = SL_PROFILE_VERSION,
                                .header_bytes = sizeof header,
                                .payload_bytes = c.used,
                                .stored_bytes = stored};
        if (ZSTD_isError(stored)) {
            fail(&c, SL_ERR_NO_MEMORY);
        } else {
            header.checksum = checksum_of(&header, file + sizeof header);
            memcpy(file, &header, sizeof header);
            *out = file;
            *bytes = sizeof header + stored;
        }
    }
    free(c.bytes);
    if (c.status) free(file);
    return c.status;
}

bool sl_profile_is_one(const uint8_t *bytes, size_t count)
{
    return count >= sizeof SL_PROFILE_MAGIC - 1 &&
           !memcmp(bytes, SL_PROFILE_MAGIC, sizeof SL_PROFILE_MAGIC - 1);
}

static enum sl_status unpack(const uint8_t *bytes, size_t count, uint8_t **payload, size_t *payload_bytes)
{
    struct header header;
    if (!sl_profile_is_one(bytes, count)) return SL_ERR_FORMAT;
    if (count < sizeof header) return SL_ERR_TRUNCATED;
    memcpy(&header, bytes, sizeof header);
    if (header.version != SL_PROFILE_VERSION) return SL_ERR_VERSION;
    if (header.header_bytes != sizeof header || header.payload_bytes > PAYLOAD_MOST) return SL_ERR_FORMAT;
    if (header.stored_bytes > count - sizeof header) return SL_ERR_TRUNCATED;
    if (header.stored_bytes < count - sizeof header) return SL_ERR_FORMAT;
    if (header.checksum != checksum_of(&header, bytes + sizeof header)) return SL_ERR_FORMAT;
    uint8_t *memory = malloc(header.payload_bytes + 1);
    if (!memory) return SL_ERR_NO_MEMORY;
    size_t got = ZSTD_decompress(memory, header.payload_bytes, bytes + sizeof header, header.stored_bytes);
    if (got != header.payload_bytes) {
        free(memory);
        return SL_ERR_FORMAT;
    }
    *payload = memory;
    *payload_bytes = got;
    return SL_OK;
}

enum sl_status sl_profile_decode(const uint8_t *bytes, size_t count, struct sl_profile *out)
{
    uint8_t *payload;
    size_t payload_bytes;
    struct sl_profile profile = {0};
    enum sl_status status = unpack(bytes, count, &payload, &payload_bytes);
    if (status) return status;
    struct coder c = {.at = payload, .end = payload + payload_bytes};
    code_profile(&c, &profile);
    bool consistent = !c.status && c.at == c.end && resolve(&profile);
    for (uint32_t i = 0; i < profile.other_count && consistent; i++) consistent = resolve(&profile.others[i]);
    if (!consistent) fail(&c, SL_ERR_FORMAT);
    free(payload);
    if (c.status)
        sl_profile_free(&profile);
    else
        *out = profile;
    return c.status;
}

/* --- files */

/* Reads a whole plain file; a device counts as empty. The caller frees *out with free(). */
static enum sl_status read_whole(int file, uint8_t **out, size_t *count)
{
    struct stat at;
    if (fstat(file, &at) != 0) return SL_ERR_IO;
    bool device = S_ISCHR(at.st_mode);
    if ((!device && !S_ISREG(at.st_mode)) || (uint64_t)at.st_size > FILE_MOST) return SL_ERR_FORMAT;
    size_t size = device ? 0 : (size_t)at.st_size, used = 0;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return SL_ERR_NO_MEMORY;
    while (used < size) {
        ssize_t got = read(file, bytes + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            int error = errno;
            free(bytes);
            errno = error;
            return SL_ERR_IO;
        }
        if (got == 0) break;
        used += (size_t)got;
    }
    *out = bytes;
    *count = used;
    return SL_OK;
}

enum sl_status sl_profile_read(const char *path, struct sl_profile *out, bool *is_one)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    bool replaceable = false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (is_one) *is_one = file < 0 && errno == ENOENT;
    if (file < 0) return SL_ERR_IO;
    enum sl_status status = read_whole(file, &bytes, &count);
    int error = errno;
    close(file);
    if (status == SL_OK) {
        replaceable = !count || sl_profile_is_one(bytes, count) || sl_file_overwrites();
        status = count ? sl_profile_decode(bytes, count, out) : SL_ERR_IO; /* empty, as from mktemp */
        error = ENOENT;
        free(bytes);
    }
    if (is_one) *is_one = replaceable;
    errno = error;
    return status;
}

enum sl_status sl_profile_write(const char *path, const struct sl_profile *profile)
{
    uint8_t *bytes;
    size_t count;
    enum sl_status status = sl_profile_encode(profile, &bytes, &count);
    if (status) return status;
    status = sl_output_replace(path, &sl_file_profile, bytes, count);
    int error = errno;
    free(bytes);
    errno = error;
    return status;
}
