#pragma once

/* Certificates for tests, valid for a hundred years. The keys protect nothing. */

/* the authority that signed the two below */
#define PEM_CA                                                                                     \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBejCCASGgAwIBAgIUJuqOE0ds72+4E8dYJN95gcQAPmQwCgYIKoZIzj0EAwIw\n"                           \
    "EjEQMA4GA1UEAwwHdGVzdCBjYTAgFw0yNjExMTUxODE0MjZaGA8yMTI2MTAyMjE4\n"                           \
    "MTQyNlowEjEQMA4GA1UEAwwHdGVzdCBjYTBZMBMGByqGSM49AgEGCCqGSM49AwEH\n"                           \
    "A0IABASyNi7rd1FvbBZmCVQeVDL3lBReDlA9MamY2Ye+zGvQ+yQ3YHgyvfcxbCTF\n"                           \
    "CdhDrvqROiDBSI66Q/DLsSRH77ijUzBRMB0GA1UdDgQWBBROqXaNuvI1KufH8gDX\n"                           \
    "ewdZz2Q1kDAfBgNVHSMEGDAWgBROqXaNuvI1KufH8gDXewdZz2Q1kDAPBgNVHRMB\n"                           \
    "Af8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIHgbO2gvZJd1LII9OSrJ8Rfy4UvG\n"                           \
    "lC9zgELFg6ze1KAFAiBs+oN5CfvR9iuC01eE4y2f+93xiqXGAvD/o5BeRTiQKQ==\n"                           \
    "-----END CERTIFICATE-----\n"
/* an authority that signed nothing */
#define PEM_OTHER_CA                                                                               \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBfTCCASOgAwIBAgIUP9BtL0j3nLYToYOnvl5AI5r4IEQwCgYIKoZIzj0EAwIw\n"                           \
    "EzERMA8GA1UEAwwIb3RoZXIgY2EwIBcNMjYxMTE1MTgxNDI2WhgPMjEyNjEwMjIx\n"                           \
    "ODE0MjZaMBMxETAPBgNVBAMMCG90aGVyIGNhMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"                           \
    "AQcDQgAElokojad5pli/5qoJ9KpAMcZZvAI+YO2qYT/jndFVIaguwdDpARb/r8NP\n"                           \
    "CBhjRC2m2ne1+CLb//AooCBcz+NQeqNTMFEwHQYDVR0OBBYEFEpulmNZFtLt3VTS\n"                           \
    "9LSSvTgg+EtNMB8GA1UdIwQYMBaAFEpulmNZFtLt3VTS9LSSvTgg+EtNMA8GA1Ud\n"                           \
    "EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgdOmYXPAUVjOd3pSOj276m+6b\n"                           \
    "SGbmIGLFmlmefoj5nnICIQCL+ib+a/3NKc1tKbM/93p8v/GTvdSoyjYTCJE0E3CT\n"                           \
    "LA==\n"                                                                                       \
    "-----END CERTIFICATE-----\n"
/* localhost, leeboard.test, 127.0.0.1, ::1 */
#define PEM_SERVER_CERT                                                                            \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBoDCCAUagAwIBAgIBAjAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAd0ZXN0IGNh\n"                           \
    "MCAXDTI2MTExNTE4MTQyNloYDzIxMjYxMDIyMTgxNDI2WjARMQ8wDQYDVQQDDAZz\n"                           \
    "ZXJ2ZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASVKDj+LO/gqlZhxH9i9iev\n"                           \
    "h9kscYEclMKzoneYi8KLyZC9wpEfR4bFglWUBYG5lGxJc7VJth3Uij96DILb6XuS\n"                           \
    "o4GLMIGIMDsGA1UdEQQ0MDKCCWxvY2FsaG9zdIINbGVlYm9hcmQudGVzdIcEfwAA\n"                           \
    "AYcQAAAAAAAAAAAAAAAAAAAAATAJBgNVHRMEAjAAMB0GA1UdDgQWBBSEjMwNQ8FN\n"                           \
    "WrvQ01gcMe4hCGHxODAfBgNVHSMEGDAWgBROqXaNuvI1KufH8gDXewdZz2Q1kDAK\n"                           \
    "BggqhkjOPQQDAgNIADBFAiB6n37KR8lLbHPZfY3+Cwu+oOh4UCuxst85rHBawbqY\n"                           \
    "TwIhAJJ4ZHo95vE2EWNrTTd2IapLvVu9EOBodwo5TI45Z+wJ\n"                                           \
    "-----END CERTIFICATE-----\n"
#define PEM_SERVER_KEY                                                                             \
    "-----BEGIN PRIVATE KEY-----\n"                                                                \
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqZpgTaKdGXH8puBE\n"                           \
    "XF8cTXzMCoUhjxmPvmolbaKU5S2hRANCAASVKDj+LO/gqlZhxH9i9ievh9kscYEc\n"                           \
    "lMKzoneYi8KLyZC9wpEfR4bFglWUBYG5lGxJc7VJth3Uij96DILb6XuS\n"                                   \
    "-----END PRIVATE KEY-----\n"
/* CN=ada, O=testers, O=sailors */
#define PEM_CLIENT_CERT                                                                            \
    "-----BEGIN CERTIFICATE-----\n"                                                                \
    "MIIBlzCCAT2gAwIBAgIBAzAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAd0ZXN0IGNh\n"                           \
    "MCAXDTI2MTExNTE4MTQyNloYDzIxMjYxMDIyMTgxNDI2WjAyMRAwDgYDVQQKDAd0\n"                           \
    "ZXN0ZXJzMRAwDgYDVQQKDAdzYWlsb3JzMQwwCgYDVQQDDANhZGEwWTATBgcqhkjO\n"                           \
    "PQIBBggqhkjOPQMBBwNCAASE3ajQm8+SuaNdTtGOpcGs9/+fa91DsTr1lPK1BubW\n"                           \
    "XtB9Qu1wsuWWpKzfwDXCos8KpTY9pCA6F18hFCx9pQ6oo2IwYDAJBgNVHRMEAjAA\n"                           \
    "MBMGA1UdJQQMMAoGCCsGAQUFBwMCMB0GA1UdDgQWBBSOeKxZvzXQDf6SAnveID2x\n"                           \
    "/kgihjAfBgNVHSMEGDAWgBROqXaNuvI1KufH8gDXewdZz2Q1kDAKBggqhkjOPQQD\n"                           \
    "AgNIADBFAiAzv/qDUTCTItgfruZsUDp5+/bSp0l0f/9o+rtTurBd5QIhAMafiISP\n"                           \
    "37Gj+M49aW2msI2jv5AWZKoM2yHoJzMIug9n\n"                                                       \
    "-----END CERTIFICATE-----\n"
#define PEM_CLIENT_KEY                                                                             \
    "-----BEGIN PRIVATE KEY-----\n"                                                                \
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaIlHemKdNHByS918\n"                           \
    "p3uIuDZtngi6PBmqHBy58aalq2OhRANCAASE3ajQm8+SuaNdTtGOpcGs9/+fa91D\n"                           \
    "sTr1lPK1BubWXtB9Qu1wsuWWpKzfwDXCos8KpTY9pCA6F18hFCx9pQ6o\n"                                   \
    "-----END PRIVATE KEY-----\n"
