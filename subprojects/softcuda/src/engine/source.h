/* Parsed PTX: what the functions of a module are compiled from. */
#ifndef SOFTCUDA_ENGINE_SOURCE_H
#define SOFTCUDA_ENGINE_SOURCE_H

#include <pthread.h>

#include "build.h"

/* A variable of the module's scope, .global or .const */
struct sc_variable {
    char *name;
    uint64_t bytes, align;
    bool managed;
    sc_vec(unsigned char) initial; /* the first of its bytes; all others are zero */
};

/* An address in an initial value, of a variable or a .func */
struct sc_fixup {
    uint32_t variable; /* whose initial value it is part of */
    uint64_t offset;
    bool function;
    uint32_t index; /* of the variable or .func whose address it is */
    int64_t addend;
};

/* What is in front of an entry's body */
struct sc_signature {
    sc_vec(struct sc_parameter) parameters;
    uint32_t parameter_bytes, max_threads;
};

struct sc_entry {
    char *name;
    struct sc_lexer at;                 /* position of its name */
    struct sc_device_function function; /* what the scan of its body found */
    struct sc_signature signature;
};

struct sc_source {
    unsigned refs; /* atomic */
    char *text;    /* all texts, one after the other */
    sc_vec(struct sc_entry) entries;
    sc_vec(struct sc_variable) variables;
    sc_vec(struct sc_fixup) fixups;
    uint32_t constant_bytes;
    pthread_mutex_t lock;  /* guards `build`, in which one function at a time is compiled */
    struct sc_build build; /* symbols, .funcs and the call graph; and the function that is being compiled */
};

#endif
