#pragma once

/* Keys and tokens that PyJWT made; the private keys are gone. */

/* clang-format off */
static const char vector_keys[] =
    "{\"keys\":[{\"kid\":\"rsa\",\"kty\":\"RSA\",\"use\":\"sig\",\"n\":\"txHKZQxicWMQE0a9sSL"
    "pw1shzDPSEqXqTukn8rl8C28YkD6Gs6w9mRnbLjLwM3Jf8Bk0-K6IymdkmtR_FSMTrB48X"
    "jJJPov74o_zILLYhLgFed63yw9U6im0aFAK4GsJ8JfoUb4v0-3snSyLr6im5_fVIWZSPnY"
    "v1X9QhkGggwH_HxngoTeH0JSz699S1XnPeHi_4kNCcyeRDwMJR6ooGxF-GAr_3jE7dxg1j"
    "mYfXT2KqtWc9WkULq6W12N7MdiwAdi3iqgq_flDEJVB28VNiAtriuigv2DtCO2dKqs8z6W"
    "YIEFvDiwaiXj3-qnCdsOtrS4PhWJUudBjrB-GQNY-xQ\",\"e\":\"AQAB\"},{\"kid\":\"ES256"
    "\",\"kty\":\"EC\",\"crv\":\"P-256\",\"alg\":\"ES256\",\"x\":\"M0_ZetUWaoau1KLe2tIqPnKe"
    "ptixKm1F4uC081UsynQ\",\"y\":\"1x35nB3RxzPgwFZ2HL9sGuVEdj5-kyMhIxvZg31wVkw\""
    "},{\"kid\":\"ES384\",\"kty\":\"EC\",\"crv\":\"P-384\",\"alg\":\"ES384\",\"x\":\"ySM6PotSX"
    "0oJd59y2FCNum-iQJVpldGTklsH4Z84Yx6OabVHFBgfcWXaLo4OIMQB\",\"y\":\"GaZK723o"
    "9VxNWBgUJ7dvZvt8Uat0tWX-pYZCWB5H_FQN4aq2raT_AS0zYzQroUdX\"},{\"kid\":\"ES5"
    "12\",\"kty\":\"EC\",\"crv\":\"P-521\",\"alg\":\"ES512\",\"x\":\"AGbgGP4pqmGHrzVjH0jbEo"
    "TqJEHWCqs-z6URtadwNzvxH2GD7DNtzEjPwJifavMH6bmWVAvUa_b_SIwil1waKHIh\",\"y"
    "\":\"ARfw3VRW5niinlEkQpu25FFcWYUVzifJ9yKk-MnGHs4tPwrJUqz6gVbUbg0k9b1q5K3"
    "5wG5SJsfg-x0u8z5YxpU_\"},{\"kid\":\"ed\",\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"A"
    "xyrK7NTlUCttEhAhOGXaWsi2DS7ZanrybhDayA__KY\"},{\"kid\":\"short\",\"kty\":\"RSA"
    "\",\"n\":\"nrsumn1HVWc86heJACan5fa0GKaFjDIGV596M0JP2xO28w8HlnUDlR00evQii0k"
    "4maDw5jRDyv1xph01CmDfOIIFyrt31Dbba9414xSEk6Jqh0qTvbkBcAZIdtI40qprKsXzT"
    "_UTo1jw1wH2Lo7FS-pRDHA85vwNuetEvl3clrE\",\"e\":\"AQAB\"},{\"kid\":\"enc\",\"kty\""
    ":\"RSA\",\"use\":\"enc\",\"n\":\"txHKZQxicWMQE0a9sSLpw1shzDPSEqXqTukn8rl8C28YkD"
    "6Gs6w9mRnbLjLwM3Jf8Bk0-K6IymdkmtR_FSMTrB48XjJJPov74o_zILLYhLgFed63yw9U"
    "6im0aFAK4GsJ8JfoUb4v0-3snSyLr6im5_fVIWZSPnYv1X9QhkGggwH_HxngoTeH0JSz69"
    "9S1XnPeHi_4kNCcyeRDwMJR6ooGxF-GAr_3jE7dxg1jmYfXT2KqtWc9WkULq6W12N7Mdiw"
    "Adi3iqgq_flDEJVB28VNiAtriuigv2DtCO2dKqs8z6WYIEFvDiwaiXj3-qnCdsOtrS4PhW"
    "JUudBjrB-GQNY-xQ\",\"e\":\"AQAB\"}]}";

static const struct {
    const char *algorithm, *token;
} vectors[] = {
    { "RS256",
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.Oh3eQ-FifpzzuBRmE-4AYMNeh50pjRR21buXIJSr493y1a0"
    "UDdJnYte70TtSeYRt0NyaIwFZA_RkjkiLtH_5DomjC-hMIc-OjOyI5RGyH2XVkyQ-RA-4P47_VyT1Z_V6GEYCeIX"
    "pp1OMifQRNSCXOFlRdev-4mJr83jnO39DmItTtgAyMDOKRecIzKnJQIH8SvO2avL4fyW477OnYL6TwB_taheKuRv"
    "ESJHPd3kIne2SW-xnDHsoITpJ1IKeiL6mEDpf9vdkcT8Jwexz8q1A-RhkJGc0-2zRIsUb5n3OB7cR8HiYD1m822v"
    "Z4oSruDxnXQhnNi5E-p1s7Za_smOn8Q" },
    { "RS384",
    "eyJhbGciOiJSUzM4NCIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.n8FIET-Oaek6FSbpc7F-jKZLExIwG8Nl-2tNUOCNJ1ZTHki"
    "D4Ps6Ak7i7AKj0fTDyvLoax6CWGITmNAt-EmbL_qY1yezwKaqZJUamNPhuNmZTIEJ4iLjGtrPyxPqNF3IRolb63d"
    "yL459JrApEG42GQYNp9lD9Y1esCE_zsq6ChY8_AvC2MjeSUk1RmmJkBNuYJ4nVGGGhsjL8-L8gXOd3oCrDbdggNg"
    "Ca2_PTvYbCFc7J7KwtoxGq8IAQSflkb5zZSi5T_Z5rjN3YnBXYoqxW4sN5rnx0ss1Vq48Ww9oubavwH8lCbJmZZ4"
    "4vHr_jPdbVcdf78x1adLLVTFfE63Hfw" },
    { "RS512",
    "eyJhbGciOiJSUzUxMiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.lTO3xAPeAnpvFgUkxnGBZypJdcl4E0zHkwp_QYwEoGvOyuT"
    "43cQGsEYz6-LKJK69LQ8kgi85sJR4tcYoeLEe5_vG-YzpE7lCaTU2_OLJc_XtxQ5wGnIQL1HaAIqQLoofAxjS7rB"
    "MUEKnDgd0kGJy2tyko9oSlgLRMFMCr38281eFYt_UFIWBtqqQdFzen_qYAfI_hmbwqpOsXRrlhsMz-Wjp0DM0uD9"
    "l2AquwpYpZqMp3colmG-qrPutxca4hwI1LyI7yh46DBjkModZispCjnHVT0Cf_aFvShdrdyel4tPA0Vw4nz30mLz"
    "W0ymFMQTPPJQ3jA8owbIwjF6tNGn5Dg" },
    { "PS256",
    "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.YwfFZXvZY2cZtn-WI800IoiMnTwWbSTRL7HNI8R5BEZ_0Kt"
    "IYHTUlzvlVhST5VFJuxagTjQwXeyif_E-zvQog4AMicnw7m-zTjrHpu5_GTanfmeLqdVoEWEwgAzlsAfeu85K5IG"
    "XTRpjQpvrJaWjimW6-GPCnvIpPSFb1RYVUQ4QRfvdaYM7X2wznw2yNzraj6S1Ov06MQp3dLjCDSWaisan21Y7eEc"
    "-cZ_nUTnXKkf-wtesJj3CQQmaGwpOnYD1EELa6pas9Ugf8t1w8P_OtVynD6q4UNA0mzYzHvSaYgaPDf3QdauMzs7"
    "_cR9zpOKY8MAFhkHtHbWY0IQsXCtk7g" },
    { "PS384",
    "eyJhbGciOiJQUzM4NCIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.LfKsE1xjC2MTONtxEmLmAL5E65-relK54Eue7E65Jzu5BoK"
    "dJ2rCPVhvEz5ZXgbqOv0P3K2j2Nj8d_EmXu1vXsmK5b_V9nmWzV_gx-Y1uzWNbKb7-_xwcbxKX7yaQNgFXw8mT8O"
    "LAWq1wlthmDQdPTjFsqpfFfHWLwdWPrnFhKwyMje3jYLXiT9a7QkPoIrFWBqu2BzRcFazYTxPEexl6JBV8prU9M4"
    "V3C3HKjHZ0NzMmKN30lFhp1jnYGOoqrDEmU9aQhtILyhNrlhyGKbeMBNJfcIKT0Rk3K5icL5idKR3fiY-6gWMdNs"
    "LOBPLdmfQUBT1b5a0E2Xt4TBO3uhTUw" },
    { "PS512",
    "eyJhbGciOiJQUzUxMiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.RaYy_Aa3sYZz9vGqxQ57u7bbobD6Biet2xXXQgb_eyrUU7l"
    "2tqQ9KcZP6VvxIPCK5z-s8nBWol25IZiKFyjxIIrePwOsLSncKlgIXbXfjJvdxgrXM6itExUu7zp9FVQ6TkwB_xh"
    "lNGdRBn7MKg0E5HEd3vS68x0l3H2dLDlK_u4A8bUhfqkXF-NvwGY4pqySyEjB8kGHAACl_Vr7qP62TAOGzMG_uTu"
    "6P5xMPqsnv5t8MeiFkyecgkJNeTBPOxT7IIle532QNZoVQrQaRtvPj2SkvloCxk1sDx_bWUy_gi3jvcFoTjRThMZ"
    "RfIt5QoNBDhQgOMUjIHY123krqnW5ig" },
    { "ES256",
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IkVTMjU2IiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwi"
    "YXVkIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.-qIdFs24nnH1Dr_Hop2fQfWxxnY0C6HIImqRskVBFVux"
    "o1DL5jr0bid0siMlu5bJcZWYdIqZ5zdCH2W3v5c4Tg" },
    { "ES384",
    "eyJhbGciOiJFUzM4NCIsImtpZCI6IkVTMzg0IiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwi"
    "YXVkIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.6wbGNXF2dKFlZcZj4HhqRpChFWWI-OhCqVNgs8YHN2cU"
    "RRvzNYIgfiubPnfZVze3RaniS8h7NXHqwX1adjBqi6icaHy1pEpin340jrG30pGwwbo9LpuhIhAbw7C1jHOn" },
    { "ES512",
    "eyJhbGciOiJFUzUxMiIsImtpZCI6IkVTNTEyIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwi"
    "YXVkIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.AN9SlaN5AEbcuWZv30FtBIImmDRdI5bcWZzlBqS1p3FK"
    "bbfRKwdxFvVHNW6jUmpJaMYB8FYJSmZJ45bgTym-ZS5BAZBPA8_jpaDICj_Ut2HtyV_vWjk7-Vk1qZkDI5rhegjQ"
    "-D1Q7ztx9DG9COYBivEIgidoxlZN80x1IeY7-Hnkd8Pb" },
    { "EdDSA",
    "eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXVk"
    "IjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.a0yUPs7u8BFYLxlgD5_9K77CLdjnMhFsQS-Y1jXDe1VM9yIq"
    "oaNHloIK3PKuqC1UwtcwVk6SrlE2bQWtQXc7BQ" },
};

static const char vector_shared_secret[] =
    "eyJhbGciOiJIUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJpc3MiOiJpIiwiYXV"
    "kIjpbImEiLCJiIl0sImV4cCI6NDEwMjQ0NDgwMH0.QEkuxXXCjiIjBYj_cfMnMzxpY_YgSJGDQ2t2fBZ6Ajc";
/* clang-format on */
