#include "apiserver/internal.h"
void rest_patch(struct api_call *c)
{
    call_fail(c, status_not_served());
}
