#include <stdio.h>

int main(void)
{
    puts("pccl " PCCL_VERSION);
    return 0;
}
