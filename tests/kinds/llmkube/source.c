#include "kinds/llmkube/source.h"

#include "kinds/llmkube/settings.h"
#include "tests/test.h"

static const char *const classes[] = {
    [SOURCE_INVALID] = "invalid",
    [SOURCE_LOCAL] = "local",
    [SOURCE_PVC] = "pvc",
    [SOURCE_S3] = "s3",
    [SOURCE_HTTP] = "http",
    [SOURCE_HF_REPO] = "repo",
};

static const struct {
    const char *origin;
    const char *text;
} sources[] = {
    { "local", "/mnt/x.gguf" },
    { "local", "file:///mnt/x.gguf" },
    { "local", "FILE:///mnt/x.gguf" },
    { "local", "file://host/x.gguf" },
    { "pvc", "pvc://claim/x.gguf" },
    { "invalid", "PVC://claim/x.gguf" },
    { "invalid", "pvc://" },
    { "invalid", "pvc://claim" },
    { "invalid", "pvc://claim/" },
    { "invalid", "pvc:///x.gguf" },
    { "invalid", "pvc://claim/../x.gguf" },
    { "pvc", "pvc://claim/a..b/x.gguf" },
    { "s3", "s3://bucket/dir/key" },
    { "s3", "S3://bucket/key" },
    { "s3", "s3://bucket" },
    { "invalid", "s3://" },
    { "invalid", "s3:///key" },
    { "http", "https://example.com/model.gguf" },
    { "http", "HTTP://EXAMPLE.COM/x.gguf" },
    { "http", "http://10.0.0.5/inside.gguf?x=/a/b" },
    { "invalid", "https:///x.gguf" },
    { "http", "https://huggingface.co.evil.test/a/b" },
    { "http", "https://example.com/huggingface.co/a/b" },
    { "http", "https://huggingface.co/acme/chat/resolve/main/x.gguf" },
    { "http", "https://huggingface.co/acme/chat/blob/main/dir/x.gguf?download=true" },
    { "http", "https://WWW.HuggingFace.co/acme/chat/resolve/main/x.gguf#part" },
    { "repo", "https://huggingface.co/acme/chat" },
    { "repo", "https://huggingface.co/acme/chat/" },
    { "repo", "https://huggingface.co/acme/chat?not=/a/resolve/main/x.gguf" },
    { "repo", "https://huggingface.co/acme/chat#/resolve/main/x.gguf" },
    { "repo", "https://huggingface.co/acme/chat/tree/main" },
    { "repo", "https://huggingface.co/acme/chat/tree/main/sub/dir" },
    { "repo", "https://huggingface.co/acme/chat/resolve/main" },
    { "repo", "https://huggingface.co/acme/chat/blob/v1/" },
    { "invalid", "https://huggingface.co/acme" },
    { "invalid", "https://huggingface.co" },
    { "invalid", "https://huggingface.co/acme/chat/discussions" },
    { "invalid", "https://huggingface.co/acme/chat/resolve" },
    { "invalid", "https://huggingface.co/datasets/acme/things/resolve/main/x.gguf" },
    { "invalid", "https://huggingface.co/spaces/acme/demo" },
    { "repo", "hf://acme/chat" },
    { "repo", "HF://acme/chat" },
    { "repo", "hf://acme/chat@abc" },
    { "repo", "hf://acme/chat/small-q4.gguf" },
    { "repo", "acme/small-chat" },
    { "repo", "acme/chat@v1.0" },
    { "invalid", "small-chat" },
    { "invalid", "hf://chat" },
    { "invalid", "acme/chat@" },
    { "invalid", "acme//chat" },
    { "invalid", "-acme/chat" },
    { "invalid", "acme/ch at" },
    { "invalid", "ftp://host/x.gguf" },
    { "invalid", "" },
    { "invalid", "https://example.com/x\n.gguf" },
};

TEST(sources_fall_into_classes)
{
    for (size_t i = 0; i < lengthof(sources); i++) {
        struct source s = source_read(test_arena(), sources[i].text);
        if (!text_eq(classes[s.origin], sources[i].origin))
            test_fail(__FILE__,
                __LINE__,
                "%s is %s, not %s",
                sources[i].text,
                classes[s.origin],
                sources[i].origin);
        check((s.origin == SOURCE_INVALID) == !text_empty(s.problem));
        check_text(s.text, sources[i].text);
    }
}

TEST(parts_of_sources_are_found)
{
    struct arena *a = test_arena();
    struct source s = source_read(a, "pvc://claim/dir/x.gguf");
    check_text(s.host, "claim");
    check_text(s.path, "dir/x.gguf");
    s = source_read(a, "s3://shelf/dir/key");
    check_text(s.host, "shelf");
    check_text(s.path, "dir/key");
    check_text(source_read(a, "s3://shelf").path, "");
    check_text(source_read(a, "file:///mnt/./a//../x.gguf").path, "/mnt/x.gguf");
    check_text(source_read(a, "file://host/x").path, "");
    s = source_read(a, "https://huggingface.co/Acme/Chat/blob/main/x.gguf");
    check(s.hub && s.page);
    s = source_read(a, "https://huggingface.co/Acme/Chat/resolve/main/x.gguf");
    check(s.hub && !s.page);
    check_text(source_read(a, "small-chat").problem,
        "\"small-chat\" names no source: write org/repo or hf://org/repo for a Hugging Face"
        " repository, or an https://, s3://, pvc:// or file:// URL, or an absolute path");
}

TEST(repositories_are_served_and_fetched_by_name)
{
    static const struct {
        const char *text;
        const char *argument;
        const char *base;
    } rows[] = {
        { "acme/chat", "acme/chat", "https://huggingface.co/acme/chat/resolve/main/" },
        { "hf://Acme/Chat", "Acme/Chat", "https://huggingface.co/Acme/Chat/resolve/main/" },
        { "hf://acme/chat@v1", "acme/chat@v1", "https://huggingface.co/acme/chat/resolve/v1/" },
        { "hf://acme/chat@refs/pr/1",
            "acme/chat@refs/pr/1",
            "https://huggingface.co/acme/chat/resolve/refs/pr/1/" },
        { "https://huggingface.co/acme/chat/tree/main",
            "acme/chat@main",
            "https://huggingface.co/acme/chat/resolve/main/" },
        { "https://huggingface.co/acme/chat",
            "acme/chat",
            "https://huggingface.co/acme/chat/resolve/main/" },
        { "hf://acme/chat/dir/x.gguf",
            "acme/chat/dir/x.gguf",
            "https://huggingface.co/acme/chat/resolve/main/" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct source s = source_read(test_arena(), rows[i].text);
        check_text(source_serve_argument(test_arena(), &s), rows[i].argument);
        check_text(source_repo_base(test_arena(), &s), rows[i].base);
    }
    struct source url = source_read(test_arena(), "https://x.test/a");
    check_text(source_serve_argument(test_arena(), &url), "https://x.test/a");
}

TEST(cache_keys_are_upstreams)
{
    static const struct {
        const char *text;
        const char *key;
    } rows[] = {
        { "http://test-model-server.e2e-cr-test.svc.cluster.local/test-model.gguf",
            "bc626a51ade7c83a" },
        { "https://example.com/model.gguf", "8cc5f1f83d631cc0" },
        { "pvc://my-models-pvc/path/to/model.gguf", "085a1072c1430b9e" },
        { "https://weights.test/base.gguf", "031a7480051b4fed" },
        { "hf://acme/vision", "46c2aa93392e1873" },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(source_cache_key(test_arena(), rows[i].text), rows[i].key);
}

static bool allowed(const char *roots, const char *text)
{
    struct llmkube_settings s = llmkube_settings_default;
    struct error err;
    check(setting_set(test_arena(), llmkube_flags, &s, "allowed-host-path-roots", roots, &err));
    struct source source = source_read(test_arena(), text);
    return source_allowed(&s, &source);
}

TEST(local_sources_stay_below_the_allowed_roots)
{
    check(allowed("/mnt/models", "/mnt/models/x.gguf"));
    check(allowed("/mnt/models", "file:///mnt/models/a/../x.gguf"));
    check(allowed("/mnt/models/", "/mnt/models"));
    check(allowed("/a,/mnt/../srv", "/srv/x.gguf"));
    check(allowed("/", "/anything"));
    check(!allowed("/mnt/models", "/mnt/models/../etc/passwd"));
    check(!allowed("/mnt/models", "/mnt/models/../../../../etc/passwd"));
    check(!allowed("/mnt/models", "/mnt/models-other/x.gguf"));
    check(!allowed("/mnt/models", "file://mnt/models/x.gguf"));
    check(!allowed("/mnt/models", "FILE:///etc/passwd"));
    check(!allowed("", "/mnt/models/x.gguf"));
    check(allowed("", "https://x.test/a"));
}

TEST(a_refused_local_source_says_why)
{
    struct llmkube_settings s = llmkube_settings_default;
    struct error err;
    struct source source = source_read(test_arena(), "file:///etc/hostname.gguf");
    check_text(source_refusal(test_arena(), &s, &source),
        "\"file:///etc/hostname.gguf\" is a local file, and none may be read: name its directory in"
        " --allowed-host-path-roots (GHSA-jw3m-8q7m-f35r)");
    check(setting_set(test_arena(), llmkube_flags, &s, "allowed-host-path-roots", "/a,/b", &err));
    check_text(source_refusal(test_arena(), &s, &source),
        "local model source \"file:///etc/hostname.gguf\" is not within any allowed root [/a /b]"
        " (GHSA-jw3m-8q7m-f35r)");
}

TEST(paths_are_cleaned_without_asking_the_disk)
{
    check_text(source_clean_path(test_arena(), "/.."), "/");
    check_text(source_clean_path(test_arena(), "//a/./b/../c//"), "/a/c");
}
