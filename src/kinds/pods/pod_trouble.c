#include "kinds/pods/pod_trouble.h"

#include <ctype.h>
#include <signal.h>
#include <strings.h>

#include "base/str.h"
#include "base/time.h"

#define LINE_BYTES_MAX 320 /* two digests and a sentence */
/* A container that ends twice within this time is in a crash loop. The kubelet resets its back-off
 * after the same time. */
#define LOOP_MS ((int64_t)10 * 60 * 1000)

/* ---- the last output of a program ---- */

/* The part of a line that begins with an error's name: "ValueError: no such file". */
static struct str error_in(struct str line)
{
    static const char word[] = "error";
    for (size_t i = 0; i + sizeof(word) <= line.len; i++) {
        char after = line.ptr[i + strlen(word)];
        bool begins = i == 0 || line.ptr[i] == 'E' || !isalpha((unsigned char)line.ptr[i - 1]);
        if (strncasecmp(line.ptr + i, word, strlen(word)) != 0 || !begins ||
            (after != ':' && after != ' '))
            continue;
        while (i > 0 && isalnum((unsigned char)line.ptr[i - 1]))
            i--;
        return (struct str){ line.ptr + i, line.len - i };
    }
    return (struct str){ 0 };
}

/* Drops control characters and truncates between characters. */
static const char *clean(struct arena *a, struct str line)
{
    bool cut = line.len > LINE_BYTES_MAX;
    if (cut)
        line.len = LINE_BYTES_MAX;
    while (cut && line.len > 0 && ((unsigned char)line.ptr[line.len] & 0xc0) == 0x80)
        line.len--;
    char *copy = arena_printf(a, "%.*s%s", (int)line.len, line.ptr, cut ? "…" : "");
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    return copy;
}

const char *pod_trouble_line(struct arena *a, const char *text)
{
    struct str rest = str_of(text ? text : ""), last = { 0 };
    while (rest.ptr) {
        struct str line = str_trim(str_cut(&rest, '\n')), found = error_in(line);
        if (found.len)
            return clean(a, found);
        if (line.len)
            last = line;
    }
    return last.len ? clean(a, last) : "";
}

const char *pod_trouble_exit(struct arena *a, struct json terminated)
{
    const char *reason = json_get_text(terminated, "reason");
    bool usual = text_empty(reason) || text_eq(reason, "Error") || text_eq(reason, "Completed");
    int64_t code = json_get_int(terminated, "exitCode", 0);
    if (!usual)
        return reason;
    if (code > 128 && code < 128 + SIGRTMIN)
        return arena_printf(a, "exit code %lld (%s)", (long long)code, strsignal((int)code - 128));
    return arena_printf(a, "exit code %lld", (long long)code);
}

/* ---- containers ---- */

static const char *text_of(struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    return text ? text : "";
}

static struct pod_trouble out_of_memory(struct arena *a, struct json status)
{
    const char *limit = json_get_text(status, "resources.limits.memory");
    return (struct pod_trouble){
        "OOMKilled",
        arena_printf(a,
            "Container %s was killed because it used more memory than %s%s. Raise the limit, or "
            "use less",
            text_of(status, "name"),
            limit ? "its limit of " : "it may",
            limit ? limit : ""),
    };
}

static struct pod_trouble crash(struct arena *a, struct json status)
{
    struct json ended = json_get(status, "state.terminated");
    if (!json_present(ended))
        ended = json_get(status, "lastState.terminated");
    if (text_eq(json_get_text(ended, "reason"), "OOMKilled"))
        return out_of_memory(a, status);
    const char *line = pod_trouble_line(a, json_get_text(ended, "message"));
    return (struct pod_trouble){
        "CrashLoopBackOff",
        arena_printf(a,
            "Container %s ends again and again, last with %s%s%s",
            text_of(status, "name"),
            pod_trouble_exit(a, ended),
            *line ? ": " : "",
            line),
    };
}

static struct pod_trouble no_image(struct arena *a, struct json status, const char *reason)
{
    return (struct pod_trouble){
        text_eq(reason, "ErrImagePull") ? "ImagePullBackOff" : reason,
        arena_printf(a,
            "Image %s of container %s cannot be pulled: check its name, its tag and the pull "
            "secrets",
            text_of(status, "image"),
            text_of(status, "name")),
    };
}

static int64_t time_of(struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    int64_t ms;
    return text && time_parse(text, &ms) ? ms : 0;
}

/* Between two starts a container is "terminated" but not yet "waiting", as long as the kubelet
 * likes. */
static bool ended_again(struct json status)
{
    struct json now = json_get(status, "state.terminated");
    struct json before = json_get(status, "lastState.terminated");
    return json_get_int(now, "exitCode", 0) && json_present(before) &&
           time_of(now, "finishedAt") - time_of(before, "finishedAt") < LOOP_MS;
}

/* A container that waits for something that time alone does not fix. */
static struct pod_trouble container_trouble(struct arena *a, struct json status)
{
    static const char *const image_reasons[] = {
        "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"
    };
    static const char *const start_reasons[] = {
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError"
    };
    const char *reason = json_get_text(status, "state.waiting.reason");
    if (text_eq(reason, "CrashLoopBackOff") || ended_again(status))
        return crash(a, status);
    for (size_t i = 0; reason && i < lengthof(image_reasons); i++)
        if (text_eq(reason, image_reasons[i]))
            return no_image(a, status, image_reasons[i]);
    for (size_t i = 0; reason && i < lengthof(start_reasons); i++)
        if (text_eq(reason, start_reasons[i]))
            return (struct pod_trouble){
                start_reasons[i],
                arena_printf(a,
                    "Container %s cannot be started: %s",
                    text_of(status, "name"),
                    clean(a, str_of(text_of(status, "state.waiting.message")))),
            };
    if (text_eq(json_get_text(status, "state.terminated.reason"), "OOMKilled"))
        return out_of_memory(a, status);
    return (struct pod_trouble){ 0 };
}

/* ---- pods ---- */

static struct json condition_of(struct json pod, const char *type)
{
    return json_find(json_get(pod, "status.conditions"), "type", type);
}

static struct pod_trouble trouble_of(struct arena *a, struct json pod)
{
    static const char *const lists[] = { "status.initContainerStatuses",
        "status.containerStatuses" };
    struct json scheduled = condition_of(pod, "PodScheduled");
    if (text_eq(json_get_text(scheduled, "status"), "False"))
        return (struct pod_trouble){
            "Unschedulable",
            arena_printf(
                a, "No node takes the pod: %s", clean(a, str_of(text_of(scheduled, "message")))),
        };
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (status, json_get(pod, lists[i])) {
            struct pod_trouble found = container_trouble(a, *status);
            if (found.reason)
                return found;
        }
    return (struct pod_trouble){ 0 };
}

int64_t pod_trouble_revived_ms(struct json pods)
{
    int64_t last = 0;
    json_each (pod, pods)
        json_each (status, json_get(*pod, "status.containerStatuses")) {
            int64_t started = time_of(*status, "state.running.startedAt");
            bool crashed = json_present(json_get(*status, "lastState.terminated"));
            if (crashed && started > last &&
                !json_present(json_get(*pod, "metadata.deletionTimestamp")))
                last = started;
        }
    return last;
}

struct pod_trouble pod_trouble_of(struct arena *a, struct json pods)
{
    json_each (pod, pods) {
        bool ready = text_eq(json_get_text(condition_of(*pod, "Ready"), "status"), "True");
        if (ready || json_present(json_get(*pod, "metadata.deletionTimestamp")))
            continue;
        struct pod_trouble found = trouble_of(a, *pod);
        if (found.reason)
            return found;
    }
    return (struct pod_trouble){ 0 };
}
