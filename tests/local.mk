# Tests: unit tests of the library (cmocka), script tests of the project, tests under mpirun. `make check` runs them all;
# tests/all.sh runs these and more.
#
# A unit test: write tests/unit/test_NOUN.c and add tests/unit/test_NOUN to UNIT_TESTS, in alphabetical order. Data files
# go into tests/data/ and are opened as PCCL_TEST_DATA "/name".
UNIT_TESTS = \
	tests/unit/test_program

# Schedules to test with, and a machine to run programs on.
UNIT_SAMPLES = tests/unit/samples.c tests/unit/samples.h
UNIT_INTERPRETER = tests/unit/interpreter.c tests/unit/interpreter.h
tests_unit_test_program_SOURCES = tests/unit/test_program.c $(UNIT_SAMPLES) $(UNIT_INTERPRETER)

if HAVE_CMOCKA
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif

# For every program without flags of its own, that is for the unit tests.
AM_CPPFLAGS = -I$(top_srcdir)/synth/include -I$(top_srcdir)/synth $(HWLOC_CFLAGS) $(CJSON_CFLAGS) $(CMOCKA_CFLAGS) \
	-DPCCL_TEST_DATA='"$(abs_top_srcdir)/tests/data"'
LDADD = libpcclsynth.la $(CMOCKA_LIBS) $(HWLOC_LIBS) $(CJSON_LIBS)

SCRIPT_TESTS = tests/check/bench.sh tests/check/exports.sh tests/check/install.sh tests/check/layers.sh tests/check/readme.sh
TESTS += $(SCRIPT_TESTS)
# The second runs make in the build directory, which may link what the first looks at.
tests/check/install.log: tests/check/exports.log

EXTRA_DIST += $(SCRIPT_TESTS) tests/all.sh tests/build.sh tests/common.sh tests/demo.sh tests/packages.sh tests/valgrind.sh

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
