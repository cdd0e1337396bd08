#include "kinds/llmkube/storage_program.h"

#include "base/embed.h"
#include "base/str.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

EMBED(fetch_script, "src/kinds/llmkube/scripts/fetch.sh");
EMBED(prepare_script, "src/kinds/llmkube/scripts/prepare.sh");

/* A part of a script between `#+ NAME` and `#-`. */
struct section {
    const char *name;
    bool on;
};

static bool is_on(const struct section *sections, struct str name)
{
    while (sections->name && !str_eq(str_of(sections->name), name))
        sections++;
    assert(sections->name); /* fails if the script has a section without a rule */
    return sections->on;
}

static struct str without_indent(struct str line)
{
    while (line.len && *line.ptr == ' ')
        line = (struct str){ line.ptr + 1, line.len - 1 };
    return line;
}

/* The prefix lines, then the script with the enabled sections, without comments and indentation: it
 * is part of every pod template, and of every old ReplicaSet. */
static const char *packed(
    struct arena *a, const char *front, const char *script, const struct section *sections)
{
    size_t length = strlen(front);
    int depth = 0, off = 0; /* open sections; depth of the skipped one, 0: none */
    char *out = arena_alloc(a, length + strlen(script) + 1);
    memcpy(out, front, length);
    for (struct str rest = str_of(script); rest.ptr && rest.len;) {
        struct str line = without_indent(str_cut(&rest, '\n'));
        if (str_starts(line, STR("#+ "))) {
            struct str name = { line.ptr + 3, line.len - 3 };
            depth++;
            off = off || is_on(sections, name) ? off : depth;
        } else if (str_eq(line, STR("#-"))) {
            off = off == depth ? 0 : off;
            depth--;
        } else if (!off && line.len && *line.ptr != '#') {
            memcpy(out + length, line.ptr, line.len);
            length += line.len;
            out[length++] = '\n';
        }
    }
    assert(depth == 0);
    out[length] = '\0';
    return out;
}

static const char *failing(struct arena *a, const char *message)
{
    return arena_printf(a, "echo 'ERROR: %s' >&2\nexit 1\n", message);
}

const char *storage_fetch_program(
    struct arena *a, const struct llmkube_settings *s, const struct model *m, bool cached)
{
    const struct source *source = &m->source;
    bool host = source->origin == SOURCE_LOCAL, s3 = source->origin == SOURCE_S3;
    if (!source_allowed(s, source))
        return failing(a, "SourceNotAllowed: the local model source is below no allowed root");
    if (model_files_problem(a, m))
        return failing(
            a, "InvalidFileSet: spec.files or spec.mmproj of the Model cannot be staged");
    if (host && !cached)
        return failing(a, "a local model source needs the model cache, which is off for this pod");
    bool several = model_has_files(m), repo = source->origin == SOURCE_HF_REPO;
    bool onchange = text_eq(m->refresh_policy, "OnChange");
    bool token = source->hub && m->secret_name;
    const struct section sections[] = {
        { "host", host },
        { "http", !host && !s3 && !repo && !source->page },
        { "blob", source->page },
        { "repo", repo && !several },
        { "base", repo && several },
        { "s3", s3 },
        { "token", token },
        { "encode", repo || s3 },
        { "quoted", token || s3 },
        { "remote", !host },
        { "size", onchange || m->sha256 },
        { "onchange", onchange },
        { "onchange-remote", onchange && !host },
        { "onchange-host", onchange && host },
        { "sha256-remote", m->sha256 && !host },
        { "sha256-host", m->sha256 && host },
        { "sha256", m->sha256 },
        { "ca", s->ca_cert_configmap && !host },
        { "one", !several },
        { "files", several },
        { 0 },
    };
    const char *front = m->sha256 ? arena_printf(a, "sha256=%s\n", m->sha256) : "";
    return packed(a, front, fetch_script, sections);
}

/* The beginning of fetch.sh, with a digest and without. */
#define DIGEST_LINE "sha256="
#define FIRST_LINES "set -eu\numask 002\n"

/* The digest in one of our programs, "" if it has none; absent: another program. */
static struct str digest_in(const char *program)
{
    struct str rest = str_of(program);
    struct str first = str_starts(rest, STR(DIGEST_LINE)) ? str_cut(&rest, '\n') : STR("");
    return rest.ptr && str_starts(rest, STR(FIRST_LINES)) ? first : (struct str){ 0 };
}

bool storage_same_request(const char *program, const char *other)
{
    struct str one = digest_in(program), two = digest_in(other);
    static const char onchange[] = "size_at()"; /* only in programs with the policy OnChange */
    if (!one.ptr || !two.ptr)
        return true;
    return str_eq(one, two) && !strstr(program, onchange) == !strstr(other, onchange);
}

const char *storage_prepare_program(struct arena *a, int64_t group)
{
    static const struct section none[] = { { 0 } };
    /* 100 is the user of the default image. */
    const char *front = "owner=100:100\nmode=770\n";
    if (group > 0)
        front = arena_printf(a, "owner=0:%lld\nmode=g+rwX\n", (long long)group);
    return packed(a, front, prepare_script, none);
}
