#pragma once

/* The command line: one table per command, from which parsing, --help, completion and the man page
 * are generated.
 *
 * Flags are `--name=value`, `--name value`, `--switch`, `--switch=false`; one dash before a long
 * name is also accepted, because Go programs accept it and existing manifests use it. `--` ends the
 * flags.
 *
 * Exit codes: 0 success; 1 failure, with the reason on standard error; 2 invalid command line. */

#include "base/arena.h"
#include "base/error.h"

enum cli_exit { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_flag {
    const char *name;     /* "kubeconfig" */
    char letter;          /* 'f'; 0: none */
    const char *value;    /* the value's name in help: "FILE"; NULL: a switch */
    const char *fallback; /* the default, also shown in help; NULL: none */
    const char *help;     /* one sentence; NULL: for developers, hidden */
};

struct cli;

struct cli_command {
    const char *name;
    const char *summary;                 /* one line of `leeboard help` */
    const char *arguments;               /* "[FILE…]"; NULL: takes none */
    const char *text;                    /* paragraphs for --help and the man page; NULL: none */
    const struct cli_flag *const *flags; /* groups, each ended by one without a name; NULL ends */
    bool shaping; /* accepts the families' flags, which change the objects that are created */
    bool hidden;
    int (*run)(struct cli *cli);
};

/* A parsed command line. */
struct cli {
    struct arena arena; /* lives as long as the command */
    const struct cli_command *command;
    const struct cli_command *const *commands;
    const char **names; /* of flags that were given, in order, with … */
    const char **values;
    size_t count;
    const char **arguments;
    size_t argument_count;
};

/* The i-th flag of a command, --help last; false past the end. */
bool cli_flag_at(const struct cli_command *c, size_t i, struct cli_flag *ret);

extern const struct cli_command *const cli_commands[]; /* NULL-terminated; main.c */

int cli_main(int argc, char **argv);

/* The last value, or the default, or NULL. Fails an assertion if the command has no such flag. */
const char *cli_text(const struct cli *cli, const char *name);
bool cli_on(const struct cli *cli, const char *name);    /* a switch */
bool cli_given(const struct cli *cli, const char *name); /* whether it is on the command line */

/* Prints the error to standard error and returns the exit code. */
int cli_fail(const struct cli *cli, const struct error *err);
int cli_usage(const struct cli *cli, const char *format, ...) printf_like(2, 3);

struct buf;
void cli_print_help(struct buf *b, const struct cli_command *c);
void cli_print_overview(struct buf *b);

/* Flags of several commands. */
extern const struct cli_flag cli_flags_log[];  /* --log-level, --log-format */
extern const struct cli_flag cli_flags_kube[]; /* --kubeconfig, --context, --namespace */
bool cli_setup_log(const struct cli *cli, struct error *err) must_check;

extern const struct cli_command cli_operator;
extern const struct cli_command cli_run;
extern const struct cli_command cli_chat;
extern const struct cli_command cli_pull;
extern const struct cli_command cli_stop;
extern const struct cli_command cli_rm;
extern const struct cli_command cli_export;
extern const struct cli_command cli_up;
extern const struct cli_command cli_down;
extern const struct cli_command cli_ps;
extern const struct cli_command cli_why;
extern const struct cli_command cli_logs;
extern const struct cli_command cli_kubeconfig;
extern const struct cli_command cli_apiserver;
extern const struct cli_command cli_router;
extern const struct cli_command cli_apply;
extern const struct cli_command cli_get;
extern const struct cli_command cli_delete;
extern const struct cli_command cli_models;
extern const struct cli_command cli_render;
extern const struct cli_command cli_manifests;
extern const struct cli_command cli_mcp;
extern const struct cli_command cli_release;
extern const struct cli_command cli_sim;
extern const struct cli_command cli_completion;
extern const struct cli_command cli_man;
extern const struct cli_command cli_version;
extern const struct cli_command cli_help;
