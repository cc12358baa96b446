/* Nodes of PyTorch's autograd graph, by the names of their functions. */
#ifndef SLUICE_TOOL_AUTOGRAD_NODE_H
#define SLUICE_TOOL_AUTOGRAD_NODE_H

#include <stdbool.h>

#define AUTOGRAD_NODE 256 /* bytes of a text about a node */

/* Writes "backward of addmm (AddmmBackward0)" for "torch::autograd::generated::AddmmBackward0::apply(...)".
 * PyTorch's code generator makes a node's name of the operation's, whose leading underscores are lost. A node
 * that is named after no operation is "backward (AccumulateGrad)". False: the function is not that of a node,
 * and `out` stays. */
bool autograd_node_title(const char *function, char out[AUTOGRAD_NODE]);

#endif
