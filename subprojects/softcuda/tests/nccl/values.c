/* Compiled with softcuda's header and with the vendor's, where there is one: prints what binds a program to
 * either. */
#include NCCL_HEADER
#include <stddef.h>
#include <stdio.h>

#define NUMBER(value) printf(#value " %lld\n", (long long)(value))

int main(void)
{
    static const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    static const ncclSimInfo_t simulation = NCCL_SIM_INFO_INITIALIZER;
    static const ncclResult_t results[] = {ncclSuccess,       ncclUnhandledCudaError, ncclSystemError,
                                           ncclInternalError, ncclInvalidArgument,    ncclInvalidUsage,
                                           ncclRemoteError,   ncclInProgress,         ncclNumResults};
    static const ncclDataType_t types[] = {
        ncclInt8,    ncclChar,   ncclUint8,    ncclInt32,      ncclInt,        ncclUint32,
        ncclInt64,   ncclUint64, ncclFloat16,  ncclHalf,       ncclFloat32,    ncclFloat,
        ncclFloat64, ncclDouble, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2, ncclNumTypes};
    static const ncclRedOp_t operations[] = {ncclSum, ncclProd,   ncclMax,     ncclMin,
                                             ncclAvg, ncclNumOps, ncclMaxRedOp};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) NUMBER(results[i]);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) NUMBER(types[i]);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) NUMBER(operations[i]);
    NUMBER(ncclScalarDevice);
    NUMBER(ncclScalarHostImmediate);
    NUMBER(sizeof(ncclUniqueId));
    NUMBER(sizeof(ncclRedOp_t));
    NUMBER(NCCL_VERSION_CODE);
    NUMBER(NCCL_SPLIT_NOCOLOR);
    NUMBER(NCCL_WIN_COLL_SYMMETRIC);
    NUMBER(NCCL_WIN_REQUIRED_ALIGNMENT);
    NUMBER(NCCL_CTA_POLICY_ZERO);
    NUMBER(NCCL_SHRINK_ABORT);
    NUMBER(NCCL_REVOKE_DEFAULT);
    NUMBER(sizeof config);
    NUMBER(offsetof(ncclConfig_t, netName));
    NUMBER(offsetof(ncclConfig_t, commName));
    NUMBER(offsetof(ncclConfig_t, nvlinkCentricSched));
    for (size_t i = 0; i < sizeof config; i++) NUMBER(((const unsigned char *)&config)[i]);
    for (size_t i = 0; i < sizeof simulation; i++) NUMBER(((const unsigned char *)&simulation)[i]);
    return 0;
}
