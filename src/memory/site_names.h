/* Names of allocations at sites whose sizes vary. Where batches are padded to their longest, a tensor has
 * another size in each step, and so, by site and size, another slot. Its name must not change: it is the
 * number of the allocation among those that live of its site, whatever their sizes. A number is shown to
 * others as a slot, its representative: the first one that had it, or another one if that is the name of
 * another number already. Caller holds the order lock. */
#ifndef SLUICE_SITE_NAMES_H
#define SLUICE_SITE_NAMES_H

#include "base/types.h"

/* Ages that a free shifts; if more are younger, the youngest fills the gap. */
#define SL_MOST_YOUNGER 256

struct sl_site_names {
    struct sl_site_sizes {
        uint64_t first_at; /* allocations before its first one */
        uint32_t sizes;    /* that it allocated in its first step */
        uint32_t later;    /* further ones since */
        bool freed;        /* one of its allocations was freed */
        bool by_number;    /* not by age: it allocated more than tiny ones */
        struct sl_site_number {
            uint64_t most_bytes; /* that an allocation had */
            uint32_t name, live; /* its representative; the live slot, or SL_NONE */
        } * numbers;
        uint32_t count, capacity, live_count;
        uint32_t lowest_free; /* all lower numbers are in use */
    } * sites;                /* by index of the site, see site_groups.h */
    uint32_t count, capacity;
    uint32_t more_sizes; /* of sites that vary */
    bool vary;           /* sizes vary from step to step */
};

void sl_site_names_free(struct sl_site_names *names); /* accepts zeroed ones */

/* An allocation of the site has a size that it had not before; `allocations` were made so far, of all sites.
 * False: out of memory. */
bool sl_site_names_note_size(struct sl_site_names *names, uint32_t site, bool tiny, uint64_t allocations);
/* One of its allocations was freed. */
void sl_site_names_note_free(struct sl_site_names *names, uint32_t site);
/* Whether the site's allocations are named by number. Every site that had another size is from the moment on
 * at which sizes vary: as long as some of a step's allocations have other names in each step, launches that
 * use them are not foreseen. */
static inline bool sl_site_varies(const struct sl_site_names *names, uint32_t site)
{
    return names->vary && site < names->count && names->sites[site].freed && names->sites[site].later;
}

/* Gives the live slot, of `bytes`, the number `wanted`, or the lowest one if that is in use or SL_NONE. If
 * the number has no name yet, SL_NONE, the caller sets it. SL_NONE: out of memory. Precondition: the site
 * varies. */
uint32_t sl_site_names_take(struct sl_site_names *names, uint32_t site, uint32_t slot, uint64_t bytes,
                            uint32_t wanted);
/* Where all allocations of the site are tiny, their numbers are their ages: those of younger ones become less
 * by one, or, if there are many, the youngest gets this number. The caller has to note that. */
void sl_site_names_give_back(struct sl_site_names *names, uint32_t site, uint32_t number);
/* The name of an allocation with this number at its free: by age, that of the youngest. */
uint32_t sl_site_names_freed(const struct sl_site_names *names, uint32_t site, uint32_t number);

#endif
