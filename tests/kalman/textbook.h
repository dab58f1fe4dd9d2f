/* textbook.h -- the slow, obvious filter and smoother that the library is compared with.
 *
 * In long double: Joseph's update, and a smoother (Bryson-Frazier) that inverts nothing but
 * innovation covariances, so it takes singular Q, R, P0. At most 32 states and 32 entries. */
#ifndef TEXTBOOK_H
#define TEXTBOOK_H

#include "golden.h"

/** Fill g->expected, every output, from g's model and data. */
void textbook_smooth(golden *g);

/** log p(y) of series b from the joint Gaussian of all entries that are present. For small T. */
double textbook_joint_loglik(const golden *g, int64_t b);

#endif
