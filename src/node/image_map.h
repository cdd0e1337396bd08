#pragma once

/* Which local program runs in place of which image, on a machine without containers.
 *
 *   images:
 *   - image: ghcr.io/ggml-org/llama.cpp      # without a tag: all tags; * matches within a name
 *     program: [llama-server]                # what the image runs when the pod names no command
 *     hostFlag: --host                       # its flag for the address to listen on
 *     hostEnv: [HOST]                        # its variables for the address to listen on
 *     podAddress: false                      # it may listen on all addresses; see own_address.h
 *     env: { LLAMA_ARG_THREADS: "4" }        # for every container of the image; the pod's wins
 *     entrypoint: false                      # args that begin with a program are the command
 *
 * An image that is written as SCHEME://NAME is matched as a text (a star ends the pattern), and
 * what follows the pattern follows the program: npx://PACKAGE is `npx -y PACKAGE`.
 *
 * Rows that were added later are asked first; the shipped ones are there from the beginning: for
 * the images of LLMKube's runtimes, for our own images and those of the upstream programs that ours
 * replace, for MCP servers, and for plain shells. The program `leeboard` is this executable. */

#include "base/json.h"
#include "node/root.h"
#include "node/runtime.h"

struct image_map;

struct image_row {
    const char *image;
    struct json program;   /* list of texts, at least one */
    const char *host_flag; /* NULL: none */
    struct json host_env;  /* list of names, or absent */
    struct json env;       /* map of texts, or absent */
    bool no_entrypoint;
    bool own_address; /* unless it has a flag for that */
};

struct image_map *image_map_new(void) must_check;
void image_map_free(struct image_map *m);
/* A file as above; file is for messages. All of it is taken, or nothing. */
bool image_map_add(
    struct image_map *m, struct str yaml, const char *file, struct error *err) must_check;
/* NULL: no row matches. */
const struct image_row *image_map_find(const struct image_map *m, const char *image);
/* Whether the image is one of Leeboard itself. */
bool image_row_is_ours(const struct image_row *row);

struct image_request {
    const char *image;
    struct json command, args;       /* of the container, variables expanded */
    const char *address;             /* what to listen on; NULL: as the command says */
    const char *path;                /* where programs are looked for: text like $PATH */
    const char *leeboard;            /* the program of that name; NULL: the one in path */
    const struct runtime_user *user; /* who must be able to run it; NULL: we */
    const struct root_mount *mounts; /* programs may also lie in a volume */
    size_t mount_count;
};

/* The words to run, ended by NULL. A program that insists on every address is told its own: the
 * value of the row's hostFlag is replaced, or the flag is put behind. A command that names the
 * image's program by a path that is not on this machine means the row's program. Fails with
 * ERR_UNSUPPORTED if there is no row, or the program is not on this machine; err names the remedy.
 */
bool image_map_argv(const struct image_map *m, struct arena *a, const struct image_request *request,
    const char *const **ret, struct error *err) must_check;
