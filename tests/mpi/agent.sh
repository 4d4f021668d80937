#!/bin/sh
# A launch agent for mpirun (plm_rsh_agent): agent.sh HOST COMMAND... starts the command on this machine under another
# host name, so that Open MPI and pccl see several hosts. Needs the right to make a UTS namespace.
host=$1
shift
export TEST_HOST="$host" TEST_COMMAND="$*"
exec unshare --uts sh -c 'hostname "$TEST_HOST" && exec sh -c "$TEST_COMMAND"'
