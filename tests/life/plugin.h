#ifndef PLUGIN_H
#define PLUGIN_H

#define PLUGIN_SHOWN __attribute__((visibility("default")))

/* 0, or where it failed. */
PLUGIN_SHOWN int plugin_train(void);
/* The device's size as the library is told. */
PLUGIN_SHOWN unsigned long plugin_device_bytes(void);
/* Whether what the constructor did succeeded. */
PLUGIN_SHOWN extern int plugin_loaded;

#endif
