/* `sluice top --listen`: serves the metrics to monitoring systems. */
#ifndef SLUICE_TOOL_LISTEN_H
#define SLUICE_TOOL_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

#include "tools/top/http.h"

struct listen_place {
    const char *text; /* as it was given */
    struct sockaddr_storage address;
    socklen_t bytes;
};

/* "9105" is a port of 127.0.0.1; "0.0.0.0:9105" and "[::]:9105" name the address as well. False: neither. */
bool listen_read_place(const char *text, struct listen_place *place);

/* Answers requests, one after another, until SIGINT or SIGTERM. Prints the URL first. Returns the exit
 * status, after a message on stderr if it failed. */
int listen_serve(const struct listen_place *place, http_metrics *metrics, void *context);

#endif
