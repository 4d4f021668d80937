# The synthesizer library: no MPI; linked into the component, the command line and the tests.
noinst_LTLIBRARIES += libpcclsynth.la
libpcclsynth_la_CPPFLAGS = -I$(top_srcdir)/synth/include -I$(top_srcdir)/synth $(HWLOC_CFLAGS) $(CJSON_CFLAGS)
libpcclsynth_la_LIBADD = $(HWLOC_LIBS) $(CJSON_LIBS)
libpcclsynth_la_SOURCES = \
	synth/include/pccl/bound.h \
	synth/include/pccl/demand.h \
	synth/include/pccl/error.h \
	synth/include/pccl/io.h \
	synth/include/pccl/place.h \
	synth/include/pccl/program.h \
	synth/include/pccl/schedule.h \
	synth/include/pccl/simulate.h \
	synth/include/pccl/synth.h \
	synth/include/pccl/topology.h \
	synth/include/pccl/verify.h \
	synth/algorithms/algorithm.h \
	synth/algorithms/doubling.c \
	synth/algorithms/exchange.c \
	synth/algorithms/exchange.h \
	synth/algorithms/gatherer.c \
	synth/algorithms/join.c \
	synth/algorithms/order.c \
	synth/algorithms/pairwise.c \
	synth/algorithms/portfolio.c \
	synth/algorithms/portfolio.h \
	synth/algorithms/problem.c \
	synth/algorithms/reverse.c \
	synth/algorithms/ring.c \
	synth/algorithms/tree.c \
	synth/algorithms/tree.h \
	synth/algorithms/treecast.c \
	synth/algorithms/writer.c \
	synth/base/arena.c \
	synth/base/arena.h \
	synth/base/array.c \
	synth/base/array.h \
	synth/base/bitset.h \
	synth/base/digest.c \
	synth/base/digest.h \
	synth/base/error.c \
	synth/base/error.h \
	synth/base/quantity.c \
	synth/base/quantity.h \
	synth/base/random.c \
	synth/base/random.h \
	synth/io/topology_create.c \
	synth/schedule/demand.c \
	synth/schedule/schedule.c \
	synth/topology/builder.c \
	synth/topology/clusters.c \
	synth/topology/fattree.c \
	synth/topology/generators.c \
	synth/topology/generators.h \
	synth/topology/grids.c \
	synth/topology/private.h \
	synth/topology/routes.c \
	synth/topology/routes.h \
	synth/topology/search.c \
	synth/topology/search.h \
	synth/topology/spec.c \
	synth/topology/spec.h \
	synth/topology/topology.c
