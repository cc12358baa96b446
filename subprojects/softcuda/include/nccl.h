/* The interface of NCCL, in softcuda's own declarations: for programs that are built where there is no header
 * of the vendor's. Names, values and layouts are those of NCCL 2.28.9; functions of 2.29 and 2.30 are
 * declared below them. Each function exists a second time with a p in front, for tools that put themselves
 * before the first. */
#ifndef NCCL_H_
#define NCCL_H_

#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <cuda_fp8.h>
#endif

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE 22809

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct ncclParamHandle *ncclParamHandle_t;
#define NCCL_COMM_NULL NULL

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclNumResults = 8
} ncclResult_t;

typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
typedef enum {
    ncclSum = 0,
    ncclProd = 1,
    ncclMax = 2,
    ncclMin = 3,
    ncclAvg = 4,
    ncclNumOps = 5, /* operations that a program creates are numbered from here */
    ncclMaxRedOp = 0x7fffffff >> (32 - 8 * sizeof(ncclRedOp_dummy_t))
} ncclRedOp_t;

typedef enum {
    ncclInt8 = 0,
    ncclChar = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclInt = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclHalf = 6,
    ncclFloat32 = 7,
    ncclFloat = 7,
    ncclFloat64 = 8,
    ncclDouble = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
    ncclNumTypes = 12
} ncclDataType_t;

/* When a scalar is read: when the kernel runs, or before the call returns. */
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_UNDEF_FLOAT -1.0f
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00

/* Begins with NCCL_CONFIG_INITIALIZER; later versions append members, which `size` tells. */
typedef struct ncclConfig_v22800 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int blocking;
    int cgaClusterSize;
    int minCTAs;
    int maxCTAs;
    const char *netName;
    int splitShare;
    int trafficClass;
    const char *commName;
    int collnetEnable;
    int CTAPolicy;
    int shrinkShare;
    int nvlsCTAs;
    int nChannelsPerNetPeer;
    int nvlinkCentricSched;
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                              \
    {                                                                                                        \
        sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),                  \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,      \
            NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR,      \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,      \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT                                                     \
    }

typedef struct ncclSimInfo_v22200 {
    size_t size;
    unsigned int magic;
    unsigned int version;
    float estimatedTime;
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER                                                                            \
    {                                                                                                        \
        sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),                 \
            NCCL_UNDEF_FLOAT                                                                                 \
    }

/* Declares ncclNAME and pncclNAME. */
#define SC_NCCL_DECLARE(type, name, arguments)                                                               \
    type nccl##name arguments;                                                                               \
    type pnccl##name arguments;
#define SC_NCCL(name, arguments) SC_NCCL_DECLARE(ncclResult_t, name, arguments)

SC_NCCL(GetVersion, (int *version))
SC_NCCL(GetUniqueId, (ncclUniqueId * uniqueId))
SC_NCCL_DECLARE(const char *, GetErrorString, (ncclResult_t result))
SC_NCCL_DECLARE(const char *, GetLastError, (ncclComm_t comm))
SC_NCCL_DECLARE(void, ResetDebugInit, (void))
SC_NCCL(MemAlloc, (void **ptr, size_t size))
SC_NCCL(MemFree, (void *ptr))

SC_NCCL(CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank))
SC_NCCL(CommInitRankConfig,
        (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config))
SC_NCCL(CommInitRankScalable,
        (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds, ncclConfig_t *config))
SC_NCCL(CommInitAll, (ncclComm_t * comm, int ndev, const int *devlist))
SC_NCCL(CommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config))
SC_NCCL(CommShrink, (ncclComm_t comm, int *excludeRanksList, int excludeRanksCount, ncclComm_t *newcomm,
                     ncclConfig_t *config, int shrinkFlags))
SC_NCCL(CommFinalize, (ncclComm_t comm))
SC_NCCL(CommDestroy, (ncclComm_t comm))
SC_NCCL(CommAbort, (ncclComm_t comm))
SC_NCCL(CommRevoke, (ncclComm_t comm, int revokeFlags))
SC_NCCL(CommGetAsyncError, (ncclComm_t comm, ncclResult_t *asyncError))
SC_NCCL(CommCount, (const ncclComm_t comm, int *count))
SC_NCCL(CommCuDevice, (const ncclComm_t comm, int *device))
SC_NCCL(CommUserRank, (const ncclComm_t comm, int *rank))
SC_NCCL(CommRegister, (const ncclComm_t comm, void *buff, size_t size, void **handle))
SC_NCCL(CommDeregister, (const ncclComm_t comm, void *handle))
SC_NCCL(CommWindowRegister, (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int winFlags))
SC_NCCL(CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win))

SC_NCCL(RedOpCreatePreMulSum, (ncclRedOp_t * op, void *scalar, ncclDataType_t datatype,
                               ncclScalarResidence_t residence, ncclComm_t comm))
SC_NCCL(RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))

SC_NCCL(Reduce, (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                 int root, ncclComm_t comm, cudaStream_t stream))
SC_NCCL(Bcast,
        (void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream))
SC_NCCL(Broadcast, (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
                    ncclComm_t comm, cudaStream_t stream))
SC_NCCL(AllReduce, (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))
SC_NCCL(ReduceScatter, (const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,
                        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))
SC_NCCL(AllGather, (const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
                    ncclComm_t comm, cudaStream_t stream))
SC_NCCL(AlltoAll, (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
                   ncclComm_t comm, cudaStream_t stream))
SC_NCCL(Gather, (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
                 ncclComm_t comm, cudaStream_t stream))
SC_NCCL(Scatter, (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
                  ncclComm_t comm, cudaStream_t stream))
SC_NCCL(Send, (const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
               cudaStream_t stream))
SC_NCCL(Recv, (void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
               cudaStream_t stream))

SC_NCCL(GroupStart, (void))
SC_NCCL(GroupEnd, (void))
SC_NCCL(GroupSimulateEnd, (ncclSimInfo_t * simInfo))

/* Of 2.29 */
#define NCCL_SUSPEND_MEM 0x01
typedef enum {
    ncclStatGpuMemSuspend = 0,
    ncclStatGpuMemSuspended = 1,
    ncclStatGpuMemPersist = 2,
    ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;
typedef struct {
    int opCnt;
    int peer;
    int sigIdx;
    int ctx;
} ncclWaitSignalDesc_t;
SC_NCCL(CommGetUniqueId, (ncclComm_t comm, ncclUniqueId *uniqueId))
SC_NCCL(CommGrow, (ncclComm_t comm, int nRanks, const ncclUniqueId *uniqueId, int rank, ncclComm_t *newcomm,
                   ncclConfig_t *config))
SC_NCCL(CommSuspend, (ncclComm_t comm, int flags))
SC_NCCL(CommResume, (ncclComm_t comm))
SC_NCCL(CommMemStats, (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value))
SC_NCCL(WinGetUserPtr, (ncclComm_t comm, ncclWindow_t win, void **outUserPtr))
SC_NCCL(PutSignal,
        (const void *localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin,
         size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream))
SC_NCCL(Signal, (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream))
SC_NCCL(WaitSignal, (int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm, cudaStream_t stream))

/* Of 2.30 */
SC_NCCL(ParamBind, (ncclParamHandle_t * out, const char *key))
SC_NCCL(ParamGetI8, (ncclParamHandle_t h, int8_t *out))
SC_NCCL(ParamGetI16, (ncclParamHandle_t h, int16_t *out))
SC_NCCL(ParamGetI32, (ncclParamHandle_t h, int32_t *out))
SC_NCCL(ParamGetI64, (ncclParamHandle_t h, int64_t *out))
SC_NCCL(ParamGetU8, (ncclParamHandle_t h, uint8_t *out))
SC_NCCL(ParamGetU16, (ncclParamHandle_t h, uint16_t *out))
SC_NCCL(ParamGetU32, (ncclParamHandle_t h, uint32_t *out))
SC_NCCL(ParamGetU64, (ncclParamHandle_t h, uint64_t *out))
SC_NCCL(ParamGetStr, (ncclParamHandle_t h, const char **out))
SC_NCCL(ParamGet, (ncclParamHandle_t h, void *out, int maxLen, int *len))
SC_NCCL(ParamGetParameter, (const char *key, const char **value, int *valueLen))
SC_NCCL(ParamGetAllParameterKeys, (const char ***table, int *tableLen))
SC_NCCL_DECLARE(void, ParamDumpAll, (void))

#undef SC_NCCL
#undef SC_NCCL_DECLARE

#ifdef __cplusplus
}
#endif

#endif
