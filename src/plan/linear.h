/* Approximate solutions of linear programs: minimise cost * x, where for each row the sum of coefficient * x
 * is at most, or equals, its right side, and 0 <= x <= upper.
 *
 * The method is the primal-dual hybrid gradient method (Chambolle, Pock 2011) with their diagonal scaling
 * (2011) and restarts from the average (Applegate et al. 2021). It needs no factorisation, and an iteration
 * passes over the coefficients twice. It can be interrupted and continued, and the current solution improves.
 * Not thread-safe.
 */
#ifndef SLUICE_LINEAR_H
#define SLUICE_LINEAR_H

#include "base/types.h"

struct sl_linear;

/* NULL: no memory. */
struct sl_linear *sl_linear_new(void);
void sl_linear_delete(struct sl_linear *program); /* accepts NULL */

/* Construction. Without memory these do nothing, and sl_linear_close returns an error. */
uint32_t sl_linear_variable(struct sl_linear *program, double upper, double cost);
uint32_t sl_linear_row(struct sl_linear *program, bool equal, double right);
/* `row` and `variable` are results of the functions above; each pair may occur once. */
void sl_linear_term(struct sl_linear *program, uint32_t row, uint32_t variable, double coefficient);

/* Ends the construction. SL_ERR_NO_MEMORY. */
enum sl_status sl_linear_close(struct sl_linear *program);

/* Does so many iterations, or fewer if the program is solved. Call it after sl_linear_close. */
void sl_linear_improve(struct sl_linear *program, unsigned iterations);
/* Whether further iterations would change little. */
bool sl_linear_is_solved(const struct sl_linear *program);
/* The number of coefficients; an iteration's time is proportional to it. */
size_t sl_linear_size(const struct sl_linear *program);

double sl_linear_value(const struct sl_linear *program, uint32_t variable);

#endif
