/* The option table (options.def) and its values. This is the only reader of the environment. */
#ifndef SLUICE_OPTIONS_H
#define SLUICE_OPTIONS_H

#include <stdio.h>

#include "base/types.h"

enum sl_policy {
    SL_POLICY_PLAN,
    SL_POLICY_NEXT,
    SL_POLICY_BELADY,
    SL_POLICY_LRU,
    SL_POLICY_DEMAND,
    SL_POLICY_DRIVER,
    SL_POLICY_OFF
};
enum sl_daemon_mode { SL_DAEMON_THREAD, SL_DAEMON_INLINE };
enum sl_discard { SL_DISCARD_ON, SL_DISCARD_OFF };
enum sl_framework { SL_FRAMEWORK_AUTO, SL_FRAMEWORK_OFF };
enum sl_trace_full { SL_TRACE_DROP, SL_TRACE_WAIT };

/* One field for each row of options.def, in its order. Strings point into the environment copy that lives as
 * long as the process; "" is unset. */
struct sl_options {
    uint64_t device_budget; /* bytes; 0: what is free at the first context, less a reserve */
    uint64_t chunk;         /* bytes; 0: chosen from the budget */
    const char *backing;    /* rules as of backing.h */
    int policy;             /* enum sl_policy */
    int daemon;             /* enum sl_daemon_mode */
    int discard;            /* enum sl_discard */
    const char *trace;      /* file; %p process id, %h host name, %r rank */
    int trace_full;         /* enum sl_trace_full */
    uint64_t trace_limit;   /* bytes; 0: none */
    int framework;          /* enum sl_framework */
    int plan_attempts;      /* of each plan, beside the choice that copies least */
    int trace_sample;       /* one in so many launches is timed; 0: none */
    const char *profile;    /* file; %p, %h, %r */
    const char *stats;      /* file for the JSON summary at exit; %p, %h */
    const char *live;       /* file of the statistics while the program runs; %p, %h, %r */
    int overwrite;          /* whether files of other kinds are replaced */
    int verbose;            /* 0, 1, 2 */
    const char *log;        /* file, expanded; "" for stderr */
    uint64_t host_limit;    /* bytes of host memory that chunks may take; 0: a share of the node's */
    uint64_t node_limit;    /* the same of all processes; 0: min(available, cgroup) less the reserve */
    const char *node;       /* file of the node's page; "": the user's own */
    const char *sysfs;      /* folder; "": /sys */
    uint64_t host_reserve;  /* bytes of host memory left to others */
    uint64_t virtual_size;  /* bytes that cuMemGetInfo reports as total; 0: the host limit */
#ifdef SLUICE_TEST_HOOKS
    int test_mutant;      /* enum sl_guard that does not work; 0: all do */
    int test_delay;       /* seed; 0: none */
    int test_wrong_plans; /* seed; 0: none */
    int test_without;     /* a bit for each enum sl_mechanism that does not work */
#endif
};

/* The folder in which the kernel shows devices. */
static inline const char *sl_options_sysfs(const struct sl_options *options)
{
    return options->sysfs[0] ? options->sysfs : "/sys";
}

/* Reads every option from the environment, and opens the log with its two (sl_log_open) so that what is said
 * about the others goes there. A bad value gives one warning line and the default, an unknown SLUICE_
 * variable one line with the nearest name. Nothing is read in a process with the rights of another user.
 * Never fails. Not thread-safe; a second call overwrites the strings of the first. */
void sl_options_read(struct sl_options *out);

/* The same into the one that the process uses, and that one; zeroed until it is read. */
void sl_options_load(void);
const struct sl_options *sl_options_in_force(void);

/* For programs that only show them: without a word, without the log. */
void sl_options_peek(struct sl_options *out);

/* For programs that read no other option: whether frameworks are to be asked for something (framework.h). */
bool sl_options_ask_frameworks(void);
/* The same: whether files of other kinds are replaced. */
bool sl_options_overwrite(void);

/* Parses a size such as "8G", "1.5GiB", "512m", "4096": bytes. Returns false on anything else or on overflow.
 */
bool sl_parse_size(const char *text, uint64_t *out);

/* The row's environment name for a command-line flag without its dashes ("budget"), or NULL. `sluice run`
 * uses it. A flag without a value (verbose) raises its variable by one each time it is given. */
const char *sl_options_env_for_flag(const char *flag, bool *takes_value);
/* The flags in the table's order; NULL from the count on. */
const char *sl_options_flag(size_t index);
/* Whether the variable `env` names a file. */
bool sl_options_is_path(const char *env);
/* Whether `value` is allowed for the variable `env`; if not, `allowed` says in words what is. */
bool sl_options_check(const char *env, const char *value, char *allowed, size_t allowed_bytes);

#endif
