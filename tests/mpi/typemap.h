/* Random datatypes of which the test itself knows every byte: laid out, filled and read back by arithmetic, without the
 * help of the library that is tested. */
#ifndef TEST_TYPEMAP_H
#define TEST_TYPEMAP_H

#include "check.h"

#define MAX_FIELDS 64
#define MAX_SIGNATURE 5

/* What every rank's type of a call repeats: a list of basic types. */
struct signature {
    int count, basics[MAX_SIGNATURE];
};
void signature_random(struct signature *signature, int count, struct random *random);

struct typemap {
    MPI_Datatype type;
    MPI_Aint extent;
    int copies; /* of the signature in one element */
    int count;  /* of fields, in the order of the stream */
    int sizes[MAX_FIELDS];
    MPI_Aint offsets[MAX_FIELDS];
};

/* A committed type of `copies` signatures, sometimes twice as many: fields in any order, gaps, other bounds (negative
 * ones too), nested in a vector. */
void typemap_random(struct typemap *map, const struct signature *signature, int copies, struct random *random);
/* Makes the type absolute, for use with MPI_BOTTOM: as if its elements began at `address`. */
void typemap_set_origin(struct typemap *map, const void *address);
void typemap_free(struct typemap *map);

/* Writes `count` elements from displacement `first` on. Field number i of the stream gets the low bytes of
 * random_mix(seed, i). `buffer` may be a copy of the one that the call uses. */
void typemap_fill(const struct typemap *map, const struct buffer *buffer, int first, int count, uint64_t seed);
/* The address of a field of an element. */
void *typemap_field(const struct typemap *map, const struct buffer *buffer, int element, int field);

#endif
