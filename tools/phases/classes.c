/* What a training program keeps in memory, distinguished by use alone (PatrickStar and the study "Breaking
 * the Memory Wall" name the classes; they ask the framework, here the trace must do):
 *
 *   parameters        are kept, read in the forward pass and changed by the update; most are read in the
 *                     backward pass, too, biases are not
 *   gradients         come into being in the backward pass and are used up by the update
 *   optimizer state   is kept, and no phase but the update touches it
 *   activations       are made in the forward pass and used again in the backward pass
 *   inputs            are copied from the host for every batch
 *   workspaces        serve a phase and mean nothing afterwards; gradients of activations are among them
 */
#include "tools/phases/classes.h"

const char *class_name(enum memory_class class)
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
    if (t.forward && t.backward) return CLASS_ACTIVATION;
    return t.forward || t.backward ? CLASS_WORKSPACE : CLASS_UNKNOWN;
}
