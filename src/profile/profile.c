#include "profile/profile.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct sl_file_kind sl_file_profile = SL_FILE_KIND("no profile", SL_PROFILE_MAGIC);

/* Frees what belongs to a device. */
static void free_content(struct sl_profile *p)
{
    for (uint32_t i = 0; i < p->kernel_count; i++) {
        free(p->kernels[i].name);
        free(p->kernels[i].offsets);
    }
    free(p->kernels);
    free(p->keys);
    free(p->symbols);
    free(p->accesses);
    free(p->string);
}

void sl_profile_free(struct sl_profile *p)
{
    for (uint32_t i = 0; i < p->object_count; i++) free(p->objects[i].name);
    for (uint32_t i = 0; i < p->other_count; i++) free_content(&p->others[i]);
    free_content(p);
    free(p->sluice);
    free(p->command);
    free(p->wanted.backing);
    free(p->objects);
    free(p->others);
    *p = (struct sl_profile){0};
}

/* The fields that a device has of its own: those from `properties` to `others`. */
static void move_content(struct sl_profile *to, struct sl_profile *from)
{
    size_t begin = offsetof(struct sl_profile, properties), end = offsetof(struct sl_profile, others);
    memcpy((char *)to + begin, (char *)from + begin, end - begin);
    memset((char *)from + begin, 0, end - begin);
}

bool sl_profile_take_device(struct sl_profile *from, uint32_t device, struct sl_profile *out)
{
    *out = (struct sl_profile){0};
    if (device > from->other_count) return false;
    move_content(out, device ? &from->others[device - 1] : from);
    return true;
}

enum sl_status sl_profile_put_device(struct sl_profile *to, uint32_t device, struct sl_profile *from)
{
    if (device > SL_PROFILE_MOST_OTHERS) return SL_ERR_UNSUPPORTED;
    if (device > to->other_count) {
        struct sl_profile *larger = realloc(to->others, device * sizeof *larger);
        if (!larger) return SL_ERR_NO_MEMORY;
        memset(larger + to->other_count, 0, (device - to->other_count) * sizeof *larger);
        to->others = larger;
        to->other_count = device;
    }
    struct sl_profile *place = device ? &to->others[device - 1] : to;
    free_content(place);
    move_content(place, from);
    return SL_OK;
}

uint32_t sl_profile_slots(const struct sl_profile *p)
{
    uint32_t slots = 0;
    for (uint32_t k = 0; k < p->key_count; k++) slots += p->keys[k].slots;
    return slots;
}
