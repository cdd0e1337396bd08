#include "tests/apiserver/builtin/pod/pod_case.h"

#define OPTIONS(options) "'securityContext': {'windowsOptions': {" options "}}"
#define USER(name) OPTIONS("'runAsUserName': '" name "'")
#define AT "spec.containers[0].securityContext.windowsOptions."
#define FORM "runAsUserName's Domain doesn't match the NetBios nor the DNS format"

TEST(wrong_options_for_windows_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { OPTIONS("'gmsaCredentialSpec': 'a', 'gmsaCredentialSpecName': 'a'"), NULL, NULL },
        { OPTIONS("'gmsaCredentialSpec': ''"),
            AT "gmsaCredentialSpec",
            "Invalid value: \"\": gmsaCredentialSpec cannot be an empty string" },
        { USER("NT AUTHORITY\\\\a b"), NULL, NULL },
        { USER("some-long-domain.example.com\\\\a"), NULL, NULL },
        { USER("some-long-domain-.example.com\\\\a"),
            AT "runAsUserName",
            "Invalid value: \"some-long-domain-.example.com\\\\a\": " FORM },
        { USER(".a\\\\a"), AT "runAsUserName", "Invalid value: \".a\\\\a\": " FORM },
        { USER(""),
            AT "runAsUserName",
            "Invalid value: \"\": runAsUserName cannot be an empty string" },
        { USER("a\\tb"),
            AT "runAsUserName",
            "Invalid value: \"a\\tb\": runAsUserName cannot contain control characters" },
        { USER("a\\\\b\\\\c"),
            AT "runAsUserName",
            "Invalid value: \"a\\\\b\\\\c\": runAsUserName cannot contain more than one "
            "backslash" },
        { USER("a\\\\"),
            AT "runAsUserName",
            "Invalid value: \"a\\\\\": runAsUserName's User cannot be empty" },
        { USER(". ."),
            AT "runAsUserName",
            "Invalid value: \". .\": runAsUserName's User cannot contain only periods or spaces" },
        { USER("a@b"),
            AT "runAsUserName",
            "Invalid value: \"a@b\": runAsUserName's User cannot contain the following "
            "characters: \"/\\:;|=,+*?<>@[]" },
        { 0 },
    };
    pod_cases_check(cases);
}
