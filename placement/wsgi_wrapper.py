"""The public name of :mod:`placement.http.request`."""

from placement.http.request import *  # noqa: F403
