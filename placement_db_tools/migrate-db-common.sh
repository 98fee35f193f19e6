# shellcheck shell=bash
# Functions of mysql-migrate-db.sh and postgresql-migrate-db.sh, which source this file.
#
# A script defines, before it calls main:
#   DEFAULT_PORT       the port of the server
#   PROGRAMS           the programs that must be installed
#   prepare            called once, after the configuration is read
#   ask SIDE QUERY     run a statement on a side, `nova` or `placement`, and print what it returns
#   exists TABLE       print a query that returns a row if the table exists
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
    # shellcheck disable=SC1090
    source "$1"
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

# Tell how many of the tables a side has, by name.
present() {
    local table
    for table in "${tables[@]}"; do
        [[ -z $(ask "$1" "$(exists "$table")") ]] || printf '%s ' "$table"
    done
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

verify() {
    local table before after
    for table in "${tables[@]}"; do
        before=$(ask nova "SELECT COUNT(*) FROM $table")
        after=$(ask placement "SELECT COUNT(*) FROM $table")
        [[ $before == "$after" ]] || fail 3 "$table has $before rows, and $after were copied."
        say "$table: $after rows"
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
