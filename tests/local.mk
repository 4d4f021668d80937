# Tests: unit tests of the library (cmocka), script tests of the project, tests under mpirun. `make check` runs them all.
#
# A unit test: write tests/unit/test_NOUN.c, add `tests/unit/test_NOUN` to UNIT_TESTS below, in alphabetical order.
if HAVE_CMOCKA
UNIT_TESTS =

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif

AM_CPPFLAGS = -I$(top_srcdir)/synth/include -I$(top_srcdir)/synth $(HWLOC_CFLAGS) $(CJSON_CFLAGS) $(CMOCKA_CFLAGS) \
	-DPCCL_TEST_DATA='"$(abs_top_srcdir)/tests/data"'
LDADD = libpcclsynth.la $(CMOCKA_LIBS)
