#!/usr/bin/env bash
# Copy the tables of Placement from the database nova_api into one of their own, in PostgreSQL.
#
# postgresql-migrate-db.sh --mkconfig FILE               write a configuration, to be filled in
# postgresql-migrate-db.sh --migrate [--skip-locks] FILE copy the tables, and stamp the new database
#
# Nothing may write to either database meanwhile; nothing in nova_api is changed. Afterwards run
# `placement-manage db sync`. Exit status: 0 done, 1 wrong usage, 2 not to be migrated as it is,
# 3 copied but not the same, 4 copied but not stamped, 5 not or not wholly copied.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=migrate-db-common.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/migrate-db-common.sh"

DEFAULT_PORT=5432
PROGRAMS=(psql pg_dump placement-manage)

prepare() { :; }

# Run one of PostgreSQL's programs on a side, `nova` or `placement`.
on() {
    local side=$1 program=$2
    shift 2
    if [[ $side == nova ]]; then
        PGPASSWORD=$NOVA_API_PASS "$program" --host="$NOVA_API_DB_HOST" \
            --port="$NOVA_API_DB_PORT" --username="$NOVA_API_USER" --dbname="$NOVA_API_DB" "$@"
    else
        PGPASSWORD=$PLACEMENT_PASS "$program" --host="$PLACEMENT_DB_HOST" \
            --port="$PLACEMENT_DB_PORT" --username="$PLACEMENT_USER" --dbname="$PLACEMENT_DB" "$@"
    fi
}

# Run a statement on a side, and print what it returns.
ask() { on "$1" psql --no-psqlrc --quiet --tuples-only --no-align --command="$2"; }

existing() {
    say "SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename IN ($1) ORDER BY 1"
}

# The dump sees one state without locks. A table's sequence goes with it, and goes on from where
# it is. A dump of PostgreSQL blocks no writers: --skip-locks has no effect.
copy() {
    on nova pg_dump --no-owner --no-privileges --no-comments "${tables[@]/#/--table=public.}" \
        | on placement psql --no-psqlrc --quiet --single-transaction \
            --set=ON_ERROR_STOP=1 --output=/dev/null
}

main "$@"
