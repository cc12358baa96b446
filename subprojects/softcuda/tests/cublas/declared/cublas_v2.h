/* For toolkits without cuBLAS. */
#include "api.h"
