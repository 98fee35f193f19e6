#!/usr/bin/env bash
# Runs devstack/plugin.sh through the phases of DevStack, in a scratch directory.
#
#   devstack.sh REPOSITORY BIN PORT
#
# DevStack itself is replaced by functions of the same names and arguments. Those that install
# packages write their arguments to the file "calls", and provide the commands in BIN; those of
# lib/placement configure and start the service as far as the plugin depends on it.
set -o errexit -o pipefail

REPOSITORY=$1 INSTALLED=$2 PORT=$3
DEST=$PWD
PLACEMENT_BIN_DIR=$DEST/bin
PLACEMENT_CONF=$DEST/placement.conf
SERVICES=${SERVICES:-placement-api,placement-client}

function is_service_enabled { [[ ,$SERVICES, == *,$1,* ]]; }
function pip_uninstall { echo "pip_uninstall $*" >> calls; return "${PIP_STATUS:-0}"; }
function setup_develop {
    echo "setup_develop $*" >> calls
    mkdir --parents "$PLACEMENT_BIN_DIR"
    ln --symbolic --force "$INSTALLED"/placement-{api,manage,status} "$PLACEMENT_BIN_DIR"
}
function iniset { printf '[%s]\n%s = %s\n' "$2" "$3" "$4" >> "$1"; }

function configure_placement {
    iniset "$PLACEMENT_CONF" placement_database connection "sqlite:///$DEST/placement.sqlite"
    iniset "$PLACEMENT_CONF" api auth_strategy noauth2
}
function start_placement {
    "$PLACEMENT_BIN_DIR/placement-api" --port "$PORT" --config-file "$PLACEMENT_CONF" > log 2>&1 &
    SERVICE=$!
    until curl --silent --fail "http://127.0.0.1:$PORT/"; do
        kill -0 "$SERVICE"
        sleep 0.2
    done
    echo
}
function stop_placement { kill "$SERVICE"; wait "$SERVICE"; }

function run_phase {
    local before after
    before=$(set +o)
    # shellcheck source=devstack/plugin.sh
    source "$REPOSITORY/devstack/plugin.sh" "$@"
    after=$(set +o)
    [[ $before == "$after" ]] || { echo "$* changes shell options" >&2; exit 1; }
    echo "phase $*" >> calls
}

OPENPLACEMENT_DIR=$REPOSITORY
# shellcheck source=devstack/settings
source "$REPOSITORY/devstack/settings"
run_phase override_defaults
run_phase stack pre-install
run_phase stack install
[[ -n ${ONLY_INSTALL:-} ]] && exit
configure_placement
run_phase stack post-config
start_placement
run_phase stack extra
run_phase stack test-config
stop_placement
run_phase unstack
run_phase clean
