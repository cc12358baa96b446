/* What an allocation site is called where its whole call stack would be too much. */
#ifndef SLUICE_TOOL_SITE_TITLE_H
#define SLUICE_TOOL_SITE_TITLE_H

#include "tools/model/call_stack.h"
#include "tools/model/slot_names.h"

#define SITE_TITLE 1024 /* bytes */

struct site_titles;

/* The titles of the model's sites; the model must outlive them. NULL: out of memory. */
struct site_titles *site_titles_new(const struct model *model);
void site_titles_free(struct site_titles *titles); /* accepts NULL */

/* The names that the titles have, and those of tensors. They live as long as the titles. */
struct symbols *site_titles_symbols(struct site_titles *titles);
const struct slot_names *site_titles_tensors(const struct site_titles *titles);

/* Writes the title of a site, defused, and returns `out`. It is the first of these that there is:
 *
 *   backward of addmm (AddmmBackward0)   a node of PyTorch's autograd graph, with no Python inside of it
 *   Linear.forward (linear.py:125)       the innermost frame of Python; after a library's follows the
 *                                        program's that led to it: " <- MLP.forward (train.py:40)"
 *   at::_ops::empty::call                the outermost operator of PyTorch
 *   matmul (train.cpp:70)                the function that the fewest other sites have, and of these the
 *   matmul (train+0x1b70)                innermost, without the allocators of CUDA and PyTorch
 *   libtrain.so+0x1b70                   the innermost frame
 *   site 0x9c1f                          without a call stack */
const char *site_title(struct site_titles *titles, const struct site_stack *stack, char out[SITE_TITLE]);

/* The same for a site that is known by its number only. */
const char *site_title_find(struct site_titles *titles, uint64_t site, char out[SITE_TITLE]);

/* Writes the title of the autograd node that the allocation was made for; false: there is none, and `out`
 * stays. */
bool site_node_title(const struct frame frames[], size_t count, char out[SITE_TITLE]);

#endif
