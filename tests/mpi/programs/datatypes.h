/* Random datatypes of which the test itself knows every byte: laid out, filled and read back by arithmetic, without the
 * help of the library that is tested. */
#ifndef PROGRAMS_DATATYPES_H
#define PROGRAMS_DATATYPES_H

#include "../check.h"

#define MAX_FIELDS 64
#define MAX_ITEMS 4

/* What every rank's type of a call repeats: a list of basic types and of pairs of them. A pair may be one of MPI's pair
 * types at one rank and two fields far apart at another. */
struct signature {
    int num_items, items[MAX_ITEMS];
    int bytes;
};
void signature_random(struct signature *signature, struct random *random);

struct typemap {
    MPI_Datatype type;
    bool predefined; /* must not be freed */
    MPI_Aint extent;
    int copies; /* of the signature in one element; 0: the type is empty */
    int count;  /* of fields, in the order of the stream */
    int sizes[MAX_FIELDS];
    MPI_Aint offsets[MAX_FIELDS];
};

/* A committed type of `copies` signatures, twice as many if `may_double`: fields in any order, gaps, other bounds
 * (negative ones too), nested in one another; or elements that lie between one another's fields, if no more than
 * `room` of them follow each other in a buffer (0: unknown). */
void typemap_random(struct typemap *map, const struct signature *signature, int copies, bool may_double, int room,
                    struct random *random);
/* A committed type without data. */
void typemap_empty(struct typemap *map, struct random *random);
/* Makes the type absolute, for use with MPI_BOTTOM: as if its elements began at `address`. */
void typemap_set_origin(struct typemap *map, const void *address);
void typemap_free(struct typemap *map);

/* Writes `count` elements, the first at `base`. Field i of the stream gets the low bytes of random_mix(seed, i). */
void typemap_fill(const struct typemap *map, void *base, int count, uint64_t seed);
/* The bytes from `base` that `count` elements span: [*low, *high); both 0 if there are none. */
void typemap_span(const struct typemap *map, int count, ptrdiff_t *low, ptrdiff_t *high);

#endif
