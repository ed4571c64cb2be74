/* A C harness is this file, one driver and libmemtest. */
#include "driver.h"

extern const struct driver driver;

int main(int argc, char **argv)
{
    return memtest_main(argc, argv, &driver);
}
