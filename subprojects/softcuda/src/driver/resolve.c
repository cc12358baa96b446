/* The table of API functions, and their lookup by the program. */
#include <string.h>

#include "api.h"
#include "foreign_runtime.h"
#include "native.h"
#include "options.h"
#include "resolve.h"

/* Lookups return the symbols that gate.S exports. */
#define SC_API(name, symbol, version, streams) extern const char sc_exported_##symbol[] __asm__(#symbol);
#include "api_built.def"
#include "api_refused.def"
#undef SC_API

#define LEGACY false
#define PER_THREAD true

static const struct sc_api_row table[] = {
#define SC_API(name, symbol, version, streams)                                                               \
    {#name, #symbol, version, streams, (void *)sc_exported_##symbol},
#include "api_built.def"
#include "api_refused.def"
#undef SC_API
};

const struct sc_api_row *sc_api_find(const char *name, int version, bool per_thread,
                                     CUdriverProcAddressQueryResult *status)
{
    const struct sc_api_row *best[2] = {NULL, NULL};
    const int newest = sc_options()->driver_version;
    bool known = false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct sc_api_row *row = &table[i];
        if (strcmp(row->name, name) || row->version > newest) continue;
        known = true;
        if (row->version > version) continue;
        const struct sc_api_row **slot = &best[row->per_thread];
        if (!*slot || (*slot)->version < row->version) *slot = row;
    }
    /* If there is no per-thread form, the ordinary form is returned. */
    const struct sc_api_row *found = per_thread && best[1] ? best[1] : best[0];
    *status = found   ? CU_GET_PROC_ADDRESS_SUCCESS
              : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found;
}

/* Does not initialise anything: programs look up symbols before they fork. */
CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status)
{
    cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CUdriverProcAddressQueryResult unused;
    if (!status) status = &unused;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!name || !function || flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    const struct sc_api_row *row =
        sc_api_find(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, status);
    *function = row ? row->function : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* The vendor's undocumented tables do not exist here; the only table is for softcuda's own libraries. */
CUresult CUDAAPI cuGetExportTable(const void **table_out, const CUuuid *id)
{
    if (!table_out || !id) return CUDA_ERROR_INVALID_VALUE;
    static const unsigned char native[] = SC_NATIVE_TABLE_ID;
    if (!memcmp(id, native, sizeof native)) {
        *table_out = sc_native_table_get();
        return CUDA_SUCCESS;
    }
    *table_out = NULL;
    sc_foreign_runtime(__builtin_return_address(0));
    return CUDA_ERROR_NOT_SUPPORTED;
}
