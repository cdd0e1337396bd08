#include "node/program_source.h"

static const struct known {
    const char *program;
    const char *where;
    bool gpu, builds; /* uses a GPU; is built for one kind of GPU */
} known[] = {
    { "llama-server",
        "https://github.com/ggml-org/llama.cpp/releases, Debian's package llama.cpp-tools, or "
        "Homebrew's llama.cpp",
        true,
        true },
    { "vllm",
        "`pip install vllm` (https://docs.vllm.ai), with the environment's bin in PATH",
        true },
    { "sglang.launch_server",
        "`pip install sglang` (https://docs.sglang.ai), with the environment's bin in PATH",
        true },
    { "text-generation-launcher",
        "a build of https://github.com/huggingface/text-generation-inference (\"Local install\")",
        true },
    { "text-embeddings-router",
        "a build of https://github.com/huggingface/text-embeddings-inference (\"Local install\")",
        true },
    { "npx", "Debian's package npm, or https://nodejs.org" },
    { "node", "Debian's package nodejs, or https://nodejs.org" },
    { "uvx", "`pipx install uv`, or https://docs.astral.sh/uv" },
    { "uv", "`pipx install uv`, or https://docs.astral.sh/uv" },
    { "python3", "Debian's package python3" },
    { "go", "Debian's package golang-go, or https://go.dev/dl" },
    { "github-mcp-server", "https://github.com/github/github-mcp-server/releases" },
    { "curl", "Debian's package curl" },
};

/* `python3 -m MODULE` is looked up by the module. */
static const char *name_of(struct json words)
{
    const char *first = json_text(json_item(words, 0));
    const char *module = json_text(json_item(words, 2));
    const char *slash = first ? strrchr(first, '/') : NULL;
    first = slash ? slash + 1 : first;
    bool by_module =
        text_starts(first, "python") && module && text_eq(json_text(json_item(words, 1)), "-m");
    return by_module ? module : first;
}

static const struct known *find(const char *name)
{
    for (size_t i = 0; i < lengthof(known); i++)
        if (text_eq(known[i].program, name))
            return &known[i];
    return NULL;
}

const char *program_source(struct arena *a, struct json words, const struct gpus *gpus)
{
    const struct known *k = find(name_of(words));
    if (!k)
        return "";
    const char *text = arena_printf(a, "To get it: %s.", k->where);
    if (!k->gpu)
        return text;
    const char *builds = k->builds ? gpus->builds : NULL;
    return arena_printf(a,
        "%s GPUs found: %s%s%s%s.",
        text,
        gpus->text,
        builds ? " (take a build for " : "",
        builds ? builds : "",
        builds ? ")" : "");
}
