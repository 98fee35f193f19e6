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

# shellcheck source-path=SCRIPTDIR source=migrate-db-common.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/migrate-db-common.sh"

DEFAULT_PORT=3306
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

existing() {
    say "SELECT table_name FROM information_schema.tables
        WHERE table_schema = DATABASE() AND table_name IN ($1) ORDER BY 1"
}

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

main "$@"
