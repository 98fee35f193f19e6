"""Prints the default of options of nova as a JSON object; runs in nova's environment."""

import json
import sys

from keystoneauth1 import loading
from nova.conf import CONF

CONF([], project="nova", default_config_files=[])
loading.register_auth_conf_options(CONF, "placement")
for option in loading.get_auth_plugin_conf_options("password"):
    CONF.register_opt(option, group="placement")
defaults = {}
for name in sys.argv[1:]:
    group, _, option = name.removeprefix("[").partition("]")
    values = CONF if group == "DEFAULT" else CONF[group]
    has_option = option in values  # get() of oslo.config raises another error
    defaults[name] = values[option] if has_option else "no such option"
print(json.dumps(defaults))
