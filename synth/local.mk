# The synthesizer library: no MPI; linked into the component, the command line and the tests, which thus need no
# installed library. Programs of others get the same code as a shared library that shows what the headers declare.
pcclincludedir = $(includedir)/pccl
pcclinclude_HEADERS = \
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
	synth/include/pccl/verify.h
lib_LTLIBRARIES = libpccl.la
libpccl_la_SOURCES =
libpccl_la_LIBADD = libpcclsynth.la
libpccl_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined -version-info 0:0:0
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = synth/pccl.pc
noinst_LTLIBRARIES += libpcclsynth.la
libpcclsynth_la_CPPFLAGS = -I$(top_srcdir)/synth/include -I$(top_srcdir)/synth $(HWLOC_CFLAGS) $(CJSON_CFLAGS)
libpcclsynth_la_LIBADD = $(HWLOC_LIBS) $(CJSON_LIBS)
libpcclsynth_la_SOURCES = \
	synth/algorithms/algorithm.h \
	synth/algorithms/arcs.c \
	synth/algorithms/arcs.h \
	synth/algorithms/balance.c \
	synth/algorithms/circuits.c \
	synth/algorithms/circuits.h \
	synth/algorithms/clusters.c \
	synth/algorithms/clusters.h \
	synth/algorithms/dimensions.c \
	synth/algorithms/doubling.c \
	synth/algorithms/ejection.c \
	synth/algorithms/estimate.c \
	synth/algorithms/estimate_load.c \
	synth/algorithms/events.c \
	synth/algorithms/events.h \
	synth/algorithms/exchange.c \
	synth/algorithms/exchange.h \
	synth/algorithms/fold.c \
	synth/algorithms/gatherer.c \
	synth/algorithms/greedy.c \
	synth/algorithms/join.c \
	synth/algorithms/lines.c \
	synth/algorithms/lines.h \
	synth/algorithms/matching.c \
	synth/algorithms/matching.h \
	synth/algorithms/meter.c \
	synth/algorithms/meter.h \
	synth/algorithms/mirror.c \
	synth/algorithms/mirror.h \
	synth/algorithms/multicast.c \
	synth/algorithms/multicast.h \
	synth/algorithms/network.c \
	synth/algorithms/network.h \
	synth/algorithms/order.c \
	synth/algorithms/packing.c \
	synth/algorithms/packing.h \
	synth/algorithms/pairwise.c \
	synth/algorithms/portfolio.c \
	synth/algorithms/portfolio.h \
	synth/algorithms/prefix.c \
	synth/algorithms/problem.c \
	synth/algorithms/reverse.c \
	synth/algorithms/ring.c \
	synth/algorithms/rows.c \
	synth/algorithms/slots.c \
	synth/algorithms/slots.h \
	synth/algorithms/symmetry.c \
	synth/algorithms/symmetry.h \
	synth/algorithms/translation.c \
	synth/algorithms/tree.c \
	synth/algorithms/tree.h \
	synth/algorithms/treecast.c \
	synth/algorithms/turning.c \
	synth/algorithms/turning.h \
	synth/algorithms/twins.c \
	synth/algorithms/unicast.c \
	synth/algorithms/unicast.h \
	synth/algorithms/wayfinder.c \
	synth/algorithms/wayfinder.h \
	synth/algorithms/ways.c \
	synth/algorithms/ways.h \
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
	synth/check/bound.c \
	synth/check/bound_cut.c \
	synth/check/bound_flow.c \
	synth/check/bound_grid.c \
	synth/check/bound_latency.c \
	synth/check/bound_price.c \
	synth/check/bounding.h \
	synth/check/expressions.c \
	synth/check/expressions.h \
	synth/check/nearest.c \
	synth/check/nearest.h \
	synth/check/programs.h \
	synth/check/simulate.c \
	synth/check/timeline.c \
	synth/check/timeline.h \
	synth/check/verify_match.c \
	synth/check/verify_program.c \
	synth/check/verify_races.c \
	synth/check/verify_schedule.c \
	synth/check/verify_values.c \
	synth/io/demand.c \
	synth/io/demand.h \
	synth/io/graph.c \
	synth/io/graph.h \
	synth/io/json.c \
	synth/io/json.h \
	synth/io/schedule_read.c \
	synth/io/schedule_write.c \
	synth/io/topology_csv.c \
	synth/io/topology_read.c \
	synth/io/topology_write.c \
	synth/schedule/demand.c \
	synth/schedule/lower.c \
	synth/schedule/lower.h \
	synth/schedule/operations.c \
	synth/schedule/operations.h \
	synth/schedule/program.c \
	synth/schedule/schedule.c \
	synth/schedule/scratch.c \
	synth/schedule/scratch.h \
	synth/topology/builder.c \
	synth/topology/clusters.c \
	synth/topology/fattree.c \
	synth/topology/generators.c \
	synth/topology/generators.h \
	synth/topology/grids.c \
	synth/topology/place.c \
	synth/topology/placement.c \
	synth/topology/placement.h \
	synth/topology/private.h \
	synth/topology/routes.c \
	synth/topology/routes.h \
	synth/topology/search.c \
	synth/topology/search.h \
	synth/topology/spec.c \
	synth/topology/spec.h \
	synth/topology/topology.c
