/* Training steps told from what else repeats itself in a program. What initialises a model layer by layer, or
 * passes through its layers, repeats itself, too, but uses a small part of the memory, leaves gradients or
 * activations behind, or only copies. */
#ifndef SLUICE_TOOL_TRAINING_H
#define SLUICE_TOOL_TRAINING_H

#include "tools/analyses/steady.h"

struct repetitions {
    struct step *at; /* launches; ascending */
    uint32_t count;
};

/* How alike any two in succession must be. */
enum training_alike {
    TRAINING_UNLIKE,
    TRAINING_SAME_MEMORY,   /* they use the same memory for the most part, and leave as much allocated */
    TRAINING_SAME_LAUNCHES, /* and have as many launches; one at the end that may be several is left out */
    TRAINING_SAME_BUT_ODD,  /* the same, but for single ones between, such as with an evaluation */
};

/* The last repetitions of a kind other than STEADY_RUN: those that sluice saw end, which may be of several
 * steps, or the training steps that the phases tell, but for the last one, whose end is not known. Each has a
 * kernel or a graph and uses a third of `need_bytes`, the most memory that the program had; smaller ones
 * behind them are passed over. None, if one alone would have to be like another. False: out of memory. In
 * either case the caller frees out->at. */
bool training_find(const struct model *model, const struct phases *phases, enum steady_kind kind,
                   uint64_t need_bytes, enum training_alike alike, struct repetitions *out);

#endif
