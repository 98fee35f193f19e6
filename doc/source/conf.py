"""How Sphinx builds the documentation; `make docs` runs it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Placement"
author = "the Placement contributors"
copyright = author
release = version = version_of("openplacement")

extensions = ["reno.sphinxext", "directives"]
exclude_patterns = []

nitpicky = True
highlight_language = "text"  # of messages and logs, in which "not" and "or" are words
# Quotation marks only: "--" in headings is the beginning of an option, and "..." is part of
# messages.
smartquotes_action = "q"
# The lexer for shell sessions does not support quotations that span several lines.
suppress_warnings = ["misc.highlighting_failure"]

# Links of other sites are in the texts of library options only, as examples.
linkcheck_ignore = [r"https?://([^/]*\.)?example\.(org|com)", r"http://127\.0\.0\.1"]

html_theme = "furo"
html_title = "Placement"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False

# `sphinx-build -b man`, for the Debian packages: page, name, description, author, section
man_pages = [
    ("cli/openstack", "openstack-placement", "commands of openstack for Placement", author, 1),
    ("cli/placement-api", "placement-api", "serve the Placement API", author, 1),
    ("cli/placement-compare", "placement-compare", "compare two Placement services", author, 1),
    ("cli/placement-manage", "placement-manage", "maintain the database", author, 1),
    ("cli/placement-status", "placement-status", "check before an upgrade", author, 1),
]
