#!/usr/bin/env bash
# DevStack plugin: installs this service in place of openstack-placement.
#
# DevStack's lib/placement configures Keystone, the database and uWSGI. It names
# placement.wsgi.api, placement-manage and /etc/placement/placement.conf, which this service has,
# too, so only the installed package is replaced.

# xtrace of DevStack stays as it is while this file runs
_XTRACE_OPENPLACEMENT=$(set +o | grep xtrace)
set +o xtrace

function install_openplacement {
    # both packages contain the Python package "placement"
    pip_uninstall openstack-placement || true
    setup_develop "$OPENPLACEMENT_DIR" postgresql
}

if is_service_enabled placement-api; then
    if [[ "$1" == "stack" && "$2" == "install" ]]; then
        install_openplacement
    elif [[ "$1" == "stack" && "$2" == "post-config" ]]; then
        # lib/placement has run "placement-manage db sync" by now; this applies our migrations
        "$PLACEMENT_BIN_DIR/placement-manage" --config-file "$PLACEMENT_CONF" db sync
    elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
        "$PLACEMENT_BIN_DIR/placement-status" --config-file "$PLACEMENT_CONF" upgrade check
    elif [[ "$1" == "clean" ]]; then
        pip_uninstall openplacement || true
    fi
fi

$_XTRACE_OPENPLACEMENT
