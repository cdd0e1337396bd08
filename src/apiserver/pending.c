/* Parts of the server that are being written beside this one: the program links without them, and
 * nothing calls them yet. This file goes when they come. */

#define PENDING(symbol) __asm__(".weak " #symbol "\n" #symbol ": ud2\n")

PENDING(apiserver_env);
PENDING(apiserver_read);
PENDING(apiserver_registry);
PENDING(apiserver_store);
PENDING(apiserver_auth);
PENDING(apiserver_cancel);
PENDING(apiserver_flush);
PENDING(apiserver_free);
PENDING(apiserver_is_pending);
PENDING(apiserver_new);
PENDING(apiserver_open);
PENDING(apiserver_resume);
PENDING(field_errors_init);
PENDING(field_errors_text);
PENDING(field_invalid);
PENDING(registry_at);
PENDING(registry_find);
PENDING(registry_generation);
