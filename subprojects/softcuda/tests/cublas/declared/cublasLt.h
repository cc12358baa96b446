/* For toolkits without cuBLASLt. */
#include "api_lt.h"
