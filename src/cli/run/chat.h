#pragma once

/* A chat with a model: a person types lines on a terminal and answers appear below them; or a
 * single question, with its answer on standard output. */

#include "cli/ask.h"

struct chat_options {
    struct cli *cli;
    struct loop *loop;
    const char *folder;    /* of the data, for the history of questions */
    const char *url, *key; /* of the endpoint; key NULL: none is needed */
    const char *model;
    const char *system; /* NULL: none */
    int64_t tokens_max; /* of an answer; 0: the server's default */
};

/* Whether standard input and output are an interactive terminal, not a dumb one. */
bool chat_has_terminal(void);
/* Both return the exit code, and have printed why there is no answer. */
int chat_on_terminal(const struct chat_options *options);
int chat_once(const struct chat_options *options, const char *question);
/* The question of a command line: its words from `first` on, or else standard input; NULL: neither
 * has one. */
const char *chat_question(struct cli *cli, size_t first, struct error *err);

extern const struct cli_flag chat_flags[]; /* --system, --max-tokens */
/* Sets the options from the flags. */
bool chat_read_flags(struct cli *cli, struct chat_options *ret, struct error *err) must_check;
