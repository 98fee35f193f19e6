# shellcheck shell=bash
# Functions of mysql-migrate-db.sh and postgresql-migrate-db.sh, which source this file.
#
# A script defines, before it calls main:
#   DEFAULT_PORT       the port of the server
#   PROGRAMS           the programs that must be installed
#   prepare            called once, after the configuration is read
#   ask SIDE QUERY     run a statement on a side, `nova` or `placement`, and print what it returns
#   existing NAMES     print a query that returns the names, of a list in SQL, that are tables
#   copy               copy the tables; $skip_locks is not empty with --skip-locks

# The revision of the schema that nova_api has; placement-manage goes on from there.
INITIAL_REVISION=b4ed3a175331

ALL_TABLES="allocations placement_aggregates consumers inventories projects
    resource_classes resource_provider_aggregates resource_provider_traits
    resource_providers traits users"

say() { printf '%s\n' "$*"; }
fail() { local status=$1; shift; printf 'ERROR: %s\n' "$*" >&2; exit "$status"; }
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }

make_config() {
    local file=$1
    [[ ! -e $file && ! -L $file ]] || fail 1 "$file exists, and is left as it is."
    # noclobber opens with O_EXCL, which follows no link that is created in the meantime
    (umask 077; set -o noclobber; cat > "$file") <<CONFIG
# Where the tables are, and where they go. This file is read by bash.
NOVA_API_USER="nova"
NOVA_API_PASS="password"
NOVA_API_DB="nova_api"
NOVA_API_DB_HOST="localhost"
NOVA_API_DB_PORT="$DEFAULT_PORT"
PLACEMENT_USER="placement"
PLACEMENT_PASS="password"
PLACEMENT_DB="placement"
PLACEMENT_DB_HOST="localhost"
PLACEMENT_DB_PORT="$DEFAULT_PORT"
# Fewer tables only to migrate one after the other.
MIGRATE_TABLES="allocations placement_aggregates consumers inventories projects resource_classes resource_provider_aggregates resource_provider_traits resource_providers traits users"
CONFIG
    say "Fill in $file, then: $0 --migrate $file"
}

read_config() {
    local name
    [[ -r $1 ]] || fail 1 "$1 cannot be read."
    # without a slash, bash searches PATH first
    # shellcheck disable=SC1090
    source "$(realpath -- "$1")"
    : "${NOVA_API_DB_HOST:=localhost}" "${NOVA_API_DB_PORT:=$DEFAULT_PORT}"
    : "${PLACEMENT_DB_HOST:=localhost}" "${PLACEMENT_DB_PORT:=$DEFAULT_PORT}"
    : "${MIGRATE_TABLES:=$ALL_TABLES}"
    for name in {NOVA_API,PLACEMENT}_{USER,PASS,DB}; do
        [[ -n ${!name+set} ]] || fail 1 "$name is not set in $1."
    done
    read -ra tables <<< "$(tr '\n' ' ' <<< "$MIGRATE_TABLES")"
    for name in "${tables[@]}"; do
        [[ $name =~ ^[a-z_]+$ ]] || fail 1 "$name is not the name of a table."
    done
}

# Print which of the tables a side has.
present() {
    local names
    names=$(printf ", '%s'" "${tables[@]}")
    ask "$1" "$(existing "${names#, }")" | tr '\n' ' '
}

check() {
    local program side found table
    for program in "${PROGRAMS[@]}"; do
        command -v "$program" > /dev/null || fail 2 "$program is not installed."
    done
    for side in nova placement; do
        ask "$side" "SELECT 1" > /dev/null || fail 2 "The database of $side is not reached."
    done
    found=" $(present nova)"
    for table in "${tables[@]}"; do
        [[ $found == *" $table "* ]] || fail 2 "$NOVA_API_DB has no table $table."
    done
    found=$(present placement)
    [[ -z $found ]] || fail 2 "$PLACEMENT_DB is not empty: it has $found"
}

# Print each table of a side, and the number of its rows.
count_rows() {
    local table query=""
    for table in "${tables[@]}"; do
        query+="${query:+ UNION ALL }SELECT CONCAT('$table ', COUNT(*)) FROM $table"
    done
    ask "$1" "$query"
}

verify() {
    local in_nova in_placement table count
    local -A before=() after=()
    in_nova=$(count_rows nova)
    in_placement=$(count_rows placement)
    while read -r table count; do before[$table]=$count; done <<< "$in_nova"
    while read -r table count; do after[$table]=$count; done <<< "$in_placement"
    for table in "${tables[@]}"; do
        [[ ${before[$table]} == "${after[$table]}" ]] || fail 3 \
            "$table has ${before[$table]} rows, and ${after[$table]} were copied."
        say "$table: ${after[$table]} rows"
    done
}

stamp() {
    placement-manage db stamp "$INITIAL_REVISION" || fail 4 "The tables are copied; run" \
        "'placement-manage db stamp $INITIAL_REVISION' where Placement is configured."
    say "Copied. Now run: placement-manage db sync"
}

migrate() {
    read_config "$1"
    prepare
    check
    copy || fail 5 "Not all is copied: empty $PLACEMENT_DB before you try again."
    verify
    stamp
}

main() {
    local action="" file="" skip_locks=""
    while (( $# )); do
        case $1 in
            --mkconfig | --migrate) action=$1 ;;
            --skip-locks)
                # shellcheck disable=SC2034  # the function "copy" reads it
                skip_locks=yes
                ;;
            -h | --help) usage; exit 0 ;;
            -*) usage >&2; exit 1 ;;
            *) [[ -z $file ]] || { usage >&2; exit 1; }; file=$1 ;;
        esac
        shift
    done
    [[ -n $action && -n $file ]] || { usage >&2; exit 1; }
    if [[ $action == --mkconfig ]]; then make_config "$file"; else migrate "$file"; fi
}
