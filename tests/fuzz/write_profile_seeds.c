/* Seeds for fuzz-profile: the unpacked bytes of a profile with something of everything, and of an empty one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "profile/profile.h"
#include "profile_sample.h"

static void write_payload(const char *folder, const char *name, const struct sl_profile *profile)
{
    uint8_t *bytes;
    size_t count;
    char path[4096];
    uint64_t payload_bytes;
    if (sl_profile_encode(profile, &bytes, &count)) abort();
    memcpy(&payload_bytes, bytes + 16, sizeof payload_bytes);
    uint8_t *payload = malloc(payload_bytes + 1);
    if (!payload || ZSTD_decompress(payload, payload_bytes, bytes + 40, count - 40) != payload_bytes) abort();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (!file || fwrite(payload, 1, payload_bytes, file) != payload_bytes || fclose(file)) abort();
    free(payload);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    struct sl_profile sample = profile_sample(), nothing = {0};
    write_payload(argv[1], "sample", &sample);
    write_payload(argv[1], "nothing", &nothing);
    sl_profile_free(&sample);
    return 0;
}
