/* page.html with its style and its script, split where the data belong. Written by embed.py. */
#ifndef SLUICE_TOOL_PAGE_SOURCE_H
#define SLUICE_TOOL_PAGE_SOURCE_H

#include <stddef.h>

extern const unsigned char page_before[], page_after[];
extern const size_t page_before_bytes, page_after_bytes;

#endif
