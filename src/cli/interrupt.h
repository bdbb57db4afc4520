/* Ctrl-C: asked for between two steps of long work, so that nothing is lost. */
#ifndef EG__INTERRUPT_H
#define EG__INTERRUPT_H

#include <stdbool.h>

void interrupt_begin(void); /* from now on Ctrl-C is remembered; a second one ends the program */
void interrupt_end(void);
bool interrupted(void);

#endif
