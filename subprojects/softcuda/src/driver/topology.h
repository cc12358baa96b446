/* The machine's devices as in /sys: the folders for the PCI bus, in which programs look up where a device is
 * and which links it shares. */
#ifndef SOFTCUDA_TOPOLOGY_H
#define SOFTCUDA_TOPOLOGY_H

/* Writes bus/pci/devices and devices/ for `count` devices below `folder`, which is created if necessary.
 * Several processes may do so at once. Failures are logged. */
void sc_topology_write(const char *folder, int count);

#endif
