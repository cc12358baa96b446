/* Prints the PCI buses of all devices; with an argument the UUID of the first. */
#include "check.h"

int main(int count, char **arguments)
{
    int devices, bus;
    (void)arguments;
    CUresult result = cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE) {
        puts("no device");
        return 0;
    }
    OK(result);
    OK(cuDeviceGetCount(&devices));
    for (int i = 0; i < devices && count < 2; i++) {
        OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
        printf("%s%d", i ? " " : "", bus);
    }
    CUuuid uuid;
    OK(cuDeviceGetUuid(&uuid, 0));
    for (int i = 0; i < 16 && count > 1; i++)
        printf("%s%02x",
               i == 0                                  ? "GPU-"
               : i == 4 || i == 6 || i == 8 || i == 10 ? "-"
                                                       : "",
               (unsigned char)uuid.bytes[i]);
    puts("");
    return 0;
}
