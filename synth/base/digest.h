/* FNV-1a, 64 bits, over values in little-endian byte order: the same on every machine. Not cryptographic. */
#ifndef PCCL__DIGEST_H
#define PCCL__DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define PCCL__DIGEST_START UINT64_C(0xcbf29ce484222325)

/* Each returns the digest continued by its argument. */
uint64_t pccl__digest_bytes(uint64_t digest, const void *bytes, size_t count);
uint64_t pccl__digest_u32(uint64_t digest, uint32_t value);
uint64_t pccl__digest_u64(uint64_t digest, uint64_t value);

#endif
