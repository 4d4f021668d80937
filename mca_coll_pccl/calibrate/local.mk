# The calibration: an MPI program that uses the library's topologies, and nothing of Open MPI's inside.
bin_PROGRAMS += pccl-calibrate
pccl_calibrate_CPPFLAGS = -I$(top_srcdir)/synth/include $(OMPI_CPPFLAGS) $(HWLOC_CFLAGS) \
	-DPCCL_VERSION='"$(PACKAGE_VERSION)"'
pccl_calibrate_LDADD = libpcclsynth.la $(OMPI_LIBS) $(HWLOC_LIBS) -lm
pccl_calibrate_SOURCES = \
	mca_coll_pccl/calibrate/calibrate.h \
	mca_coll_pccl/calibrate/fit.c \
	mca_coll_pccl/calibrate/main.c \
	mca_coll_pccl/calibrate/measure.c \
	mca_coll_pccl/calibrate/pairs.c \
	mca_coll_pccl/calibrate/probe.c \
	mca_coll_pccl/calibrate/report.c \
	mca_coll_pccl/calibrate/survey.c
dist_man_MANS += doc/pccl-calibrate.1
