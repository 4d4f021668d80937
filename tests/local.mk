# Tests: unit tests of the library (cmocka), script tests of the project, tests under mpirun. `make check` runs them;
# tests/all.sh runs these and more.
#
# A unit test: write tests/unit/test_NOUN.c and add tests/unit/test_NOUN to UNIT_TESTS, in alphabetical order.
UNIT_TESTS = \
	tests/unit/test_base \
	tests/unit/test_bound \
	tests/unit/test_classical \
	tests/unit/test_contest \
	tests/unit/test_demand \
	tests/unit/test_fabric \
	tests/unit/test_exchange \
	tests/unit/test_fold \
	tests/unit/test_rounds \
	tests/unit/test_frugal \
	tests/unit/test_generators \
	tests/unit/test_greedy \
	tests/unit/test_hierarchy \
	tests/unit/test_lines \
	tests/unit/test_matching \
	tests/unit/test_memory \
	tests/unit/test_multicast \
	tests/unit/test_parts \
	tests/unit/test_place \
	tests/unit/test_portfolio \
	tests/unit/test_program \
	tests/unit/test_prospects \
	tests/unit/test_quota \
	tests/unit/test_reverse \
	tests/unit/test_routes \
	tests/unit/test_routing \
	tests/unit/test_schedule \
	tests/unit/test_schedule_io \
	tests/unit/test_simulate \
	tests/unit/test_store \
	tests/unit/test_symmetry \
	tests/unit/test_topology \
	tests/unit/test_topology_io \
	tests/unit/test_unicast \
	tests/unit/test_verify_program \
	tests/unit/test_verify_random \
	tests/unit/test_verify_schedule

# Schedules to test with, and a machine to run programs on.
UNIT_SAMPLES = tests/unit/samples.c tests/unit/samples.h
UNIT_TEXT_FILE = tests/unit/text_file.c tests/unit/text_file.h
UNIT_REPLAY = tests/unit/replay.c tests/unit/replay.h
UNIT_SUSPECT = tests/unit/suspect.c tests/unit/suspect.h $(UNIT_SAMPLES)
UNIT_INTERPRETER = tests/unit/interpreter.c tests/unit/interpreter.h
tests_unit_test_classical_SOURCES = tests/unit/test_classical.c tests/unit/sanitized.h $(UNIT_REPLAY)
tests_unit_test_portfolio_SOURCES = tests/unit/test_portfolio.c tests/unit/sanitized.h $(UNIT_REPLAY)
tests_unit_test_bound_SOURCES = tests/unit/test_bound.c tests/unit/open.h $(UNIT_SAMPLES)
tests_unit_test_fabric_SOURCES = tests/unit/test_fabric.c tests/unit/open.h $(UNIT_TEXT_FILE) $(UNIT_SAMPLES)
tests_unit_test_generators_SOURCES = tests/unit/test_generators.c tests/unit/open.h
tests_unit_test_lines_SOURCES = tests/unit/test_lines.c tests/unit/open.h
tests_unit_test_multicast_SOURCES = tests/unit/test_multicast.c tests/unit/open.h
tests_unit_test_parts_SOURCES = tests/unit/test_parts.c tests/unit/open.h
tests_unit_test_place_SOURCES = tests/unit/test_place.c tests/unit/open.h
tests_unit_test_memory_SOURCES = tests/unit/test_memory.c
tests_unit_test_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
	-Wl,--wrap=strdup,--wrap=realpath,--wrap=free,--wrap=qsort
tests_unit_test_routes_SOURCES = tests/unit/test_routes.c tests/unit/open.h
tests_unit_test_routing_SOURCES = tests/unit/test_routing.c tests/unit/open.h $(UNIT_TEXT_FILE)
tests_unit_test_topology_io_SOURCES = tests/unit/test_topology_io.c tests/unit/open.h $(UNIT_TEXT_FILE)
tests_unit_test_program_SOURCES = tests/unit/test_program.c $(UNIT_SAMPLES) $(UNIT_INTERPRETER)
tests_unit_test_store_SOURCES = tests/unit/test_store.c $(UNIT_SAMPLES)
tests_unit_test_simulate_SOURCES = tests/unit/test_simulate.c $(UNIT_SAMPLES)
tests_unit_test_contest_SOURCES = tests/unit/test_contest.c mca_coll_pccl/contest.c mca_coll_pccl/contest.h
tests_unit_test_contest_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_quota_SOURCES = tests/unit/test_quota.c mca_coll_pccl/quota.c mca_coll_pccl/quota.h
tests_unit_test_quota_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_demand_SOURCES = tests/unit/test_demand.c $(UNIT_SAMPLES)
tests_unit_test_schedule_SOURCES = tests/unit/test_schedule.c $(UNIT_SAMPLES)
tests_unit_test_schedule_io_SOURCES = tests/unit/test_schedule_io.c $(UNIT_SAMPLES)
tests_unit_test_verify_program_SOURCES = tests/unit/test_verify_program.c $(UNIT_SUSPECT)
tests_unit_test_verify_random_SOURCES = tests/unit/test_verify_random.c $(UNIT_SUSPECT) $(UNIT_INTERPRETER)
tests_unit_test_verify_schedule_SOURCES = tests/unit/test_verify_schedule.c $(UNIT_SUSPECT)
tests_unit_test_frugal_SOURCES = tests/unit/test_frugal.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY)
tests_unit_test_matching_SOURCES = tests/unit/test_matching.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY)
tests_unit_test_reverse_SOURCES = tests/unit/test_reverse.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY) \
	$(UNIT_SAMPLES)
tests_unit_test_fold_SOURCES = tests/unit/test_fold.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY)
tests_unit_test_rounds_SOURCES = tests/unit/test_rounds.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY) \
	$(UNIT_INTERPRETER)
tests_unit_test_prospects_SOURCES = tests/unit/test_prospects.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY)
tests_unit_test_unicast_SOURCES = tests/unit/test_unicast.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY)
tests_unit_test_symmetry_SOURCES = tests/unit/test_symmetry.c tests/unit/open.h tests/unit/plan.h $(UNIT_REPLAY)

if HAVE_CMOCKA
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif

# For every program without flags of its own, that is for the unit tests.
AM_CPPFLAGS = -I$(top_srcdir)/synth/include -I$(top_srcdir)/synth $(HWLOC_CFLAGS) $(CJSON_CFLAGS) $(CMOCKA_CFLAGS)
LDADD = libpcclsynth.la $(CMOCKA_LIBS) $(HWLOC_LIBS) $(CJSON_LIBS)

# What once broke a reader, and what did not: every file in tests/fuzz/corpus/.
check_PROGRAMS += tests/fuzz/replay
TESTS += tests/fuzz/replay
tests_fuzz_replay_CPPFLAGS = $(AM_CPPFLAGS) -DPCCL_FUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus"'
tests_fuzz_replay_SOURCES = \
	synth/cli/group.c \
	synth/cli/values.c \
	tests/fuzz/files.c \
	tests/fuzz/import.c \
	tests/fuzz/replay.c \
	tests/fuzz/target_csv.c \
	tests/fuzz/target_demand.c \
	tests/fuzz/target_generator.c \
	tests/fuzz/target_group.c \
	tests/fuzz/target_hwloc.c \
	tests/fuzz/target_ibnetdiscover.c \
	tests/fuzz/target_schedule.c \
	tests/fuzz/target_slurm.c \
	tests/fuzz/target_topology.c \
	tests/fuzz/targets.h

# Figures of the synthesizer, case by case: built by `make check`, run by `make bench` (BENCH=TEXT: only cases whose
# section or name contains it).
check_PROGRAMS += tests/bench/synth_bench
tests_bench_synth_bench_SOURCES = \
	tests/bench/bench.h \
	tests/bench/cases.c \
	tests/bench/measure.c \
	tests/bench/reference.c \
	tests/bench/report.c \
	tests/bench/synth_bench.c \
	tests/bench/usage.h
tests_bench_synth_bench_LDADD = $(LDADD) -lm
EXTRA_DIST += tests/bench/reference
.PHONY: bench
bench: tests/bench/synth_bench
	tests/bench/synth_bench -o bench.csv -r $(srcdir)/tests/bench/reference '$(BENCH)'
CLEANFILES += bench.csv

# Plans for thousands of ranks on many nodes, as one of them makes its own: `make bench-nodes`.
check_PROGRAMS += tests/bench/nodes_bench
.PHONY: bench-nodes
bench-nodes: tests/bench/nodes_bench
	tests/bench/nodes_bench

SCRIPT_TESTS = \
	tests/check/bench.sh \
	tests/check/calibrate.sh \
	tests/check/digests.sh \
	tests/check/exports.sh \
	tests/check/install.sh \
	tests/check/layers.sh \
	tests/check/mpi.sh \
	tests/check/readme.sh \
	tests/cli/run.sh
TESTS += $(SCRIPT_TESTS)
# The second runs make in the build directory, which may link what the first looks at.
tests/check/install.log: tests/check/exports.log

# Whole folders only where nothing is built or run in the build directory's folder of the same name.
EXTRA_DIST += $(SCRIPT_TESTS) tests/check/digests.c tests/check/library.c tests/check/archive.sh \
	tests/all.sh tests/build.sh tests/common.sh tests/demo.sh tests/packages.sh tests/unit/run.sh \
	tests/cli/common.sh tests/cli/msccl_replay.py tests/cli/fabrics tests/cli/test_bad_input.sh \
	tests/cli/test_convert.sh tests/cli/test_fabrics.sh tests/cli/test_files.sh tests/cli/test_groups.sh \
	tests/cli/test_import.sh tests/cli/test_plot.sh tests/cli/test_requests.sh \
	tests/cli/test_synth.sh tests/cli/test_usage.sh tests/fuzz/corpus tests/fuzz/entry.c tests/fuzz/fuzz.sh \
	tests/fuzz/json.dict \
	tests/cluster tests/mpi tests/programs tests/regress

# Every test has a time limit.
TEST_EXTENSIONS = .sh
LOG_COMPILER = timeout
AM_LOG_FLAGS = -k 10 300
SH_LOG_COMPILER = timeout
AM_SH_LOG_FLAGS = -k 10 900 $(SHELL)
AM_TESTS_ENVIRONMENT = \
	PCCL_SOURCE='$(abs_top_srcdir)'; export PCCL_SOURCE; \
	PCCL_BUILD='$(abs_top_builddir)'; export PCCL_BUILD; \
	MPICC='$(MPICC)'; export MPICC; \
	MPIRUN='$(MPIRUN)'; export MPIRUN; \
	OMPI_INFO='$(OMPI_INFO)'; export OMPI_INFO;
