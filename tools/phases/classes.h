/* Lifetime classes: what device memory holds, by which phases touch it. */
#ifndef SLUICE_TOOL_CLASSES_H
#define SLUICE_TOOL_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

enum memory_class {
    CLASS_UNKNOWN, /* nothing is known, or nothing touched it */
    CLASS_PARAMETER,
    CLASS_GRADIENT,
    CLASS_OPTIMIZER,
    CLASS_ACTIVATION,
    CLASS_WORKSPACE,
    CLASS_INPUT,
    CLASS_COUNT,
};

const char *class_name(enum memory_class class);

/* Which phases touch a segment, and whether it lives across windows or is copied from the host again and
 * again.
 */
struct touched_in {
    bool forward, backward, update, kept, input;
};
enum memory_class class_from(struct touched_in touched);

#endif
