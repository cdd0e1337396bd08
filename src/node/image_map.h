#pragma once

/* Maps images to local programs, on a machine without containers.
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
 * An image of the form SCHEME://NAME is matched as plain text (a star ends the pattern), and the
 * text that the star matches is appended to the program: npx://PACKAGE is `npx -y PACKAGE`.
 *
 * Later rows take precedence. The built-in rows cover the images of LLMKube's runtimes, Leeboard's
 * own images and those of the upstream programs that they replace, MCP servers, and plain shells.
 * The program `leeboard` is this executable. */

#include "base/json.h"
#include "node/root.h"
#include "node/runtime.h"

struct image_map;

struct image_row {
    const char *image;
    struct json program;   /* list of strings, at least one */
    const char *host_flag; /* NULL: none */
    struct json host_env;  /* list of strings, or absent */
    struct json env;       /* map of strings, or absent */
    bool no_entrypoint;
    bool own_address; /* unless it has a flag for the address */
};

struct image_map *image_map_new(void) must_check;
void image_map_free(struct image_map *m);
/* Adds the rows of a file in the format above; `file` is for messages. Adds all rows or none. */
bool image_map_add(
    struct image_map *m, struct str yaml, const char *file, struct error *err) must_check;
/* NULL: no row matches. */
const struct image_row *image_map_find(const struct image_map *m, const char *image);
/* Whether it is an image of Leeboard itself. */
bool image_row_is_ours(const struct image_row *row);

struct image_request {
    const char *image;
    struct json command, args;       /* of the container, with variables expanded */
    const char *address;             /* the address to listen on; NULL: as the command says */
    const char *path;                /* where to look for programs, like $PATH */
    const char *leeboard;            /* path of `leeboard`; NULL: the one in path */
    const struct runtime_user *user; /* must be able to run it; NULL: our own */
    const struct root_mount *mounts; /* programs may also be in a volume */
    size_t mount_count;
};

/* The argv to run, ended by NULL. For a program that would listen on every address, the value of
 * the row's hostFlag is replaced, or the flag is appended. A command that names the image's program
 * by a path that does not exist on this machine means the row's program. Fails with ERR_UNSUPPORTED
 * if no row matches or the program is not installed; err names the remedy. */
bool image_map_argv(const struct image_map *m, struct arena *a, const struct image_request *request,
    const char *const **ret, struct error *err) must_check;
