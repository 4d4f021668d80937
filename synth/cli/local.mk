# The command line.
bin_PROGRAMS += pccl
pccl_CPPFLAGS = -I$(top_srcdir)/synth/include -DPCCL_VERSION='"$(PACKAGE_VERSION)"'
pccl_LDADD = libpcclsynth.la
pccl_SOURCES = \
	synth/cli/main.c
