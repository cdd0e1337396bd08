#include <malloc.h>
#include <string.h>

#include "apiserver/describe/openapi_v2.h"

#include "tests/apiserver/desk.h"

static const char *form_of(struct arena *a, const char *schema)
{
    struct json v;
    struct error err = { 0 };
    check(json_parse(a, desk_quotes(schema), &v, &err));
    return json_to_text(a, openapi_v2_schema(a, v));
}

TEST(openapi_v2_says_of_a_schema_what_it_can)
{
    static const char *const cases[][2] = {
        { "{'type':'object','anyOf':[{}],'properties':{'a':{'type':'string','default':'x'}}}",
            "{\"properties\":{\"a\":{\"type\":\"string\"}},\"type\":\"object\"}" },
        { "{'type':'array','nullable':true,'items':{'type':'string'},'description':'d'}",
            "{\"description\":\"d\"}" },
        { "{'type':'object','required':['a','b'],'properties':{'a':{'nullable':true},'b':{}}}",
            "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"],\"type\":\"object\"}" },
        { "{'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'a':{}}}",
            "{\"x-kubernetes-preserve-unknown-fields\":true}" },
        { "{'type':'object','required':['a'],'additionalProperties':{'nullable':true,'not':{}}}",
            "{\"additionalProperties\":{},\"type\":\"object\"}" },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(form_of(&a, cases[i][0]), cases[i][1]);
}

static const char *hex_of(struct arena *a, const char *document)
{
    struct json v;
    struct error err = { 0 };
    check(json_parse(a, desk_quotes(document), &v, &err));
    cleanup(buf_done) struct buf b = BUF_INIT(1 << 20);
    openapi_v2_encode(&b, v);
    char *hex = arena_alloc(a, 2 * b.len + 1);
    for (size_t i = 0; i < b.len; i++)
        snprintf(hex + 2 * i, 3, "%02x", (uint8_t)b.ptr[i]);
    return hex;
}

TEST(openapi_v2_in_binary_is_gnostics_document)
{
    /* 0a: swagger, 12: info, 42: paths, 4a: definitions. A definition is name (0a) and schema
     * (12). */
    static const char *const cases[][2] = {
        { "{'swagger':'2.0','info':{'title':'T','version':'1'},'paths':{}}",
            "0a03322e3012060a01541201314200" },
        /* type 22, minimum 9 (a double), maxLength 11, uniqueItems 16 */
        { "{'definitions':{'a':{'type':'string','minimum':1,'maxLength':300,'uniqueItems':true}}}",
            "4a210a1f0a0161121a49000000000000f03f58ac02800101b201080a06737472696e67" },
        /* items 23, additionalProperties 21: a schema in 1, or a bool in 2; zero is left out */
        { "{'definitions':{'a':{'items':{'minItems':0},'additionalProperties':false}}}",
            "4a110a0f0a0161120aaa01021000ba01020a00" },
        /* an extension, 31: a name and an any, whose YAML is field 2; required 19; enum 20 */
        { "{'definitions':{'a':{'required':['b'],'enum':[1],'x-k':[2]}}}",
            "4a200a1e0a016112199a010162a20103120131fa010c0a03782d6b120512035b325d" },
        { "{'definitions':{'a':{'properties':{'b':{'$ref':'c'}},'nonsense':1}}}",
            "4a140a120a0161120dca010a0a080a016212030a0163" },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(hex_of(&a, cases[i][0]), cases[i][1]);
}

TEST(openapi_v2_comes_in_two_forms)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    struct desk_answer json = desk_ask(&r, "GET", "/openapi/v2", NULL);
    check_int(json.status, 200);
    check_text(json_get_text(json_member(json_member(json.body, "definitions"),
                                 "io.k8s.api.core.v1.ConfigMap"),
                   "properties.kind.type"),
        "string");
    static const char *const forms[] = {
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", OPENAPI_V2_BINARY
    };
    for (size_t i = 0; i < lengthof(forms); i++) {
        struct desk_answer binary = desk_ask_as(&r, "GET", "/openapi/v2", NULL, forms[i], NULL);
        check_int(binary.status, 200);
        check_text(binary.content_type, OPENAPI_V2_BINARY);
        check(text_starts(binary.text, "\n\0032.0\022"));
    }
    check_int(desk_ask_as(&r, "GET", "/openapi/v2", NULL, "application/yaml", NULL).status, 406);
    desk_done(&r);
}

TEST(clients_that_do_not_take_the_document_share_it)
{
    struct desk r;
    struct desk_stream *s[50];
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    size_t whole = strlen(desk_ask(&r, "GET", "/openapi/v2", NULL).text);
    size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < lengthof(s); i++) {
        s[i] = desk_open(&r, "GET", "/openapi/v2", NULL, NULL, (struct str){ NULL, 0 });
        s[i]->blocked = true;
        desk_settle(&r);
        check(s[i]->text.len > 0 && s[i]->text.len < 200000);
    }
    check(mallinfo2().uordblks - before < lengthof(s) * 160000);
    /* It is whole for a client that takes it. */
    s[7]->blocked = false;
    apiserver_resume(r.server, s[7]->call);
    desk_settle(&r);
    check_int((int64_t)s[7]->text.len, (int64_t)whole);
    desk_done(&r);
}
