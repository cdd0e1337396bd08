#include "apiserver/accept.h"

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

static const char *refusal_of(
    struct arena *a, const char *header, const struct api_kind *k, enum accept_target target)
{
    struct accept got;
    struct api_answer refusal = { 0 };
    check(!accept_choose(a, header, k, target, &got, &refusal));
    struct json v;
    struct error err;
    check(json_parse(a, refusal.body, &v, &err));
    check(json_get_int(v, "code", 0) == refusal.status);
    return json_get_text(v, "message");
}

TEST(what_cannot_be_served_is_refused_in_the_words_of_the_api_server)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check_text(refusal_of(&a, "text/html", &builtin, ACCEPT_OF_OBJECT),
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf");
    check_text(refusal_of(&a, "text/html", &custom, ACCEPT_OF_OBJECT),
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf");
    check_text(refusal_of(&a, "application/yaml", &custom, ACCEPT_OF_WATCH),
        "only the following media types are accepted: application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch");
    check_text(refusal_of(&a,
                   "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                   &builtin,
                   ACCEPT_OF_LIST),
        "you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)");
    check_text(refusal_of(&a,
                   "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                   &custom,
                   ACCEPT_OF_OBJECT),
        "content is not a list");
}
