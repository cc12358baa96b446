#include "fatbin.h"

#include "cubin.h"
#include "readable.h"

#include <ctype.h>
#include <lz4.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC 0x466243b1u
#define CONTAINER_MAGIC 0xBA55ED50u
#define ELF_MAGIC 0x464c457fu
#define CONTAINER_HEADER_BYTES 16
#define ENTRY_HEADER_BYTES 64
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define FLAG_ARCH_SPECIFIC 0x100000u
#define FLAG_FAMILY_SPECIFIC 0x200000u
#define MAX_ENTRY_BYTES ((uint64_t)256 << 20) /* limit against absurd sizes in a damaged header */
#define MAX_UNITS 65536

enum entry_kind { ENTRY_PTX = 1, ENTRY_ELF = 2 };

struct wrapper {
    uint32_t magic, version;
    const void *container;
    const void *const *extra;
};

struct container_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t payload_bytes;
};

struct entry_header {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes; /* padded to 8 */
    uint32_t compressed_bytes, extension_offset;
    uint16_t minor, major;
    uint32_t arch, name_offset, name_bytes;
    uint64_t flags, reserved, uncompressed_bytes;
};
_Static_assert(sizeof(struct container_header) == CONTAINER_HEADER_BYTES, "as stored");
_Static_assert(sizeof(struct entry_header) == ENTRY_HEADER_BYTES, "as stored");

/* What is looked for, and where the one-line error message goes. */
struct request {
    enum entry_kind wanted;
    unsigned arch;
    struct sc_readable *known;
    char *why;
    size_t why_bytes;
};

static enum sc_fatbin_status fail(const struct request *request, enum sc_fatbin_status status,
                                  const char *format, ...) __attribute__((format(printf, 3, 4)));

static enum sc_fatbin_status fail(const struct request *request, enum sc_fatbin_status status,
                                  const char *format, ...)
{
    if (request->why_bytes == 0) return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->why, request->why_bytes, format, arguments);
    va_end(arguments);
    return status;
}

/* The best entry so far of the kind that is wanted, and what else a container held, for the message if there
 * is no PTX. */
struct choice {
    struct entry_header entry;
    const unsigned char *payload;
    size_t offset; /* of the entry in its container */
    bool found;
    unsigned machine_code_count, machine_code_arch;
};

static bool specific(const struct entry_header *entry)
{
    return (entry->flags & (FLAG_ARCH_SPECIFIC | FLAG_FAMILY_SPECIFIC)) != 0;
}

static bool better(const struct entry_header *candidate, const struct entry_header *best, unsigned arch)
{
    if (specific(candidate) != specific(best)) return specific(best);
    const bool candidate_runs = arch == 0 || candidate->arch <= arch;
    const bool best_runs = arch == 0 || best->arch <= arch;
    if (candidate_runs != best_runs) return candidate_runs;
    return candidate_runs ? candidate->arch > best->arch : candidate->arch < best->arch;
}

static enum sc_fatbin_status read_entry(const unsigned char *container, size_t end, size_t *offset,
                                        struct choice *choice, const struct request *request)
{
    struct entry_header entry;
    const size_t left = end - *offset;
    if (left < sizeof entry)
        return fail(request, SC_FATBIN_CORRUPT, "fat binary: entry at offset %zu is cut off after %zu bytes",
                    *offset, left);
    memcpy(&entry, container + *offset, sizeof entry);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > left)
        return fail(request, SC_FATBIN_CORRUPT, "fat binary: entry at offset %zu has a header of %u bytes",
                    *offset, entry.header_bytes);
    if (entry.payload_bytes > left - entry.header_bytes)
        return fail(request, SC_FATBIN_CORRUPT,
                    "fat binary: entry at offset %zu claims %llu bytes where %zu are left", *offset,
                    (unsigned long long)entry.payload_bytes, left - entry.header_bytes);
    if (entry.kind == ENTRY_ELF) {
        choice->machine_code_count++;
        choice->machine_code_arch = entry.arch;
    }
    if (entry.kind == request->wanted && (!choice->found || better(&entry, &choice->entry, request->arch))) {
        choice->entry = entry;
        choice->payload = container + *offset + entry.header_bytes;
        choice->offset = *offset;
        choice->found = true;
    }
    *offset += entry.header_bytes + (size_t)entry.payload_bytes;
    return SC_FATBIN_OK;
}

/* Copies or decompresses `entry` into `text`, which has room for `capacity` bytes. Returns the length, or
 * 0. */
static size_t unpack(const struct choice *choice, size_t stored, char *text, size_t capacity)
{
    if (choice->entry.flags & FLAG_ZSTD) {
        const size_t got = ZSTD_decompress(text, capacity, choice->payload, stored);
        return ZSTD_isError(got) ? 0 : got;
    }
    if (choice->entry.flags & FLAG_LZ4) {
        const int got = LZ4_decompress_safe((const char *)choice->payload, text, (int)stored, (int)capacity);
        return got < 0 ? 0 : (size_t)got;
    }
    memcpy(text, choice->payload, stored);
    return stored;
}

/* PTX is a text, which ends at a NUL; machine code has the length that its entry states. */
static enum sc_fatbin_status take_entry(const struct choice *choice, struct sc_fatbin_image *out,
                                        const struct request *request)
{
    const struct entry_header *entry = &choice->entry;
    const bool compressed = (entry->flags & (FLAG_ZSTD | FLAG_LZ4)) != 0;
    const bool is_text = entry->kind == ENTRY_PTX;
    const uint64_t stored =
        compressed && entry->compressed_bytes ? entry->compressed_bytes : entry->payload_bytes;
    const uint64_t capacity = compressed ? entry->uncompressed_bytes : stored;
    if (stored > entry->payload_bytes || capacity > MAX_ENTRY_BYTES || stored > MAX_ENTRY_BYTES)
        return fail(request, SC_FATBIN_CORRUPT,
                    "fat binary: entry at offset %zu has impossible sizes (%llu of %llu)", choice->offset,
                    (unsigned long long)stored, (unsigned long long)capacity);
    char *text = malloc((size_t)capacity + 1);
    if (!text)
        return fail(request, SC_FATBIN_NO_MEMORY, "fat binary: no memory for %llu bytes of %s",
                    (unsigned long long)capacity, is_text ? "PTX" : "machine code");
    const size_t unpacked = unpack(choice, (size_t)stored, text, (size_t)capacity);
    const size_t length = is_text ? strnlen(text, unpacked) : unpacked;
    if (length == 0) {
        free(text);
        return fail(request, SC_FATBIN_CORRUPT,
                    "fat binary: the %s of the entry at offset %zu does not unpack",
                    is_text ? "PTX" : "machine code", choice->offset);
    }
    text[length] = '\0';
    *out = (struct sc_fatbin_image){.text = text, .bytes = length, .arch = entry->arch};
    return SC_FATBIN_OK;
}

static enum sc_fatbin_status read_container(const unsigned char *container, size_t readable,
                                            struct sc_fatbin_image *out, const struct request *request)
{
    struct container_header header;
    if (readable < sizeof header)
        return fail(request, SC_FATBIN_CORRUPT, "fat binary: cut off after %zu bytes, in its header",
                    readable);
    memcpy(&header, container, sizeof header);
    if (header.version != 1 || header.header_bytes < sizeof header || header.header_bytes > readable)
        return fail(request, SC_FATBIN_CORRUPT,
                    "fat binary: header at offset 0 of version %u with %u bytes is not known", header.version,
                    header.header_bytes);
    if (header.payload_bytes > readable - header.header_bytes)
        return fail(request, SC_FATBIN_CORRUPT,
                    "fat binary: header at offset 0 claims %llu bytes where %zu are there",
                    (unsigned long long)header.payload_bytes, readable - header.header_bytes);
    const size_t end = header.header_bytes + (size_t)header.payload_bytes;
    struct choice choice = {.found = false};
    for (size_t offset = header.header_bytes; offset < end;) {
        const enum sc_fatbin_status status = read_entry(container, end, &offset, &choice, request);
        if (status != SC_FATBIN_OK) return status;
    }
    if (!choice.found && choice.machine_code_count)
        return fail(
            request, SC_FATBIN_NO_PTX,
            "the program holds machine code only (sm_%u), which needs a real GPU: build it with PTX inside, "
            "for example -gencode arch=compute_75,code=compute_75; SOFTCUDA_EXECUTE=sample does without its "
            "results",
            choice.machine_code_arch);
    if (!choice.found)
        return fail(request, SC_FATBIN_NO_PTX, "the fat binary holds neither PTX nor machine code");
    return take_entry(&choice, out, request);
}

static bool looks_like_text(const unsigned char *bytes, size_t readable)
{
    size_t i = 0;
    while (i < readable && bytes[i] != '\0' && isspace(bytes[i])) i++;
    return i < readable && (bytes[i] == '.' || bytes[i] == '/');
}

/* Copies an image that is nothing but what is wanted. */
static enum sc_fatbin_status copy_whole(const unsigned char *bytes, size_t length,
                                        struct sc_fatbin_image *out, const struct request *request)
{
    char *text = malloc(length + 1);
    if (!text) return fail(request, SC_FATBIN_NO_MEMORY, "no memory for an image of %zu bytes", length);
    memcpy(text, bytes, length);
    text[length] = '\0';
    *out = (struct sc_fatbin_image){.text = text, .bytes = length};
    return SC_FATBIN_OK;
}

static enum sc_fatbin_status read_cubin(const unsigned char *image, size_t readable,
                                        struct sc_fatbin_image *out, const struct request *request)
{
    if (request->wanted == ENTRY_PTX)
        return fail(request, SC_FATBIN_NO_PTX,
                    "a cubin (ELF) holds machine code only, which needs a real GPU: load PTX or a fat binary "
                    "with PTX; SOFTCUDA_EXECUTE=sample does without its results");
    const size_t bytes = sc_cubin_bytes(image, readable);
    if (!bytes)
        return fail(request, SC_FATBIN_CORRUPT,
                    "cubin: its header at offset 0 claims more than the %zu bytes that are there", readable);
    return copy_whole(image, bytes, out, request);
}

/* Reads one image that is not a wrapper. `readable` is SIZE_MAX if only the image itself states its length:
 * it is not believed beyond the end of the memory that holds the image. */
static enum sc_fatbin_status read_image(const unsigned char *image, size_t readable,
                                        struct sc_fatbin_image *out, const struct request *request)
{
    uint32_t magic = 0;
    if (readable == SIZE_MAX) {
        readable = sc_readable_bytes(request->known, image);
        if (!readable)
            return fail(request, SC_FATBIN_UNKNOWN, "no memory can be read at the image's address");
    }
    for (size_t i = 0; i < sizeof magic && i < readable; i++) {
        magic |= (uint32_t)image[i] << (8 * i);
        if (image[i] == '\0') break; /* a text may be shorter than the magic number */
    }
    if (magic == CONTAINER_MAGIC) return read_container(image, readable, out, request);
    if (magic == ELF_MAGIC) return read_cubin(image, readable, out, request);
    if (looks_like_text(image, readable) && request->wanted == ENTRY_PTX)
        return copy_whole(image, strnlen((const char *)image, readable), out, request);
    return fail(request, SC_FATBIN_UNKNOWN,
                "neither a fat binary nor PTX nor a cubin (it begins with 0x%08x)", magic);
}

/* Whether the image is a wrapper, which is then copied. */
static bool is_wrapper(const void *image, struct sc_readable *known, struct wrapper *out)
{
    const size_t readable = sc_readable_bytes(known, image);
    if (readable < sizeof out->magic) return false;
    memcpy(&out->magic, image, sizeof out->magic);
    if (out->magic != WRAPPER_MAGIC || readable < sizeof *out) return false;
    memcpy(out, image, sizeof *out);
    return true;
}

/* Unwraps a member of a wrapper's `extra` array, which may be a wrapper itself. */
static const void *unwrapped(const void *image, struct sc_readable *known)
{
    struct wrapper wrapper;
    return is_wrapper(image, known, &wrapper) ? wrapper.container : image;
}

static size_t count_members(const void *const *members, struct sc_readable *known)
{
    size_t count = 0, most = sc_readable_bytes(known, members) / sizeof *members;
    while (count < MAX_UNITS && count < most && members[count]) count++;
    return count;
}

/* The units of a program that was linked for the device. Their machine code was linked too: it is in the
 * container, to which the wrapper points. */
static enum sc_fatbin_status read_wrapper(const struct wrapper *wrapper, struct sc_fatbin_images *out,
                                          const struct request *request)
{
    const bool linked = wrapper->version >= 2 && wrapper->extra && request->wanted == ENTRY_PTX;
    size_t count = linked ? count_members(wrapper->extra, request->known) : 0;
    const void *const *members = count ? wrapper->extra : &wrapper->container;
    if (count == 0) count = 1;

    struct sc_fatbin_images images = {.items = calloc(count, sizeof *images.items)};
    if (!images.items)
        return fail(request, SC_FATBIN_NO_MEMORY, "fat binary: no memory for %zu images", count);
    enum sc_fatbin_status status = SC_FATBIN_OK;
    for (size_t i = 0; i < count; i++) {
        const void *member = members[i] ? unwrapped(members[i], request->known) : NULL;
        status = member ? read_image(member, SIZE_MAX, &images.items[images.count], request)
                        : fail(request, SC_FATBIN_CORRUPT, "fat binary: the wrapper names no container");
        if (status == SC_FATBIN_OK) images.count++;
        /* A unit without PTX, such as nvcc's device runtime, is an error only if no unit has any. */
        if (status != SC_FATBIN_OK && status != SC_FATBIN_NO_PTX) break;
    }
    if (status == SC_FATBIN_NO_PTX && images.count) status = SC_FATBIN_OK;
    if (status != SC_FATBIN_OK) {
        sc_fatbin_images_free(&images);
        return status;
    }
    *out = images;
    return SC_FATBIN_OK;
}

static enum sc_fatbin_status read_single(const void *image, size_t readable, struct sc_fatbin_images *out,
                                         const struct request *request)
{
    struct sc_fatbin_image *item = calloc(1, sizeof *item);
    if (!item) return fail(request, SC_FATBIN_NO_MEMORY, "no memory for an image");
    const enum sc_fatbin_status status = read_image(image, readable, item, request);
    if (status != SC_FATBIN_OK) {
        free(item);
        return status;
    }
    *out = (struct sc_fatbin_images){.items = item, .count = 1};
    return SC_FATBIN_OK;
}

static enum sc_fatbin_status read_any(const void *image, struct request *request,
                                      struct sc_fatbin_images *out)
{
    struct sc_readable known = {0};
    struct wrapper wrapper;
    request->known = &known;
    if (!image) return fail(request, SC_FATBIN_UNKNOWN, "no image was given");
    if (is_wrapper(image, &known, &wrapper)) return read_wrapper(&wrapper, out, request);
    return read_single(image, SIZE_MAX, out, request);
}

enum sc_fatbin_status sc_fatbin_ptx(const void *image, unsigned arch, struct sc_fatbin_images *out, char *why,
                                    size_t why_bytes)
{
    struct request request = {ENTRY_PTX, arch, NULL, why, why_bytes};
    return read_any(image, &request, out);
}

enum sc_fatbin_status sc_fatbin_ptx_bounded(const void *image, size_t bytes, unsigned arch,
                                            struct sc_fatbin_images *out, char *why, size_t why_bytes)
{
    const struct request request = {ENTRY_PTX, arch, NULL, why, why_bytes};
    return read_single(image, bytes, out, &request);
}

enum sc_fatbin_status sc_fatbin_cubin(const void *image, size_t bytes, unsigned arch,
                                      struct sc_fatbin_images *out, char *why, size_t why_bytes)
{
    struct request request = {ENTRY_ELF, arch, NULL, why, why_bytes};
    return bytes ? read_single(image, bytes, out, &request) : read_any(image, &request, out);
}

void sc_fatbin_images_free(struct sc_fatbin_images *images)
{
    for (size_t i = 0; i < images->count; i++) free(images->items[i].text);
    free(images->items);
    *images = (struct sc_fatbin_images){0};
}
