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
	synth/algorithms/join.c \
	synth/algorithms/reverse.c \
	synth/base/arena.c \
	synth/base/arena.h \
	synth/base/array.c \
	synth/base/array.h \
	synth/base/bitset.h \
	synth/base/digest.c \
	synth/base/digest.h \
	synth/base/error.c \
	synth/base/error.h \
	synth/base/random.c \
	synth/base/random.h \
	synth/schedule/demand.c \
	synth/schedule/schedule.c
