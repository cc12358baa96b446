/* In place of src/predict/interleaver.c: streams are not predicted one by one. */
#include "predict/interleaver.h"

struct sl_interleaver *sl_interleaver_new(void)
{
    return NULL;
}

void sl_interleaver_delete(struct sl_interleaver *interleaver)
{
    (void)interleaver;
}

bool sl_interleaver_feed(struct sl_interleaver *interleaver, uint32_t stream, sl_symbol symbol, bool whole)
{
    (void)interleaver, (void)stream, (void)symbol;
    return whole;
}

bool sl_interleaver_holds(const struct sl_interleaver *interleaver)
{
    (void)interleaver;
    return false;
}

bool sl_interleaver_is_idle(const struct sl_interleaver *interleaver)
{
    (void)interleaver;
    return true;
}

sl_symbol sl_interleaver_expected(const struct sl_interleaver *interleaver, uint32_t stream)
{
    (void)interleaver, (void)stream;
    return SL_NONE;
}

uint8_t sl_interleaver_history(const struct sl_interleaver *interleaver, uint32_t stream)
{
    (void)interleaver, (void)stream;
    return 0;
}

size_t sl_interleaver_next(const struct sl_interleaver *interleaver, const struct sl_symbols *symbols,
                           sl_symbol *out, uint8_t *histories, size_t count)
{
    (void)interleaver, (void)symbols, (void)out, (void)histories, (void)count;
    return 0;
}

size_t sl_interleaver_period(const struct sl_interleaver *interleaver)
{
    (void)interleaver;
    return 0;
}
