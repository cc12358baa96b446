/* Scoped symbol table: registers, labels, variables and parameters while a function is read. */
#ifndef SOFTCUDA_ENGINE_NAMES_H
#define SOFTCUDA_ENGINE_NAMES_H

#include "lex.h"
#include "vec.h"

enum sc_name_kind {
    SC_NAME_REGISTER, /* index: value */
    SC_NAME_RANGE,    /* %r<count>: index is the first value */
    SC_NAME_LABEL,    /* index: label */
    SC_NAME_SHARED,   /* offset in shared memory */
    SC_NAME_DYNAMIC,  /* extern shared: follows the static part */
    SC_NAME_LOCAL,    /* offset in the thread's local memory */
    SC_NAME_GLOBAL,   /* index of a module variable, .global or .const */
    SC_NAME_PARAM,    /* offset in the parameter block */
    SC_NAME_TABLE,    /* .branchtargets: index of the first label, and count */
    SC_NAME_FUNCTION, /* index of a .func */
    SC_NAME_MESSAGE,  /* call parameter: offset in local memory */
};

struct sc_name {
    const char *text;
    uint32_t bytes;
    uint32_t depth; /* scope */
    uint32_t next;  /* index of the next older name in its bucket; UINT32_MAX: none */
    uint32_t hash;
    enum sc_name_kind kind;
    uint32_t index, count;
    uint64_t offset;
    uint64_t size;
    const char *unit; /* end of the text that the name is local to, or NULL: visible to all texts */
};

#define SC_NAME_BUCKETS 4096u /* a power of two */

struct sc_names {
    sc_vec(struct sc_name) all;
    uint32_t buckets[SC_NAME_BUCKETS];
    uint32_t depth;
    const char *unit; /* end of the current text; names that a text does not export are invisible to others */
    bool local;       /* names added outside of all scopes are local to the text */
};

void sc_names_init(struct sc_names *names);
void sc_names_free(struct sc_names *names);
void sc_names_enter(struct sc_names *names);
void sc_names_leave(struct sc_names *names); /* removes the innermost scope */

/* Adds a name to the innermost scope; NULL: no memory. The pointer is valid until the next addition. */
struct sc_name *sc_names_add(struct sc_names *names, const char *text, uint32_t bytes,
                             enum sc_name_kind kind);

/* Finds a name, innermost scope first, or returns NULL. */
struct sc_name *sc_names_find(struct sc_names *names, const char *text, uint32_t bytes);

#endif
