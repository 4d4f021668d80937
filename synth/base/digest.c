#include "base/digest.h"

#define FNV_PRIME UINT64_C(0x100000001b3)

uint64_t pccl__digest_bytes(uint64_t digest, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++) {
        digest = (digest ^ byte[i]) * FNV_PRIME;
    }
    return digest;
}

uint64_t pccl__digest_u32(uint64_t digest, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        digest = (digest ^ (value >> (8 * i) & 0xff)) * FNV_PRIME;
    }
    return digest;
}

uint64_t pccl__digest_u64(uint64_t digest, uint64_t value)
{
    return pccl__digest_u32(pccl__digest_u32(digest, (uint32_t)value), (uint32_t)(value >> 32));
}
