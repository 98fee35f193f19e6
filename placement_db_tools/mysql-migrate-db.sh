#!/usr/bin/env bash
# Copy the tables of Placement from the database nova_api into one of their own, in MySQL and MariaDB.
#
# mysql-migrate-db.sh --mkconfig FILE               write a configuration, to be filled in
# mysql-migrate-db.sh --migrate [--skip-locks] FILE copy the tables, and stamp the new database
#
# Nothing may write to either database meanwhile; nothing in nova_api is changed. Afterwards run
# `placement-manage db sync`. Exit status: 0 done, 1 wrong usage, 2 not to be migrated as it is,
# 3 copied but not the same, 4 copied but not stamped, 5 not or not wholly copied.
set -euo pipefail

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
    [[ ! -e $file ]] || fail 1 "$file exists, and is left as it is."
    (umask 077; cat > "$file") <<'CONFIG'
# Where the tables are, and where they go. This file is read by bash.
NOVA_API_USER="nova"
NOVA_API_PASS="password"
NOVA_API_DB="nova_api"
NOVA_API_DB_HOST="localhost"
NOVA_API_DB_PORT="3306"
PLACEMENT_USER="placement"
PLACEMENT_PASS="password"
PLACEMENT_DB="placement"
PLACEMENT_DB_HOST="localhost"
PLACEMENT_DB_PORT="3306"
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
    : "${NOVA_API_DB_HOST:=localhost}" "${NOVA_API_DB_PORT:=3306}"
    : "${PLACEMENT_DB_HOST:=localhost}" "${PLACEMENT_DB_PORT:=3306}"
    : "${MIGRATE_TABLES:=$ALL_TABLES}"
    for name in {NOVA_API,PLACEMENT}_{USER,PASS,DB}; do
        [[ -n ${!name+set} ]] || fail 1 "$name is not set in $1."
    done
    read -ra tables <<< "$(tr '\n' ' ' <<< "$MIGRATE_TABLES")"
    for name in "${tables[@]}"; do
        [[ $name =~ ^[a-z_]+$ ]] || fail 1 "$name is not the name of a table."
    done
}

PROGRAMS=(mysql mysqldump placement-manage)

# Write a file of options for each side: passwords on a command line are seen by everybody.
prepare() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    write_options "$NOVA_API_USER" "$NOVA_API_PASS" "$NOVA_API_DB_HOST" "$NOVA_API_DB_PORT" \
        > "$folder/nova"
    write_options "$PLACEMENT_USER" "$PLACEMENT_PASS" "$PLACEMENT_DB_HOST" "$PLACEMENT_DB_PORT" \
        > "$folder/placement"
}

write_options() {
    local password=${2//\\/\\\\}
    printf '[client]\nuser="%s"\npassword="%s"\nhost="%s"\nport=%s\n' \
        "$1" "${password//\"/\\\"}" "$3" "$4"
}

# Run a statement on a side, `nova` or `placement`, and print what it returns.
ask() {
    local database=$PLACEMENT_DB
    [[ $1 == placement ]] || database=$NOVA_API_DB
    mysql --defaults-extra-file="$folder/$1" --batch --skip-column-names \
        --execute="$2" "$database"
}

exists() { say "SHOW TABLES LIKE '${1//_/\\_}'"; }

# Read under locks on all tables, unless locks are not to be had.
copy() {
    local options=(--no-tablespaces --skip-comments --skip-triggers)
    if [[ -n $skip_locks ]]; then
        options+=(--skip-lock-tables --skip-add-locks --single-transaction)
    fi
    if grep --quiet -- --set-gtid-purged < <(mysqldump --help); then
        options+=(--set-gtid-purged=OFF)
    fi
    mysqldump --defaults-extra-file="$folder/nova" "${options[@]}" "$NOVA_API_DB" "${tables[@]}" \
        | mysql --defaults-extra-file="$folder/placement" "$PLACEMENT_DB"
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
            --skip-locks) skip_locks=yes ;;
            -h | --help) usage; exit 0 ;;
            -*) usage >&2; exit 1 ;;
            *) [[ -z $file ]] || { usage >&2; exit 1; }; file=$1 ;;
        esac
        shift
    done
    [[ -n $action && -n $file ]] || { usage >&2; exit 1; }
    if [[ $action == --mkconfig ]]; then make_config "$file"; else migrate "$file"; fi
}

main "$@"
