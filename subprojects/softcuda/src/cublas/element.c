#include "element.h"

#include <library_types.h>
#include <string.h>

#include "engine/half.h"

bool sc_type_from_cuda(int cuda, uint8_t *type)
{
    switch (cuda) {
    case CUDA_R_32F:
        *type = SC_F32;
        return true;
    case CUDA_R_64F:
        *type = SC_F64;
        return true;
    case CUDA_R_16F:
        *type = SC_F16;
        return true;
    case CUDA_R_16BF:
        *type = SC_BF16;
        return true;
    default:
        return false;
    }
}

void sc_load_floats(uint8_t type, const void *from, float *to, size_t count)
{
    const uint16_t *halves = from;
    if (type == SC_F32)
        memcpy(to, from, count * sizeof *to);
    else if (type == SC_F16)
        for (size_t i = 0; i < count; i++) to[i] = sc_half_to_float(halves[i]);
    else
        for (size_t i = 0; i < count; i++) to[i] = sc_bfloat_to_float(halves[i]);
}

void sc_store_floats(uint8_t type, const float *from, void *to, size_t count)
{
    uint16_t *halves = to;
    if (type == SC_F32)
        memcpy(to, from, count * sizeof *from);
    else if (type == SC_F16)
        for (size_t i = 0; i < count; i++) halves[i] = (uint16_t)sc_half_from_float(from[i]);
    else
        for (size_t i = 0; i < count; i++) halves[i] = (uint16_t)sc_bfloat_from_float(from[i]);
}

void sc_load_doubles(uint8_t type, const void *from, int64_t stride, double *to, size_t count)
{
    const float *floats = from;
    const double *doubles = from;
    const uint16_t *halves = from;
    switch (type) {
    case SC_F32:
        for (size_t i = 0; i < count; i++) to[i] = floats[(int64_t)i * stride];
        break;
    case SC_F64:
        for (size_t i = 0; i < count; i++) to[i] = doubles[(int64_t)i * stride];
        break;
    case SC_F16:
        for (size_t i = 0; i < count; i++) to[i] = sc_half_to_float(halves[(int64_t)i * stride]);
        break;
    default:
        for (size_t i = 0; i < count; i++) to[i] = sc_bfloat_to_float(halves[(int64_t)i * stride]);
        break;
    }
}

void sc_store_doubles(uint8_t type, const double *from, void *to, int64_t stride, size_t count)
{
    float *floats = to;
    double *doubles = to;
    uint16_t *halves = to;
    switch (type) {
    case SC_F32:
        for (size_t i = 0; i < count; i++) floats[(int64_t)i * stride] = (float)from[i];
        break;
    case SC_F64:
        for (size_t i = 0; i < count; i++) doubles[(int64_t)i * stride] = from[i];
        break;
    case SC_F16:
        for (size_t i = 0; i < count; i++)
            halves[(int64_t)i * stride] = (uint16_t)sc_half_from_float((float)from[i]);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            halves[(int64_t)i * stride] = (uint16_t)sc_bfloat_from_float((float)from[i]);
        break;
    }
}

double sc_load_one(uint8_t type, const void *from)
{
    double value;
    sc_load_doubles(type, from, 1, &value, 1);
    return value;
}
