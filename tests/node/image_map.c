#include "node/image_map.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
        { "ghcr.io/defilantech/llmkube-llama-vulkan@sha256:abc", "llama-server" },
        { "busybox", "sh" },
        { "docker.io/library/busybox:1.36", "sh" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const struct image_row *row = image_map_find(m, rows[i][0]);
        check(row);
        check_text(json_text(row->program.items[0]), rows[i][1]);
    }
    check(!image_map_find(m, "ghcr.io/other/busybox"));
    check(image_map_find(m, "curlimages/curl@sha256:a/b:c"));
    check(!image_map_find(m, "@/"));
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
        "FILE: it runs image me/gone and is not on this machine");
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

TEST(image_map_runs_packages_and_images_without_an_entry_point)
{
    struct error err;
    struct image_map *m = with_rows("images:\n- { image: 'npx://*', program: [cat, -u] }\n"
                                    "- { image: 'x://one', program: [cat] }\n"
                                    "- { image: me/base, program: [sh], entrypoint: false }\n");
    check_text(words(m, "npx://@scope/pkg@1.2", "null", "['stdio']", &err),
        "/usr/bin/cat -u @scope/pkg@1.2 stdio");
    check_text(words(m, "x://one", "null", "null", &err), "/usr/bin/cat");
    check(!words(m, "x://one/more", "null", "null", &err));
    check_text(words(m, "me/base:1", "null", "['cat', 'f']", &err), "/usr/bin/cat f");
    check_text(words(m, "me/base:1", "null", "['-c', 'x']", &err), "/usr/bin/sh -c x");
    check_text(
        words(m, "me/base:1", "null", "['no-program.sh']", &err), "/usr/bin/sh no-program.sh");
    check_text(words(m, "me/base:1", "null", "null", &err), "/usr/bin/sh");
    check(image_map_find(m, "uvx://mcp-server-fetch"));
    check_fails(
        image_map_add(m, STR("images: [ { image: x, program: [y], args: [z] } ]"), "f", &err),
        err,
        "args of x: there is no such field");
    image_map_free(m);
}

TEST(image_map_runs_this_program_in_place_of_proxies)
{
    static const char *const images[][2] = {
        { "ghcr.io/stacklok/toolhive/proxyrunner:v0.44.0", "mcp" },
        { "ghcr.io/leeboard/leeboard-mcp:1", "mcp" },
        { "leeboard-router:1", "router" },
        { "ghcr.io/defilantech/llmkube-router-proxy:dev", "router" },
    };
    struct image_map *m = image_map_new();
    for (size_t i = 0; i < lengthof(images); i++) {
        struct error err;
        const char *const *argv;
        struct image_request request = { .image = images[i][0],
            .args = test_json("['run']"),
            .path = "/usr/bin",
            .leeboard = "/opt/own/leeboard" };
        check(image_row_is_ours(image_map_find(m, images[i][0])));
        check(image_map_argv(m, test_arena(), &request, &argv, &err));
        check_text(argv[0], "/opt/own/leeboard");
        check_text(argv[1], images[i][1]);
        check_text(argv[2], "run");
    }
    check(!image_row_is_ours(image_map_find(m, "busybox")));
    image_map_free(m);
}

TEST(image_map_names_a_program_that_its_user_cannot_reach)
{
    if (geteuid() != 0)
        return; /* nobody else's rights to take */
    char folder[] = "/tmp/leeboard-image-XXXXXX";
    check(mkdtemp(folder));
    const char *file = arena_printf(test_arena(), "%s/sh", folder);
    check(symlink("/bin/sh", file) == 0);
    struct image_map *m = image_map_new();
    const struct runtime_user user = { .user = 1000, .group = 1000 };
    struct image_request request = {
        .image = "busybox", .path = arena_printf(test_arena(), "%s:/usr/bin", folder), .user = &user
    };
    const char *const *argv;
    struct error err;
    check(image_map_argv(m, test_arena(), &request, &argv, &err));
    check_text(argv[0], "/usr/bin/sh");
    request.path = folder;
    check(!image_map_argv(m, test_arena(), &request, &argv, &err));
    check(strstr(err.text, "install sh where user 1000 can run it") && strstr(err.text, file));
    request.user = NULL;
    check(image_map_argv(m, test_arena(), &request, &argv, &err));
    check_text(argv[0], file);
    check(unlink(file) == 0 && rmdir(folder) == 0);
    image_map_free(m);
}

TEST(image_map_keeps_programs_without_a_flag_on_the_address_of_their_pod)
{
    struct image_map *m = with_rows("images:\n- { image: a, program: [x] }\n"
                                    "- { image: b, program: [x], hostFlag: --host }\n"
                                    "- { image: c, program: [x], podAddress: false }\n");
    check(image_map_find(m, "a")->own_address);
    check(!image_map_find(m, "b")->own_address);
    check(!image_map_find(m, "c")->own_address);
    check(image_map_find(m, "npx://x")->own_address);
    check(!image_map_find(m, "busybox")->own_address);
    check(!image_map_find(m, "leeboard-mcp")->own_address);
    image_map_free(m);
}
