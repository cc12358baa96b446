/* User-defined reduction operations, and memory allocation. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "element.h"
#include "errors.h"
#include "gate.h"

/* Index of a free entry; comm->factor_count if there is no memory. pre: the lock is held. */
static size_t find_place(ncclComm_t comm)
{
    for (size_t i = 0; i < comm->factor_count; i++)
        if (!comm->factors[i].used) return i;
    size_t count = comm->factor_count ? 2 * comm->factor_count : 4;
    struct sc_factor *factors = realloc(comm->factors, count * sizeof *factors);
    if (!factors) return comm->factor_count;
    memset(factors + comm->factor_count, 0, (count - comm->factor_count) * sizeof *factors);
    size_t place = comm->factor_count;
    comm->factors = factors;
    comm->factor_count = count;
    return place;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm)
{
    ncclResult_t result = sc_comm_ready(comm, "ncclRedOpCreatePreMulSum");
    if (result) return result;
    bool is_address = residence == ncclScalarDevice;
    if (!op || !scalar || (unsigned)type >= ncclNumTypes ||
        (!is_address && residence != ncclScalarHostImmediate))
        return sc_fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: type %d, residence %d", (int)type,
                       (int)residence);
    struct sc_factor factor = {.used = true, .is_address = is_address, .type = (uint8_t)type};
    if (is_address)
        factor.factor = (uint64_t)scalar;
    else
        memcpy(&factor.factor, scalar, sc_type_bytes((uint8_t)type));
    pthread_mutex_lock(&comm->lock);
    size_t place = find_place(comm);
    bool ok = place < comm->factor_count;
    if (ok) {
        comm->factors[place] = factor;
        *op = (ncclRedOp_t)(ncclNumOps + (int)place);
    }
    pthread_mutex_unlock(&comm->lock);
    return ok ? ncclSuccess : sc_fail(ncclSystemError, "ncclRedOpCreatePreMulSum: no memory");
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    ncclResult_t result = sc_comm_check(comm, "ncclRedOpDestroy");
    if (result) return result;
    pthread_mutex_lock(&comm->lock);
    size_t place = (size_t)op - ncclNumOps;
    bool known = (unsigned)op >= ncclNumOps && place < comm->factor_count && comm->factors[place].used;
    if (known) comm->factors[place].used = false;
    pthread_mutex_unlock(&comm->lock);
    return known ? ncclSuccess : sc_fail(ncclInvalidArgument, "ncclRedOpDestroy: no such operation");
}

ncclResult_t ncclMemAlloc(void **memory, size_t bytes)
{
    if (!memory || !bytes) return sc_fail(ncclInvalidArgument, "ncclMemAlloc: %zu bytes", bytes);
    ncclResult_t result = sc_gate_open();
    if (!result) result = sc_gate_allocate(memory, bytes);
    return result ? sc_fail(result, "ncclMemAlloc: no memory") : ncclSuccess;
}

ncclResult_t ncclMemFree(void *memory)
{
    if (!memory) return ncclSuccess;
    ncclResult_t result = sc_gate_open();
    if (!result) result = sc_gate_free(memory);
    return result ? sc_fail(result, "ncclMemFree: not memory of ncclMemAlloc") : ncclSuccess;
}

/* Registration has no effect: any memory that the device can access may be passed. */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t bytes, void **handle)
{
    ncclResult_t result = sc_comm_ready(comm, "ncclCommRegister");
    if (result) return result;
    if (!buffer || !bytes || !handle)
        return sc_fail(ncclInvalidArgument, "ncclCommRegister: %zu bytes", bytes);
    struct sc_registration *registration = malloc(sizeof *registration);
    if (!registration) return sc_fail(ncclSystemError, "ncclCommRegister: no memory");
    pthread_mutex_lock(&comm->lock);
    registration->next = comm->registrations;
    comm->registrations = registration;
    pthread_mutex_unlock(&comm->lock);
    *handle = registration;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    ncclResult_t result = sc_comm_check(comm, "ncclCommDeregister");
    if (result || !handle) return result;
    pthread_mutex_lock(&comm->lock);
    struct sc_registration **at = &comm->registrations;
    while (*at && *at != handle) at = &(*at)->next;
    bool known = *at;
    if (known) *at = (*at)->next;
    pthread_mutex_unlock(&comm->lock);
    if (!known)
        return sc_fail(ncclInvalidArgument, "ncclCommDeregister: not a registration of this communicator");
    free(handle);
    return ncclSuccess;
}
