/* Fat binaries: the images that nvcc embeds in a program and that cuModuleLoadData and cuLibraryLoadData
 * receive.
 *
 * An image is one of
 *
 *   - a wrapper `{u32 0x466243b1; u32 version; void *container; void *extra}`, as registered by a program; in
 *     version 2 `extra` is a NULL-terminated array of further fat binaries: translation units to be linked,
 *   - a bare container `{u32 0xBA55ED50; ...; u64 bytes}` with entries for several architectures,
 *   - PTX text that ends with a NUL,
 *   - a cubin (ELF), which holds machine code only.
 *
 * Nothing in an image is trusted: every read is checked against the size in the container's header, and that
 * against the memory that can be read there. Thread safety: all functions are pure.
 */
#ifndef SOFTCUDA_FATBIN_H
#define SOFTCUDA_FATBIN_H

#include <stddef.h>

enum sc_fatbin_status {
    SC_FATBIN_OK = 0,
    SC_FATBIN_UNKNOWN, /* neither a fat binary nor PTX nor ELF */
    SC_FATBIN_CORRUPT, /* a fat binary whose sizes, offsets or compressed data are wrong */
    SC_FATBIN_NO_PTX,  /* machine code only: needs a real GPU */
    SC_FATBIN_NO_MEMORY,
};

struct sc_fatbin_image {
    char *text;    /* PTX or a cubin; behind it is a NUL */
    size_t bytes;  /* without the NUL */
    unsigned arch; /* 75 for compute_75; 0 for plain text and a plain cubin, which state it themselves */
};

/* One PTX text per translation unit: exactly one, except for a wrapper of version 2. */
struct sc_fatbin_images {
    struct sc_fatbin_image *items;
    size_t count;
};

/* Parses `image` and copies the PTX that fits a device of compute capability `arch` best (80 for 8.0; 0: no
 * preference): the newest that is not newer than the device, else the oldest. Architecture-specific variants
 * ("sm_90a") are chosen only if there is nothing else. On success *out is set and owned by the caller
 * (sc_fatbin_images_free). Otherwise *out is unchanged and `why`, of `why_bytes` bytes, receives one line
 * with the error and its offset. */
enum sc_fatbin_status sc_fatbin_ptx(const void *image, unsigned arch, struct sc_fatbin_images *out, char *why,
                                    size_t why_bytes);

/* The same for a container, text or ELF of which only `bytes` bytes are readable, such as a file. Text needs
 * no NUL. A wrapper is refused as SC_FATBIN_UNKNOWN, because it holds addresses. */
enum sc_fatbin_status sc_fatbin_ptx_bounded(const void *image, size_t bytes, unsigned arch,
                                            struct sc_fatbin_images *out, char *why, size_t why_bytes);

/* The same for machine code, of which *out then holds one cubin: the newest that is not newer than the
 * device, else the oldest. Its contents are not checked (cubin.h). `bytes` 0: the size of the image is not
 * known. SC_FATBIN_NO_PTX: there is none. */
enum sc_fatbin_status sc_fatbin_cubin(const void *image, size_t bytes, unsigned arch,
                                      struct sc_fatbin_images *out, char *why, size_t why_bytes);

/* Frees what *images owns and empties it; accepts an empty one. */
void sc_fatbin_images_free(struct sc_fatbin_images *images);

#endif
