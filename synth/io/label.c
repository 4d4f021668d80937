#include "io/label.h"

#include <string.h>

void pccl__label_put(FILE *stream, const struct pccl__label *label)
{
    fprintf(stream, " \"made_by\": ");
    pccl__json_put_text(stream, label->maker);
    fprintf(stream, ",\n \"key\": ");
    pccl__json_put_text(stream, label->key);
    fprintf(stream, ",\n");
}

static int check_text(const struct pccl__json_place *top, const cJSON *root, const char *name, const char *expected,
                      struct pccl_error *error)
{
    const char *met = "";
    int status = pccl__json_text(top, root, name, &met, error);
    if (status == 0 && strcmp(met, expected) != 0) {
        status = pccl__json_fail(top, name, error, "is \"%.120s\"; expected \"%.120s\"", met, expected);
    }
    return status;
}

int pccl__label_check(const struct pccl__json_place *top, const cJSON *root, const struct pccl__label *label,
                      struct pccl_error *error)
{
    int status = check_text(top, root, "made_by", label->maker, error);
    return status == 0 ? check_text(top, root, "key", label->key, error) : status;
}
