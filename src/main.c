#include <stdio.h>

int main(void)
{
    puts("leeboard " LEEBOARD_VERSION);
    return 0;
}
