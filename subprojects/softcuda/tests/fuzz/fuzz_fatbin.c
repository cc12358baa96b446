/* The fat binary reader on arbitrary bytes. */
#include "fatbin.h"
#include "fuzz.h"

#include <sys/mman.h>

#define PAGE 4096u
#define ROOM (64 * PAGE)

/* The same bytes just before the end of what can be read, with no length but the one in their header. */
static void read_at_the_end(const uint8_t *data, size_t bytes, unsigned arch)
{
    static uint8_t *room;
    struct sc_fatbin_images images = {0};
    char why[128] = "";
    if (!room) {
        void *made = mmap(NULL, ROOM + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED || mprotect(made, ROOM, PROT_READ | PROT_WRITE)) abort();
        room = made;
    }
    if (!bytes || bytes > ROOM) return;
    uint8_t *at = room + ROOM - bytes;
    memcpy(at, data, bytes);
    if (bytes >= 4 && at[0] == 0xb1 && at[1] == 0x43) return; /* a wrapper holds addresses */
    if (sc_fatbin_ptx(at, arch, &images, why, sizeof why) == SC_FATBIN_OK)
        sc_fatbin_images_free(&images);
    else if (images.items || why[0] == '\0')
        __builtin_trap();
    why[0] = '\0';
    if (sc_fatbin_cubin(at, 0, arch, &images, why, sizeof why) == SC_FATBIN_OK)
        sc_fatbin_images_free(&images);
    else if (images.items || why[0] == '\0')
        __builtin_trap();
}

static void read_machine_code(const uint8_t *data, size_t bytes, unsigned arch)
{
    struct sc_fatbin_images images = {0};
    char why[128] = "";
    if (!bytes) return;
    if (sc_fatbin_cubin(data, bytes, arch, &images, why, sizeof why) == SC_FATBIN_OK) {
        if (images.count != 1 || !images.items[0].bytes) __builtin_trap();
        sc_fatbin_images_free(&images);
    } else if (images.items || why[0] == '\0') {
        __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const unsigned archs[] = {0, 80, 90};
    struct sc_fatbin_images images = {0};
    char why[128] = "";
    const unsigned arch = archs[bytes % 3];
    read_at_the_end(data, bytes, arch);
    read_machine_code(data, bytes, arch);
    if (sc_fatbin_ptx_bounded(data, bytes, arch, &images, why, sizeof why) != SC_FATBIN_OK) {
        if (images.items || why[0] == '\0') __builtin_trap();
        return 0;
    }
    if (images.count != 1 || strlen(images.items[0].text) != images.items[0].bytes) __builtin_trap();
    sc_fatbin_images_free(&images);
    return 0;
}
