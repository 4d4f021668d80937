# The Open MPI component. It exports one symbol and goes into Open MPI's component directory (or --with-component-dir);
# its help texts go into a directory of their own, whose name is compiled in.
componentdir = $(component_dir)
component_LTLIBRARIES = mca_coll_pccl.la
mca_coll_pccl_la_CPPFLAGS = -I$(top_srcdir)/synth/include $(OMPI_CPPFLAGS) -idirafter $(top_srcdir)/mca_coll_pccl/shim \
	$(HWLOC_CFLAGS) -DPCCL_VERSION='"$(PACKAGE_VERSION)"' -DPCCL_HELP_DIR='"$(pkgdatadir)"'
mca_coll_pccl_la_CFLAGS = $(AM_CFLAGS) $(COMPONENT_CFLAGS)
mca_coll_pccl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -export-symbols-regex '^mca_coll_pccl_component$$'
mca_coll_pccl_la_LIBADD = libpcclsynth.la $(OMPI_LIBS) -lopen-pal $(HWLOC_LIBS)
mca_coll_pccl_la_SOURCES = \
	mca_coll_pccl/agreement.c \
	mca_coll_pccl/agreement.h \
	mca_coll_pccl/archive.h \
	mca_coll_pccl/archive_outcome.c \
	mca_coll_pccl/archive_plan.c \
	mca_coll_pccl/bind.c \
	mca_coll_pccl/buffer.c \
	mca_coll_pccl/cache.c \
	mca_coll_pccl/check.c \
	mca_coll_pccl/check.h \
	mca_coll_pccl/collective.h \
	mca_coll_pccl/compat.h \
	mca_coll_pccl/component.c \
	mca_coll_pccl/component.h \
	mca_coll_pccl/contest.c \
	mca_coll_pccl/contest.h \
	mca_coll_pccl/entry.c \
	mca_coll_pccl/execute.c \
	mca_coll_pccl/execute.h \
	mca_coll_pccl/keep.c \
	mca_coll_pccl/local.c \
	mca_coll_pccl/message.c \
	mca_coll_pccl/module.c \
	mca_coll_pccl/neighborhood.c \
	mca_coll_pccl/neighborhood.h \
	mca_coll_pccl/network.c \
	mca_coll_pccl/pack.c \
	mca_coll_pccl/pack.h \
	mca_coll_pccl/parameters.c \
	mca_coll_pccl/place.c \
	mca_coll_pccl/placement.c \
	mca_coll_pccl/plan.c \
	mca_coll_pccl/plan.h \
	mca_coll_pccl/processors.c \
	mca_coll_pccl/quota.c \
	mca_coll_pccl/quota.h \
	mca_coll_pccl/report.c \
	mca_coll_pccl/report.h \
	mca_coll_pccl/request.c \
	mca_coll_pccl/request.h \
	mca_coll_pccl/select.c \
	mca_coll_pccl/select.h \
	mca_coll_pccl/serve.c \
	mca_coll_pccl/span.h \
	mca_coll_pccl/transport.c \
	mca_coll_pccl/view.c \
	mca_coll_pccl/view.h \
	mca_coll_pccl/world.c \
	mca_coll_pccl/world.h \
	mca_coll_pccl/shim/ompi/mpi/fortran/base/fint_2_int.h

# The directories of a new configure must reach the component.
$(mca_coll_pccl_la_OBJECTS): Makefile

dist_pkgdata_DATA = mca_coll_pccl/help-mpi-coll-pccl.txt
