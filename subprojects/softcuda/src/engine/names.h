/* Names in scopes: registers, labels, variables and parameters while a function is read. */
#ifndef SOFTCUDA_ENGINE_NAMES_H
#define SOFTCUDA_ENGINE_NAMES_H

#include "lex.h"
#include "vec.h"

enum sc_name_kind {
    SC_NAME_REGISTER, /* index: value */
    SC_NAME_RANGE,    /* %r<count>: index of the first value */
    SC_NAME_LABEL,    /* index: label */
    SC_NAME_SHARED,   /* offset in shared memory */
    SC_NAME_DYNAMIC,  /* extern shared: follows the static part */
    SC_NAME_LOCAL,    /* offset in the thread's local memory */
    SC_NAME_GLOBAL,   /* address of a module variable, .global or .const */
    SC_NAME_PARAM,    /* offset in the parameter block */
    SC_NAME_TABLE,    /* .branchtargets: index of the first, count */
    SC_NAME_FUNCTION, /* index of a .func */
    SC_NAME_MESSAGE,  /* parameter of a call: offset in local memory */
};

struct sc_name {
    const char *text;
    uint32_t bytes;
    uint32_t depth; /* scope */
    uint32_t next;  /* in its bucket, older; UINT32_MAX ends */
    uint32_t hash;
    enum sc_name_kind kind;
    uint32_t index, count;
    uint64_t offset;
    uint64_t size;
    const char *unit; /* the end of the text that alone knows it, or NULL: all do */
};

#define SC_NAME_BUCKETS 4096u /* a power of two */

struct sc_names {
    sc_vec(struct sc_name) all;
    uint32_t buckets[SC_NAME_BUCKETS];
    uint32_t depth;
    const char
        *unit;  /* the end of the text that is being read: what one text does not export others do not see */
    bool local; /* names added outside all scopes are of this text alone */
};

void sc_names_init(struct sc_names *names);
void sc_names_free(struct sc_names *names);
void sc_names_enter(struct sc_names *names);
void sc_names_leave(struct sc_names *names); /* forgets the innermost scope */

/* Adds to the innermost scope; NULL when there is no memory. The pointer is valid until the next addition. */
struct sc_name *sc_names_add(struct sc_names *names, const char *text, uint32_t bytes,
                             enum sc_name_kind kind);

/* The innermost name, or NULL. */
struct sc_name *sc_names_find(struct sc_names *names, const char *text, uint32_t bytes);

#endif
