#include "tests/apiserver/desk.h"

#include "apiserver/access/auth.h"
#include "base/base64.h"

#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define SECRETS "/api/v1/namespaces/default/secrets"

static const char secret[] =
    "{'metadata':{'name':'%s','annotations':{'kubernetes.io/service-account.name':'%s'}},"
    "'type':'kubernetes.io/service-account-token'}";

static void desk_with_account(struct desk *d)
{
    desk_init_builtin(d,
        (struct apiserver_options){
            .token_key = STR("thirty-two bytes that nobody knows"),
            .root_ca = STR("the authority"),
        });
    desk_do(d, "POST", ACCOUNTS, "{'metadata':{'name':'robot'}}");
    desk_do(d, "POST", SECRETS, arena_printf(test_arena(), secret, "s", "robot"));
    desk_settle(d);
}

static struct str token_of(struct json object)
{
    struct str token = { NULL, 0 };
    const char *text = json_get_text(object, "data.token");
    check(text && base64_decode(test_arena(), str_of(text), &token));
    return token;
}

TEST(a_secret_of_an_account_is_filled_and_its_token_is_good_until_either_goes)
{
    struct desk d;
    desk_with_account(&d);
    struct json filled = desk_do(&d, "GET", SECRETS "/s", NULL);
    check_text(json_text(json_member(json_member(filled, "data"), "ca.crt")),
        base64_encode(test_arena(), STR("the authority")));
    check_text(
        json_get_text(filled, "data.namespace"), base64_encode(test_arena(), STR("default")));
    struct auth *auth = apiserver_auth(d.server);
    const struct auth_credentials c = { .bearer = token_of(filled) };
    struct api_user user;
    struct error err;
    check(auth_authenticate(auth, test_arena(), &c, &user, &err));
    check_text(user.name, "system:serviceaccount:default:robot");
    desk_advance(&d, (int64_t)365 * 86400 * 1000);
    check(auth_authenticate(auth, test_arena(), &c, &user, &err));
    desk_do(&d, "DELETE", ACCOUNTS "/robot", NULL);
    desk_settle(&d);
    check(!auth_authenticate(auth, test_arena(), &c, &user, &err));
    check_int(desk_ask(&d, "GET", SECRETS "/s", NULL).status, 404);
    desk_done(&d);
}

TEST(a_token_is_not_good_once_its_secret_holds_another)
{
    struct desk d;
    desk_with_account(&d);
    struct auth *auth = apiserver_auth(d.server);
    const struct auth_credentials c = {
        .bearer = token_of(desk_do(&d, "GET", SECRETS "/s", NULL)),
    };
    struct api_user user;
    struct error err;
    desk_ask_as(&d,
        "PATCH",
        SECRETS "/s",
        "application/merge-patch+json",
        NULL,
        "{'data':{'token':'eA=='}}");
    check(!auth_authenticate(auth, test_arena(), &c, &user, &err));
    desk_done(&d);
}

TEST(a_secret_of_no_account_goes)
{
    struct desk d;
    desk_with_account(&d);
    desk_do(&d, "POST", SECRETS, arena_printf(test_arena(), secret, "lost", "nobody"));
    desk_settle(&d);
    check_int(desk_ask(&d, "GET", SECRETS "/lost", NULL).status, 404);
    check_int(desk_ask(&d, "GET", SECRETS "/s", NULL).status, 200);
    desk_done(&d);
}
