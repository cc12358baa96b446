/* The JSON objects that the commands of `sluice trace` print with --json, for other outputs that must have
 * the same figures. `key`: as for json_object. The functions with a result return false if they ran out of
 * memory, possibly after a part of the object. For several ranks: see the headers *_ranks.h. */
#ifndef SLUICE_TOOL_TRACE_JSON_H
#define SLUICE_TOOL_TRACE_JSON_H

#include "tools/analyses/sites.h"
#include "tools/analyses/spread.h"
#include "tools/model/site_title.h"
#include "tools/phases/phases.h"
#include "tools/text/json.h"
#include "tools/views/job.h"

/* The quartiles and extremes of a figure, their number, and the width of the middle (spread_width). */
void json_spread(struct json *json, const char *key, const struct spread *spread);

bool info_json(struct json *json, const char *key, const struct model *model, const struct phases *phases);

/* `step`: the training step, from 1; 0: the whole trace. Precondition: it exists. */
bool phases_json(struct json *json, const char *key, const struct model *model, const struct phases *phases,
                 uint64_t step);

/* With a figure for each of `columns` intervals, 1 to TIMELINE_MOST. */
bool timeline_json(struct json *json, const char *key, const struct model *model, const struct phases *phases,
                   uint64_t step, uint32_t columns);

/* When the step begins and ends, on the records' clock. */
void timeline_span(const struct model *model, const struct phases *phases, uint64_t step, uint64_t *begin_ns,
                   uint64_t *end_ns);

/* The `limit` kernels with the longest time. */
bool kernels_json(struct json *json, const char *key, const struct model *model, uint64_t limit);

/* The members of a site's object, without its frames of Python and of C; of the latter there are `count`. */
void site_json(struct json *json, struct site_titles *titles, const struct site_figures *site,
               const struct frame frames[], size_t count);
void frame_json(struct json *json, const struct frame *frame);
void python_json(struct json *json, const struct model_python *frame);

bool ranks_json(struct json *json, const char *key, const struct job *job);

#endif
