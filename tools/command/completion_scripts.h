/* The scripts of data/completions, which the build makes strings of. */
#ifndef SLUICE_COMPLETION_SCRIPTS_H
#define SLUICE_COMPLETION_SCRIPTS_H

extern const char completion_bash[], completion_zsh[], completion_fish[];

#endif
