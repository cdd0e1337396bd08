#include "cli/run/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/up/endpoint_config.h"
#include "cli/up/folder.h"
#include "kube/file.h"

#define KEY_FILE_BYTES_MAX ((size_t)64 << 10)
#define PATH_OF_COMPLETIONS "/chat/completions"

const struct cli_flag start_flags[] = {
    { "listen",
        0,
        "ADDRESS:PORT",
        NULL,
        "For the `leeboard up` that is started if none runs: the address for kubectl." },
    { "endpoint",
        0,
        "ADDRESS:PORT",
        NULL,
        "For the same: the address at which all models answer by name." },
    { "images", 0, "FILE", NULL, "For the same: more local programs for images." },
    { 0 },
};

/* Prints its messages here until it detaches. */
static int start_process(char *const *words)
{
    int status, null;
    pid_t child = fork();
    if (child == 0) {
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0)
            execv("/proc/self/exe", words);
        _exit(CLI_FAILED);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool start_up(struct cli *cli, const char *folder, struct error *err)
{
    struct arena *a = &cli->arena;
    char *words[12] = { (char *)"leeboard", (char *)"up", (char *)"--detach", (char *)"--wait=0s" };
    size_t count = 4;
    bool runs = up_folder_pid(a, folder);
    words[count++] = arena_printf(a, "--data=%s", folder);
    for (const struct cli_flag *f = start_flags; f->name; f++) {
        if (!cli_given(cli, f->name))
            continue;
        if (runs)
            fprintf(stderr,
                "leeboard %s: --%s has no effect: leeboard runs already on %s\n",
                cli->command->name,
                f->name,
                folder);
        words[count++] = arena_printf(a, "--%s=%s", f->name, cli_text(cli, f->name));
    }
    if (runs)
        return true;
    if (start_process(words) != CLI_OK && !up_folder_pid(a, folder))
        return fail(err, ERR_INTERNAL, "`leeboard up` did not start on %s", folder);
    fprintf(stderr, "leeboard runs in the background now; `leeboard down` ends it\n");
    return true;
}

/* ---- address of the models ---- */

static const char *first_key(struct arena *a, struct str text)
{
    while (text.ptr && text.len) {
        struct str line = str_trim(str_cut(&text, '\n'));
        if (line.len && *line.ptr != '#')
            return str_dup(a, line);
    }
    return NULL;
}

bool start_find_endpoint(struct cli *cli, const char *folder, struct json service, const char *name,
    struct chat_options *ret, struct error *err)
{
    struct arena *a = &cli->arena;
    const char *key_file, *ns = json_get_text(service, "metadata.namespace");
    struct str keys;
    ret->model = text_empty(ns) || text_eq(ns, "default") ? name : endpoint_key(a, service);
    ret->key = NULL;
    if (up_folder_read_endpoint(a, folder, &ret->url, &key_file)) {
        if (key_file && !file_read(a, key_file, KEY_FILE_BYTES_MAX, &keys, err))
            return false;
        ret->key = key_file ? first_key(a, keys) : NULL;
        return true;
    }
    const char *own = json_get_text(service, "status.endpoint");
    if (text_empty(own) || !text_ends(own, PATH_OF_COMPLETIONS))
        return fail(err,
            ERR_NOT_FOUND,
            "there is no address at which %s answers; `leeboard why %s` may say why",
            name,
            name);
    ret->url = arena_strndup(a, own, strlen(own) - strlen(PATH_OF_COMPLETIONS));
    return true;
}
