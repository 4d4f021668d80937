__attribute__((visibility("default"))) int mca_coll_pccl_component;
