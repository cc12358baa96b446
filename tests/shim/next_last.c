#include "next_object.h"

const char *next_who(void)
{
    return "last";
}

const char *next_last_word(void)
{
    return "last";
}
