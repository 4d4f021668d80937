# Helpers of the tests of the command line; sourced by each.

# check NAME CODE COMMAND...: the command must exit with CODE. Its output is left in out and err.
check()
{
    check_name=$1 expected=$2
    shift 2
    "$@" >out 2>err
    code=$?
    if [ "$code" -ne "$expected" ]; then
        echo "FAIL $check_name: exit code $code instead of $expected: $(head -c 300 err)"
        return 1
    fi
    echo "PASS $check_name"
}

# holds NAME FILE PATTERN: a line of the file matches the extended regular expression.
holds()
{
    if grep -Eq -- "$3" "$2"; then
        echo "PASS $1"
    else
        echo "FAIL $1: nothing like '$3' in $2: $(head -c 300 "$2")"
    fi
}

# refuses NAME CODE PATTERN COMMAND...: exits with CODE after exactly one line "pccl: ..." that matches.
refuses()
{
    check_name=$1 expected=$2 pattern=$3
    shift 3
    "$@" >out 2>err </dev/null
    code=$?
    if [ "$code" -ne "$expected" ]; then
        echo "FAIL $check_name: exit code $code instead of $expected: $(head -c 300 err)"
    elif [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^pccl: ' err; then
        echo "FAIL $check_name: expected one line that begins with 'pccl: ', got: $(head -c 300 err)"
    elif ! grep -Eq -- "$pattern" err; then
        echo "FAIL $check_name: nothing like '$pattern' in: $(head -c 300 err)"
    else
        echo "PASS $check_name"
    fi
}

# same NAME A B: equal files.
same()
{
    if cmp -s "$2" "$3"; then
        echo "PASS $1"
    else
        echo "FAIL $1: $2 and $3 differ"
    fi
}
