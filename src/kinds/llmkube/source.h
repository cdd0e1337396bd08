#pragma once

/* Where a Model's weights come from: the classes of spec.source, its cache key and its file names.
 * Every rule here determines the directory of tens of gigabytes; a different result downloads them
 * again.
 *
 *   /abs/x.gguf, file:///abs/x.gguf                    LOCAL
 *   pvc://claim/path/x.gguf                            PVC
 *   s3://bucket/key                                    S3
 *   hf://org/repo[/file][@rev], org/repo[@rev]         HF_REPO
 *   https://huggingface.co/org/repo[/tree/rev]         HF_REPO; also /resolve/rev and /blob/rev
 *   https://huggingface.co/org/repo/resolve/rev/file   HTTP; also blob
 *   https://anything/else                              HTTP
 *
 * Schemes are case-insensitive, except pvc://. A query and a fragment are ignored when the parts of
 * a Hugging Face URL are counted. */

#include "base/json.h"

struct llmkube_settings;

enum source_class {
    SOURCE_INVALID, /* none of the others: a bare word, a dataset page, a malformed pvc:// */
    SOURCE_LOCAL,   /* the operator copies it, pods mount the host path */
    SOURCE_PVC,     /* mounted without a copy */
    SOURCE_S3,      /* fetched by the pod */
    SOURCE_HTTP,    /* one file, fetched by the pod */
    SOURCE_HF_REPO, /* a Hugging Face repository, resolved by the runtime */
};

struct source {
    enum source_class origin;
    const char *text;     /* spec.source, unchanged */
    const char *path;     /* LOCAL: cleaned, "" if not absolute; PVC: below the claim; S3: key */
    const char *host;     /* PVC: claim; S3: bucket */
    const char *repo;     /* HF_REPO: "org/repo" */
    const char *file;     /* HF_REPO: the path after the repository; NULL if none */
    const char *revision; /* HF_REPO: NULL if none is named */
    bool hub;             /* on huggingface.co: HF_REPO, and HTTP with such a URL */
    bool page;            /* HTTP: a page of the hub about the file; /resolve/ is the file */
    const char *problem;  /* INVALID: what is wrong, and what to write instead */
};

struct source source_read(struct arena *a, const char *text);
/* First 16 hex digits of the SHA-256 of the raw text. */
const char *source_cache_key(struct arena *a, const char *text);
/* Whether a local path is below one of the allowed roots; true for other classes. Lexical: `..` is
 * resolved, symbolic links are not. */
bool source_allowed(const struct llmkube_settings *s, const struct source *src);
/* Why source_allowed() is false. */
const char *source_refusal(
    struct arena *a, const struct llmkube_settings *s, const struct source *src);
/* "org/repo" or "org/repo@rev", the form that vLLM, SGLang and TGI accept; other sources
 * unchanged. */
const char *source_serve_argument(struct arena *a, const struct source *src);
/* Base URL for files of a repository: "https://huggingface.co/org/repo/resolve/rev/". */
const char *source_repo_base(struct arena *a, const struct source *src);
/* An absolute path without empty parts, `.` and `..`, like filepath.Clean. */
const char *source_clean_path(struct arena *a, const char *path);
/* Text in double quotes, with escapes, for messages. */
const char *source_quote(struct arena *a, const char *text);
