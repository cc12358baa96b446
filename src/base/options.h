/* The option table (options.def) and its values. The only reader of SLUICE_ variables. */
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
enum sl_top { SL_TOP_ON, SL_TOP_OFF };
enum sl_framework { SL_FRAMEWORK_AUTO, SL_FRAMEWORK_OFF };
enum sl_trace_names { SL_TRACE_NAMES_ON, SL_TRACE_NAMES_OFF };
enum sl_mask { SL_MASK_ALL, SL_MASK_SECRETS, SL_MASK_NONE };
enum sl_trace_full { SL_TRACE_DROP, SL_TRACE_WAIT };

/* One field for each row of options.def, in its order. Strings point into a copy of the environment that is
 * never freed; "" means unset. */
struct sl_options {
    uint64_t device_budget; /* bytes; 0: free memory at the first context minus a reserve */
    uint64_t chunk;         /* bytes; 0: chosen from the budget */
    const char *backing;    /* rules, see backing.h */
    int policy;             /* enum sl_policy */
    int daemon;             /* enum sl_daemon_mode */
    int movers;             /* threads to the host; 0: automatic */
    int discard;            /* enum sl_discard */
    const char *trace;      /* file; %p process id, %h host name, %r rank */
    int trace_full;         /* enum sl_trace_full */
    uint64_t trace_limit;   /* bytes; 0: no limit */
    int framework;          /* enum sl_framework */
    int plan_attempts;      /* of each plan, beside the one that copies least */
    int trace_sample;       /* one launch in this many is timed; 0: none */
    int trace_names;        /* enum sl_trace_names */
    int mask;               /* enum sl_mask */
    const char *profile;    /* file; %p, %h, %r */
    const char *stats;      /* file for the JSON summary at exit; %p, %h */
    const char *live;       /* file for statistics while the program runs; %p, %h, %r */
    int top;                /* enum sl_top */
    int overwrite;          /* whether files of other kinds are replaced */
    int verbose;            /* 0, 1, 2 */
    const char *log;        /* file, expanded; "" for stderr */
    uint64_t host_limit;    /* bytes of host memory for chunks; 0: a share of the node's */
    uint64_t node_limit;    /* the same for all processes; 0: min(available, cgroup) minus the reserve */
    const char *node;       /* file of the node's page; "": the user's default path */
    const char *sysfs;      /* folder; "": /sys */
    uint64_t host_reserve;  /* bytes of host memory left to others; 0: see sl_host_memory_reserve */
    uint64_t host_memory;   /* bytes of a rehearsed host; 0: as the kernel says */
    uint64_t virtual_size;  /* bytes that cuMemGetInfo reports as total; 0: the host limit */
#ifdef SLUICE_TEST_HOOKS
    int test_mutant;      /* enum sl_guard that is left out; 0: none */
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

/* Reads every option from the environment. Opens the log with its two options first (sl_log_open), so that
 * messages about the others go there. A bad value gives one warning line and the default; an unknown SLUICE_
 * variable gives one line, with the variable whose name or flag is near. Reads nothing in a process with the rights of
 * another user. Never fails. Not thread-safe; a second call overwrites the strings of the first. */
void sl_options_read(struct sl_options *out);

/* The same into the process's own options, and these options; zeroed until they are read. */
void sl_options_load(void);
const struct sl_options *sl_options_in_force(void);

/* For programs that only show the options: logs nothing. */
void sl_options_peek(struct sl_options *out);

/* For programs that read no other option: whether to set variables for frameworks (see below). */
bool sl_options_ask_frameworks(void);
/* The same: whether files of other kinds are replaced. */
bool sl_options_overwrite(void);

/* Parses a size such as "8G", "1.5GiB", "512m", "4096" into bytes. False: anything else, or overflow. */
bool sl_parse_size(const char *text, uint64_t *out);

/* Whether `value` is allowed for the variable `env`; if not, `allowed` describes the allowed values. */
bool sl_options_check(const char *env, const char *value, char *allowed, size_t allowed_bytes);

/* Makes `path` absolute and doubles each % of the current folder's name, for sl_options_expand. False: it
 * does not fit, or the folder has no name. */
bool sl_options_absolute(const char *path, char *out, size_t out_bytes);

/* Expands %p, %h and %r of `template`. False: it does not fit. */
bool sl_options_expand(const char *template, char *out, size_t out_bytes);

/* The process's rank in a distributed job, in decimal digits; NULL: no launcher has set one. */
const char *sl_options_rank(void);

/* Prints the values in force, one line each. */
void sl_options_print_values(FILE *to, const struct sl_options *values);

/* --- the rows of options.def as a table */

enum sl_option_type { TYPE_BYTES, TYPE_POWER, TYPE_ENUM, TYPE_INTEGER, TYPE_NUMBER, TYPE_STRING, TYPE_RULES };

/* See options.def for the columns. */
struct sl_option_row {
    const char *env, *flag, *names, *help;
    enum sl_option_type type;
    size_t offset;
    uint64_t fallback, low, high;
};

enum {
#define SL_OPTION(field_, ...) SL_OPTION_##field_,
#include "base/options.def"
#undef SL_OPTION
    SL_OPTION_COUNT
};
extern const struct sl_option_row sl_option_rows[SL_OPTION_COUNT];

/* Describe in words what the row allows, and a number of the row's type. */
void sl_option_describe_allowed(const struct sl_option_row *row, char *out, size_t bytes);
void sl_option_describe_number(const struct sl_option_row *row, uint64_t number, char *out, size_t bytes);

/* --- environment.c: variables of the environment that are others': what the launcher of a distributed job
 * (torchrun, mpirun, srun) states about this process, and what frameworks are to do. */

#define SL_LOCAL_RANKS_MOST 1024

struct sl_launcher {
    uint32_t local_rank; /* among the job's processes on this machine */
    uint32_t local_size; /* their number; 0: unknown */
    uint64_t job;        /* equal in all of them, different in other jobs; not 0 if local_size is not 0 */
};

/* Reads the environment. Of several launchers the one that started the process last counts. A rank must be
 * below the size, and the size at most SL_LOCAL_RANKS_MOST; other values are ignored. Not thread-safe. */
void sl_launcher_note(void);

/* The values read by sl_launcher_note; all zero before. */
const struct sl_launcher *sl_launcher(void);

/* Frameworks cache freed memory and reuse it, so the driver does not see their tensors. Unless the user has
 * chosen otherwise, sluice sets the documented variable that makes PyTorch allocate each tensor in stream
 * order (backend:cudaMallocAsync), and one that has its process groups made by the older of two ways, as the
 * newer (PyTorch 2.15) ends the process with that allocator. Then sluice sees when each tensor begins and
 * ends, and places it. `sluice run` does so for its program; without it, the preloaded object does so for
 * Python. */
#define SL_FRAMEWORK_VARIABLES 3
#define SL_FRAMEWORK_ENTRY 4096 /* bytes; longer values are left alone */

/* Whether PyTorch may be loaded into the process later: it is a Python interpreter. A program linked with
 * PyTorch reads the environment before a preloaded object could change it. */
bool sl_framework_may_come(void);

/* The variables that the environment should have, as "NAME=VALUE", replacing those of the same name. Returns
 * their number: 0 if the user has chosen an allocator, or set what only the caching one obeys. Must be called
 * before main: frameworks read their variables when they are loaded. Allocates nothing. */
size_t sl_framework_settings(char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY]);

#endif
