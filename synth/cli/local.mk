# The command line.
bin_PROGRAMS += pccl
pccl_CPPFLAGS = -I$(top_srcdir)/synth/include -DPCCL_VERSION='"$(PACKAGE_VERSION)"'
pccl_LDADD = libpcclsynth.la -lm
pccl_SOURCES = \
	synth/cli/cli.h \
	synth/cli/command_convert.c \
	synth/cli/command_explain.c \
	synth/cli/command_plot.c \
	synth/cli/command_simulate.c \
	synth/cli/command_synth.c \
	synth/cli/command_topology.c \
	synth/cli/command_verify.c \
	synth/cli/convert.h \
	synth/cli/convert_csv.c \
	synth/cli/convert_msccl.c \
	synth/cli/errors.c \
	synth/cli/draw.c \
	synth/cli/explain.h \
	synth/cli/explain_methods.c \
	synth/cli/group.c \
	synth/cli/import.c \
	synth/cli/load.c \
	synth/cli/main.c \
	synth/cli/metrics.c \
	synth/cli/metrics.h \
	synth/cli/metrics_cut.c \
	synth/cli/metrics_cut.h \
	synth/cli/options.c \
	synth/cli/output.c \
	synth/cli/pattern.c \
	synth/cli/plot.h \
	synth/cli/plot_colour.c \
	synth/cli/plot_layout.c \
	synth/cli/plot_load.c \
	synth/cli/plot_svg.c \
	synth/cli/plot_times.c \
	synth/cli/progress.c \
	synth/cli/ranks.c \
	synth/cli/request.c \
	synth/cli/reroute.c \
	synth/cli/synthesis.c \
	synth/cli/values.c

dist_man_MANS += doc/pccl.1
