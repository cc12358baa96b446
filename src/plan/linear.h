/* Linear programs, solved roughly: minimise cost * x where each row's sum of coefficient * x is at most, or
 * equals, its right side, and 0 <= x <= upper.
 *
 * The primal-dual hybrid gradient method (Chambolle, Pock 2011) with their diagonal scaling (2011) and
 * restarts from the average (Applegate et al. 2021): nothing is factored, an iteration goes over the
 * coefficients twice. It is begun, and gone on with later: what it has found by then gets better. Not
 * thread-safe.
 */
#ifndef SLUICE_LINEAR_H
#define SLUICE_LINEAR_H

#include "base/types.h"

struct sl_linear;

/* NULL when there is no memory. */
struct sl_linear *sl_linear_new(void);
void sl_linear_delete(struct sl_linear *program); /* accepts NULL */

/* Construction. Without memory these do nothing, and sl_linear_close says so. */
uint32_t sl_linear_variable(struct sl_linear *program, double upper, double cost);
uint32_t sl_linear_row(struct sl_linear *program, bool equal, double right);
/* `row` and `variable` are what the functions above returned; each pair at most once. */
void sl_linear_term(struct sl_linear *program, uint32_t row, uint32_t variable, double coefficient);

/* Ends the construction. SL_ERR_NO_MEMORY. */
enum sl_status sl_linear_close(struct sl_linear *program);

/* Goes on for so many iterations, or fewer when little is left to gain. After sl_linear_close. */
void sl_linear_improve(struct sl_linear *program, unsigned iterations);
/* Whether more iterations would change little. */
bool sl_linear_is_solved(const struct sl_linear *program);
/* How many coefficients there are: what an iteration's time is proportional to. */
size_t sl_linear_size(const struct sl_linear *program);

double sl_linear_value(const struct sl_linear *program, uint32_t variable);

#endif
