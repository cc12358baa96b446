/* The set of valid handles. It recognises a destroyed or foreign handle without dereferencing it. pre: the
 * driver's lock is held. */
#ifndef SOFTCUDA_HANDLE_H
#define SOFTCUDA_HANDLE_H

#include <stdbool.h>

enum sc_handle_kind {
    SC_HANDLE_NONE,
    SC_HANDLE_CONTEXT,
    SC_HANDLE_STREAM,
    SC_HANDLE_EVENT,
    SC_HANDLE_MODULE,
    SC_HANDLE_LIBRARY,
    SC_HANDLE_LINK,
    SC_HANDLE_FUNCTION,
    SC_HANDLE_KERNEL,
    SC_HANDLE_POOL,
    SC_HANDLE_GRAPH,
    SC_HANDLE_NODE,
    SC_HANDLE_EXEC,
    SC_HANDLE_USER_OBJECT,
    SC_HANDLE_PHYSICAL,
};

bool sc_handle_add(const void *handle, enum sc_handle_kind kind); /* false: no memory */
void sc_handle_remove(const void *handle);
bool sc_handle_is(const void *handle, enum sc_handle_kind kind);

#endif
