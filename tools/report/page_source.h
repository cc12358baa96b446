/* Pages with their style and their scripts, split where the data belong. Written by embed.py. */
#ifndef SLUICE_TOOL_PAGE_SOURCE_H
#define SLUICE_TOOL_PAGE_SOURCE_H

#include <stddef.h>

struct page_source {
    const unsigned char *before, *after;
    size_t before_bytes, after_bytes;
};

extern const struct page_source report_page, diff_page;

#endif
