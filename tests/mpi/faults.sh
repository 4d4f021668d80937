#!/bin/sh
# Shows that the tests can fail: builds the component with one fault at a time, in a copy of one source file, and
# demands that random programs find each. The component without a fault must pass, as must one that finds an accelerator
# everywhere. See launch.sh for the environment;
# needs a build folder in PCCL_BUILD, whose objects are linked with the faulty one.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/mpi/launch.sh"
here=$source/tests/mpi
PCCL_BUILD=$(cd "${PCCL_BUILD:-.}" && pwd)
faulty=$TEST_FOLDER/faulty
mkdir -p "$faulty"

# Expands a text with the variables of the build's Makefile.
make_value() {
    printf 'include Makefile\nfaults-value:\n\t@echo %s\n' "$1" |
        make -s --no-print-directory -C "$PCCL_BUILD" -f - faults-value | tail -n 1
}

# compile_component FILE: the file from the folder of the faulty copy, all others as they were built.
compile_component() {
    # shellcheck disable=SC2086 # flags are words
    $compiler $compile_flags -Wno-error -fPIC -iquote "$source/mca_coll_pccl" -c "$faulty/$1.c" -o "$faulty/$1.o" ||
        return 1
    others=$(printf '%s\n' $objects | grep -v "/la-$1.o\$")
    # shellcheck disable=SC2086
    $compiler -shared -Wl,-z,defs $others "$faulty/$1.o" "$PCCL_BUILD/.libs/libpcclsynth.a" $link_flags \
        -o "$faulty/mca_coll_pccl.so"
}

# insert FILE EDIT: a copy of the source file with the fault; fails if the edit, one of sed, does not fit any more.
insert() {
    sed "$2" "$source/mca_coll_pccl/$1.c" >"$faulty/$1.c"
    ! cmp -s "$source/mca_coll_pccl/$1.c" "$faulty/$1.c"
}

# run_programs NAME SECONDS: on three ranks with small messages, then, if nothing is wrong, on four with all messages
# cut into parts.
run_programs() {
    environment="$(echo "$pccl_environment" | sed "s|$component:|$faulty:|") OMPI_MCA_coll_pccl_verbose=0"
    start "$1-3" "$2" "$environment" -n 3 "$TEST_FOLDER/programs" --number 60
    [ -z "$(trouble)" ] || return 0
    start "$1-4" "$2" "$environment" -n 4 --mca coll_pccl_topology mesh:2x2 --mca coll_pccl_message_limit 100 \
        "$TEST_FOLDER/programs" --number 100 --seed 500
}

# fault NAME FILE EDIT: must be found.
fault() {
    start_command="the compiler"
    if ! insert "$2" "$3"; then
        echo "$2.c has changed" >"$logs/$1.log"
        fail "$1" "the fault does not fit $2.c any more: $3"
    elif ! compile_component "$2" >"$logs/$1.log" 2>&1; then
        fail "$1" "$2.c with the fault does not compile"
    else
        run_programs "fault-$1" 10 # some faults end in waiting for ever
        if [ -n "$(trouble)" ]; then
            pass "fault-$1" "$(trouble)"
        else
            fail "$start_name" "nobody has noticed"
        fi
    fi
}

start_command="the compiler"
compiler=$(make_value '$(CC)')
compile_flags=$(make_value \
    '$(DEFS) -I$(abs_builddir) $(mca_coll_pccl_la_CPPFLAGS) $(mca_coll_pccl_la_CFLAGS) $(CFLAGS)')
objects=$(make_value '$(mca_coll_pccl_la_OBJECTS)' | sed 's|\([^ /]*\)\.lo|.libs/\1.o|g')
link_flags=$(make_value '$(mca_coll_pccl_la_CFLAGS) $(LDFLAGS) $(OMPI_LIBS) -lopen-pal $(HWLOC_LIBS) $(CJSON_LIBS)')
cd "$PCCL_BUILD" # flags may name folders from there
if ! compile programs "$here"/programs/*.c "$here/reductions.c" "$here/check.c" >"$logs/build.log" 2>&1; then
    fail build "the test programs do not compile"
    exit 1
fi

if ! insert local 's/^$/ /' || ! compile_component local >"$logs/build.log" 2>&1; then
    fail build "the component is not linked"
    exit 1
fi
run_programs no-fault 60
judge "$start_name" "0 failures"

# No fault, but a machine that is not here: every buffer is taken for one in the memory of an accelerator.
if ! insert bind 's/return coll_pccl_is_on_device(.*);$/return true;/' ||
    ! compile_component bind >"$logs/build.log" 2>&1; then
    fail build "the component that takes every buffer for one of an accelerator is not built"
    exit 1
fi
run_programs accelerator 60
judge "$start_name" "0 failures"

fault flipped-byte local 's/^\( *\)memcpy(target + lower_bound, source.*$/&\n\1target[lower_bound] ^= 1;/'
fault operands-swapped local \
    's/reduce(execution, target, first, second, units)/reduce(execution, target, second, first, units)/'
fault lost-dependency execute \
    's/i < done ? UINT32_MAX : operations\[i\].num_waits;/i < done ? UINT32_MAX : operations[i].num_waits \/ 2;/'
fault receive-not-awaited execute 's/^\( *\)execution->is_receiving = true;$/\1execution->is_receiving = false;/'
fault wrong-root entry 's/\.root = root,/.root = root > 0 ? root - 1 : 1,/'
fault wrong-tag serve 's/return tag;/return -100;/'
fault missing-completion request 's/^\( *\)complete(request, status);$/\1(void)status;/'
fault stale-input serve \
    's/return coll_pccl_load(execution);/return execution->num_done > 0 ? OMPI_SUCCESS : coll_pccl_load(execution);/'
fault communicator-let-go request 's/^    OBJ_RETAIN(comm);$//'
fault types-let-go keep 's/OBJ_RETAIN(type);/(void)0;/'
fault directions-swapped neighborhood 's/1, &out\[0\], &out\[1\])/1, \&out[1], \&out[0])/'
count_up
