# The benchmark: an ordinary MPI program, without anything of Open MPI's inside or of the library.
bin_PROGRAMS += pccl-bench
pccl_bench_CPPFLAGS = $(OMPI_CPPFLAGS) -DPCCL_VERSION='"$(PACKAGE_VERSION)"'
pccl_bench_LDADD = $(OMPI_LIBS) -lm
pccl_bench_SOURCES = \
	mca_coll_pccl/benchmark/bench.h \
	mca_coll_pccl/benchmark/collectives.c \
	mca_coll_pccl/benchmark/main.c \
	mca_coll_pccl/benchmark/measure.c \
	mca_coll_pccl/benchmark/options.c \
	mca_coll_pccl/benchmark/report.c \
	mca_coll_pccl/benchmark/sides.c
