/* The machine's devices as the kernel shows them: folders for the PCI bus, in which programs look where a
 * device is and what it shares with others. */
#ifndef SOFTCUDA_TOPOLOGY_H
#define SOFTCUDA_TOPOLOGY_H

/* Writes bus/pci/devices and devices/ below `folder`, which is made if it is not there, for `count` devices.
 * Several processes may do so at once. What cannot be written is logged. */
void sc_topology_write(const char *folder, int count);

#endif
