#include "node/image_map.h"

#include <sys/stat.h>

#include "base/buf.h"
#include "tests/test.h"

static const char *words(struct image_map *m, const char *image, const char *command,
    const char *args, struct error *err)
{
    const char *const *argv;
    struct image_request request = {
        image, test_json(command), test_json(args), "127.9.0.1", "/usr/bin:/bin"
    };
    if (!image_map_argv(m, test_arena(), &request, &argv, err))
        return NULL;
    struct buf b = BUF_INIT(4096);
    for (; *argv; argv++)
        buf_printf(&b, "%s%s", b.len ? " " : "", *argv);
    const char *all = arena_strdup(test_arena(), buf_text(&b));
    buf_done(&b);
    return all;
}

static struct image_map *with_rows(const char *yaml)
{
    struct error err;
    struct image_map *m = image_map_new();
    if (!image_map_add(m, str_of(yaml), "images.yaml", &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return m;
}

TEST(image_map_knows_the_images_of_the_runtimes)
{
    struct image_map *m = image_map_new();
    static const char *const rows[][2] = {
        { "ghcr.io/ggml-org/llama.cpp:server", "llama-server" },
        { "ghcr.io/ggml-org/llama.cpp:server-cuda-b10068", "llama-server" },
        { "docker.io/curlimages/curl:8.18.0", "curl" },
        { "curlimages/curl@sha256:abc", "curl" },
        { "vllm/vllm-openai:v0.25.1", "vllm" },
        { "lmsysorg/sglang:v0.5.15.post1-cu129", "python3" },
        { "ghcr.io/huggingface/text-generation-inference:3.3.7", "text-generation-launcher" },
        { "busybox", "sh" },
        { "docker.io/library/busybox:1.36", "sh" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const struct image_row *row = image_map_find(m, rows[i][0]);
        check(row);
        check_text(json_text(row->program.items[0]), rows[i][1]);
    }
    check(!image_map_find(m, "ghcr.io/other/busybox"));
    image_map_free(m);
}

TEST(image_map_takes_command_over_program_and_tells_the_address)
{
    struct error err;
    struct image_map *m = with_rows("images:\n- image: me/server\n  program: [sh]\n"
                                    "  hostFlag: --host\n");
    check_text(
        words(m, "me/server:1", "null", "['-m', 'x']", &err), "/usr/bin/sh -m x --host 127.9.0.1");
    check_text(words(m, "me/server:1", "null", "['--host', '::', '-x']", &err),
        "/usr/bin/sh --host 127.9.0.1 -x");
    check_text(words(m, "me/server:1", "null", "['--host=0.0.0.0', '--hosts']", &err),
        "/usr/bin/sh --host=127.9.0.1 --hosts");
    check_text(words(m, "me/server:1", "['/app/bin/sh']", "['-x']", &err),
        "/usr/bin/sh -x --host 127.9.0.1");
    check_text(words(m, "me/server:1", "['cat', 'f']", "null", &err), "/usr/bin/cat f");
    image_map_free(m);
}

TEST(image_map_names_the_remedy)
{
    struct error err;
    struct image_map *m = with_rows("images: [ { image: me/gone, program: [no-such-program] } ]");
    check(!words(m, "nobody/knows:1", "null", "null", &err));
    check_int(err.code, ERR_UNSUPPORTED);
    check_text(err.text,
        "name a program with --images FILE: none is known for image nobody/knows:1 (in FILE: "
        "images: [{image: nobody/knows:1, program: [PROGRAM]}])");
    check(!words(m, "me/gone", "null", "null", &err));
    check_text(err.text,
        "install no-such-program, in the PATH of leeboard, or name another program with --images "
        "FILE: it stands for image me/gone and is not on this machine");
    image_map_free(m);
}

TEST(image_map_rows_of_users_come_first_and_bad_ones_are_told)
{
    struct error err;
    struct image_map *m = with_rows("images: [ { image: 'ghcr.io/ggml-org/*', program: [one] },"
                                    " { image: 'me/x:2', program: [two], env: { A: b } } ]");
    check_text(
        json_text(image_map_find(m, "ghcr.io/ggml-org/llama.cpp:x")->program.items[0]), "one");
    check(!image_map_find(m, "me/x:1"));
    check_text(json_get_text(image_map_find(m, "me/x:2")->env, "A"), "b");
    check_fails(image_map_add(m, STR("images: [ { image: x } ]"), "f.yaml", &err),
        err,
        "f.yaml: images.0: program of x: write a list of words");
    check_fails(image_map_add(m, STR("images: 3"), "f.yaml", &err), err, "images: write a list");
    check_fails(image_map_add(m, STR("images: [ { program: [x] } ]"), "f.yaml", &err),
        err,
        "image: required");
    image_map_free(m);
}
