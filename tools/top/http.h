/* One request of HTTP/1, as far as a monitoring system needs it. */
#ifndef SLUICE_TOOL_HTTP_H
#define SLUICE_TOOL_HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_REQUEST_MAX = 8192 }; /* bytes of a request's line and headers */

/* What the first line of a request asks for. */
enum http_asked {
    HTTP_ASKS_METRICS, /* GET or HEAD of /metrics */
    HTTP_ASKS_START,   /* of / */
    HTTP_ASKS_OTHER,   /* of another path */
    HTTP_ASKS_CHANGE,  /* another method */
    HTTP_ASKS_NOTHING, /* this is no request of HTTP/1 */
};

struct http_request {
    enum http_asked asked;
    bool head; /* only the headers of the answer are wanted */
};

/* `text` need not be terminated; only its first line is looked at. */
struct http_request http_read_request(const char *text, size_t bytes);

/* Where in `text` the headers end: after their empty line. 0: they have not ended yet. */
size_t http_headers_end(const char *text, size_t bytes);

/* Makes the text of /metrics, which is freed. NULL: it cannot be made. */
typedef char *http_metrics(void *context, size_t *bytes);

/* Reads a request from a connection, answers and leaves the connection to be closed. Waits at most for as
 * long as `wait_ms` says in all. `connection` does not block. */
void http_answer(int connection, int wait_ms, http_metrics *metrics, void *context);

#endif
