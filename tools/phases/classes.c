/* The classes of a training program's memory, distinguished by their use alone. PatrickStar and the study
 * "Breaking the Memory Wall" name the classes; they ask the framework, while here only the trace is
 * available:
 *
 *   parameters        are kept, read in the forward pass and changed by the update; most are also read in the
 *                     backward pass, but biases are not; what was made before the first batch, is kept and
 *                     not updated, is a frozen parameter or a constant
 *   gradients         are created in the backward pass and consumed by the update
 *   optimizer state   is kept, and touched by the update only
 *   activations       are created in the forward pass and used again in the backward pass
 *   inputs            are copied from the host for every batch
 *   workspaces        are used in one phase and dead afterwards; they include gradients of activations */
#include "tools/phases/classes.h"

const char *class_name(unsigned class)
{
    static const char *const names[CLASS_COUNT] = {
        "unknown", "parameters", "gradients", "optimizer state", "activations", "workspaces", "inputs"};
    return names[class < CLASS_COUNT ? class : CLASS_UNKNOWN];
}

enum memory_class class_from(struct touched_in t)
{
    if (t.input) return CLASS_INPUT;
    if (t.forward && t.update) return t.kept ? CLASS_PARAMETER : CLASS_WORKSPACE;
    if (t.backward && t.update) return CLASS_GRADIENT;
    if (t.update) return t.kept ? CLASS_OPTIMIZER : CLASS_WORKSPACE;
    if (t.forward && t.kept && t.older) return CLASS_PARAMETER;
    if (t.forward && t.backward) return CLASS_ACTIVATION;
    return t.forward || t.backward ? CLASS_WORKSPACE : CLASS_UNKNOWN;
}
