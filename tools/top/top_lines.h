/* What the lines of `sluice top` are made of. */
#ifndef SLUICE_TOOL_TOP_LINES_H
#define SLUICE_TOOL_TOP_LINES_H

#include "tools/top/top.h"

enum { TOP_LABEL = 10 }; /* columns before the figures of a line */

/* Appends a line; what is longer than lines->width goes on in further ones, behind the label's columns. */
void top_line(struct top_lines *lines, enum terminal_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends all that is known of a device of a program: some 17 lines of 80 columns. */
void top_write_device(struct top_lines *lines, const struct runs *runs,
                      const struct sl_monitor_record *record, uint32_t device);

/* Appends what the screen means, and its keys. */
void top_write_help(struct top_lines *lines);

/* "12.3 GB/s" */
#define TOP_SPEED 24
const char *top_speed_text(double bytes_per_s, char out[TOP_SPEED]);

#endif
