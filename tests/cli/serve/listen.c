#include "cli/serve/listen.h"
#include "tests/test.h"

TEST(listen_takes_only_addresses_and_localhost_for_this_machine)
{
    static const struct {
        const char *host;
        bool local;
    } rows[] = {
        { "127.0.0.1:11435", true },
        { "[::1]:11435", true },
        { "localhost", true },
        { "LOCALHOST:11435", true },
        { "", true }, /* HTTP/1.0 */
        { "evil.example:11435", false },
        { "localhost.evil.example", false },
        { "127.0.0.1.evil.example", false },
        { "1.2.3.4x", false },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        if (listen_is_local_host(str_of(rows[i].host)) != rows[i].local)
            test_fail(__FILE__, __LINE__, "%s", rows[i].host);
}
