#pragma once

/* Certificates for tests, valid from 2000 to 2126. The keys protect nothing. */

/* the authority that signed the two below */
#define PEM_CA                                                                                     \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBezCCASGgAwIBAgIUZD5OQayvLKwN+RPvkQ7icC2FfJIwCgYIKoZIzj0EAwIw\n"                           \
    "EjEQMA4GA1UEAwwHdGVzdCBjYTAgFw0wMDAxMDEwMDAwMDBaGA8yMTI2MDEwMTAw\n"                           \
    "MDAwMFowEjEQMA4GA1UEAwwHdGVzdCBjYTBZMBMGByqGSM49AgEGCCqGSM49AwEH\n"                           \
    "A0IABB6ZBcm31znC9ouL8P7RrRbwsN7gIrlXzw8cmlRkDyphDhCPSixYEdgxXa2Y\n"                           \
    "p+C1dklwMSqwi7uy/IOXSUzJ+WKjUzBRMA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0O\n"                           \
    "BBYEFOuanvKRJTScfTnIP3fd/EEDdEYfMB8GA1UdIwQYMBaAFOuanvKRJTScfTnI\n"                           \
    "P3fd/EEDdEYfMAoGCCqGSM49BAMCA0gAMEUCIQDxluDbgNKaybFitEewCX7zvUAG\n"                           \
    "J0JPjngQ7rdTGDYmhgIga0yFTT1kaw7q0iCK7rLjHDaDmDgiq1qz9ZT9RlxVoQo=\n"                           \
    "-----END CERTIFICATE-----\n"
/* an authority that signed nothing */
#define PEM_OTHER_CA                                                                               \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBfDCCASOgAwIBAgIUD3idZ9dmoEJ1eAX5wTra4mSgp28wCgYIKoZIzj0EAwIw\n"                           \
    "EzERMA8GA1UEAwwIb3RoZXIgY2EwIBcNMDAwMTAxMDAwMDAwWhgPMjEyNjAxMDEw\n"                           \
    "MDAwMDBaMBMxETAPBgNVBAMMCG90aGVyIGNhMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"                           \
    "AQcDQgAEuXkGEeaRnyqozcnz5TL7eGyUptptL9U0+EVKjlt0yAmxQPOzd2rLO6V6\n"                           \
    "qFZC6d1nGE15IWmXvmNIsa5FRUbtDaNTMFEwDwYDVR0TAQH/BAUwAwEB/zAdBgNV\n"                           \
    "HQ4EFgQU+n2EKwoubfy1ZIzentcNcYcJ9K4wHwYDVR0jBBgwFoAU+n2EKwoubfy1\n"                           \
    "ZIzentcNcYcJ9K4wCgYIKoZIzj0EAwIDRwAwRAIgF2DcsR8NLw1Ao/guvrea30I0\n"                           \
    "JtFnrHoCTyvrVYi0YSACID/P76IEXSzDTpSE6k735RQ5cMrM8NuUqztKy+bQdS4q\n"                           \
    "-----END CERTIFICATE-----\n"
/* localhost, leeboard.test, 127.0.0.1, ::1 */
#define PEM_SERVER_CERT                                                                            \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBnzCCAUagAwIBAgIBAjAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAd0ZXN0IGNh\n"                           \
    "MCAXDTAwMDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjARMQ8wDQYDVQQDDAZz\n"                           \
    "ZXJ2ZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAS+P0yLRlMguRSl53ihXJhY\n"                           \
    "YJBCYwXwZFBUIfrjvJGTVW3H8hT1ilB9+UqxxRDcOQ0FZVL6qlcvZ8Kumw5GItjr\n"                           \
    "o4GLMIGIMDsGA1UdEQQ0MDKCCWxvY2FsaG9zdIINbGVlYm9hcmQudGVzdIcEfwAA\n"                           \
    "AYcQAAAAAAAAAAAAAAAAAAAAATAJBgNVHRMEAjAAMB0GA1UdDgQWBBRBWglILn3B\n"                           \
    "Ye7O/Q0zKZBJvKsHgzAfBgNVHSMEGDAWgBTrmp7ykSU0nH05yD933fxBA3RGHzAK\n"                           \
    "BggqhkjOPQQDAgNHADBEAiB3GNfJTpwWdfbgX8Llke9lC7Z7rIXoMSNlGdvKxnly\n"                           \
    "eQIgRk/+FnSlypRHIdkAsTVaXuWmEWKbfKsBTabmzwcngH0=\n"                                           \
    "-----END CERTIFICATE-----\n"
#define PEM_SERVER_KEY                                                                             \
    "-----BEGIN PRIVATE KEY-----\n"                                                                \
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAMAs35dc4Cr9gX8a\n"                           \
    "ICaQyGUtThyVijizAae8RzkgmXOhRANCAAS+P0yLRlMguRSl53ihXJhYYJBCYwXw\n"                           \
    "ZFBUIfrjvJGTVW3H8hT1ilB9+UqxxRDcOQ0FZVL6qlcvZ8Kumw5GItjr\n"                                   \
    "-----END PRIVATE KEY-----\n"
/* CN=ada, O=testers, O=sailors */
#define PEM_CLIENT_CERT                                                                            \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBljCCAT2gAwIBAgIBAzAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAd0ZXN0IGNh\n"                           \
    "MCAXDTAwMDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAyMRAwDgYDVQQKDAd0\n"                           \
    "ZXN0ZXJzMRAwDgYDVQQKDAdzYWlsb3JzMQwwCgYDVQQDDANhZGEwWTATBgcqhkjO\n"                           \
    "PQIBBggqhkjOPQMBBwNCAAS46P1mj1EPgizfoL9jBt8edtIux2FtETMGnT4Fb0a/\n"                           \
    "RzvjOgbzRqaM5074kWhl3ZUB3Ac9drinuo5eXqv3rqNpo2IwYDATBgNVHSUEDDAK\n"                           \
    "BggrBgEFBQcDAjAJBgNVHRMEAjAAMB0GA1UdDgQWBBQlpefOWkURW82LjQOqoFu6\n"                           \
    "+PcyuzAfBgNVHSMEGDAWgBTrmp7ykSU0nH05yD933fxBA3RGHzAKBggqhkjOPQQD\n"                           \
    "AgNHADBEAiBPPVDp3KkliW+ocuea5iFI0grEXP08OU4x3rmcIzt+ugIgHdQuT5/C\n"                           \
    "DN/BvMMDFdFKB9HmdFdW+M5CUotQQWUQm4U=\n"                                                       \
    "-----END CERTIFICATE-----\n"
#define PEM_CLIENT_KEY                                                                             \
    "-----BEGIN PRIVATE KEY-----\n"                                                                \
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgf4k14/W8XrxyTtbe\n"                           \
    "ovLwXgNjbVzD030BKMB3PIlGy1ahRANCAAS46P1mj1EPgizfoL9jBt8edtIux2Ft\n"                           \
    "ETMGnT4Fb0a/RzvjOgbzRqaM5074kWhl3ZUB3Ac9drinuo5eXqv3rqNp\n"                                   \
    "-----END PRIVATE KEY-----\n"
