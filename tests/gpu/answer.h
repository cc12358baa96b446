/* What a doubt's probe found: a JSON object a line on standard output, of part "doubt". doubts.py makes the
 * one line of each probe of them. Texts hold no quotes and no backslashes. */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>

/* The probe whose answers follow. */
void answer_for(const char *probe);
void answer_text(const char *answer, const char *what, ...) __attribute__((format(printf, 2, 3)));
void answer_number(double value, const char *unit, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
/* Something that sluice relies on. */
void answer_metadata(bool holds, const char *what, ...) __attribute__((format(printf, 2, 3)));

#endif
