#include "apiserver/core/accept.h"

#include "tests/test.h"

static const struct api_kind builtin = {
    .resource = { "", "v1", "Pod", "pods", false },
    .list_kind = "PodList",
};
static const struct api_kind custom = {
    .resource = { "example.com", "v1", "Widget", "widgets", false },
    .list_kind = "WidgetList",
    .custom = true,
};

#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"

TEST(the_first_form_that_can_be_served_is_chosen_by_quality)
{
    static const struct {
        const char *header;
        enum accept_target target;
        enum accept_form form;
        enum accept_media media;
    } cases[] = {
        { NULL, ACCEPT_OF_OBJECT, ACCEPT_OBJECT, MEDIA_JSON },
        { "*/*", ACCEPT_OF_LIST, ACCEPT_OBJECT, MEDIA_JSON },
        { "application/json;q=0.5, application/yaml", ACCEPT_OF_OBJECT, ACCEPT_OBJECT, MEDIA_YAML },
        { TABLE ", application/json", ACCEPT_OF_LIST, ACCEPT_TABLE, MEDIA_JSON },
        { "application/json;as=Table;v=v2;g=meta.k8s.io, application/json",
            ACCEPT_OF_LIST,
            ACCEPT_OBJECT,
            MEDIA_JSON },
        { "application/vnd.kubernetes.protobuf, application/json",
            ACCEPT_OF_OBJECT,
            ACCEPT_OBJECT,
            MEDIA_JSON },
        { "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            ACCEPT_OF_LIST,
            ACCEPT_PARTIAL_LIST,
            MEDIA_JSON },
        { "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
            ACCEPT_OF_WATCH,
            ACCEPT_PARTIAL,
            MEDIA_JSON },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct accept got = { 0 };
        struct api_answer refusal;
        check(accept_choose(&a, cases[i].header, &builtin, cases[i].target, &got, &refusal));
        check(got.form == cases[i].form);
        check(got.media == cases[i].media);
    }
}

static const char *message_of(struct arena *a, const struct api_answer *refusal)
{
    struct json v;
    struct error err;
    check(json_parse(a, refusal->body, &v, &err));
    check(json_get_int(v, "code", 0) == refusal->status);
    return json_get_text(v, "message");
}

static const char *refusal_of(
    struct arena *a, const char *header, const struct api_kind *k, enum accept_target target)
{
    struct accept got;
    struct api_answer refusal = { 0 };
    check(!accept_choose(a, header, k, target, &got, &refusal));
    return message_of(a, &refusal);
}

TEST(what_cannot_be_served_is_refused_in_the_words_of_the_api_server)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check_text(refusal_of(&a, "text/html", &builtin, ACCEPT_OF_OBJECT),
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf");
    check_text(refusal_of(&a, "APPLICATION/JSON, application/*", &builtin, ACCEPT_OF_LIST),
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch");
    static const char *const refused[] = { "text/html",
        "application/json;v=v1",
        "application/json;as=Table;v=v9;g=meta.k8s.io",
        "application/json;as=;g=meta.k8s.io",
        "application/yaml;stream=watch",
        ";",
        "json" };
    for (size_t i = 0; i < lengthof(refused); i++)
        check_text(refusal_of(&a, refused[i], &custom, ACCEPT_OF_OBJECT),
            "only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
    check_text(refusal_of(&a, TABLE, &builtin, ACCEPT_OF_BARE),
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf");
}

TEST(a_watch_that_is_fine_but_for_its_media_is_refused_with_those_that_stream)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct accept got;
    struct api_answer refusal = { 0 };
    const char *both = "application/yaml, application/json";
    check(accept_choose(&a, both, &builtin, ACCEPT_OF_WATCH, &got, &refusal));
    check(got.media == MEDIA_YAML);
    check(!accept_streams(&a, &got, &refusal));
    check_text(message_of(&a, &refusal),
        "only the following media types are accepted: application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch");
    check(accept_choose(&a, TABLE, &builtin, ACCEPT_OF_WATCH, &got, &refusal));
    check(accept_streams(&a, &got, &refusal));
}

TEST(a_form_that_does_not_fit_is_seen_when_the_answer_is_there)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct api_answer refusal = { 0 };
    check(accept_fits(&a, ACCEPT_PARTIAL, &builtin, false, &refusal));
    check(accept_fits(&a, ACCEPT_PARTIAL_LIST, &builtin, true, &refusal));
    check(!accept_fits(&a, ACCEPT_PARTIAL, &builtin, true, &refusal));
    check_text(message_of(&a, &refusal),
        "you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)");
    check(!accept_fits(&a, ACCEPT_PARTIAL_LIST, &builtin, false, &refusal));
    check_text(message_of(&a, &refusal),
        "you requested PartialObjectMetadataList, but the requested object is not a list "
        "(*core.Pod)");
    check(!accept_fits(&a, ACCEPT_PARTIAL_LIST, &custom, false, &refusal));
    check_text(message_of(&a, &refusal), "content is not a list");
}

TEST(errors_come_in_the_first_media_that_is_asked_for_without_a_form)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check(accept_error_media(&a, NULL) == MEDIA_JSON);
    check(accept_error_media(&a, "text/plain, application/yaml") == MEDIA_YAML);
    check(accept_error_media(&a, TABLE ", application/yaml") == MEDIA_YAML);
    check(accept_error_media(&a, "application/yaml;as=Table;v=v1;g=meta.k8s.io") == MEDIA_JSON);
    check(accept_error_media(&a, "application/yaml;q=x, application/json;q=0.1") == MEDIA_JSON);
}
