/* Lifetime classes: the kind of data in device memory, derived from the phases that touch it. */
#ifndef SLUICE_TOOL_CLASSES_H
#define SLUICE_TOOL_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

enum memory_class {
    CLASS_UNKNOWN, /* unknown, or never touched */
    CLASS_PARAMETER,
    CLASS_GRADIENT,
    CLASS_OPTIMIZER,
    CLASS_ACTIVATION,
    CLASS_WORKSPACE,
    CLASS_INPUT,
    CLASS_COUNT,
};

const char *class_name(unsigned class);

/* The phases that touch a segment, and whether it lives across windows, was used before the first one, or is
 * repeatedly copied from the host. */
struct touched_in {
    bool forward, backward, update, kept, older, input;
};
enum memory_class class_from(struct touched_in touched);

#endif
