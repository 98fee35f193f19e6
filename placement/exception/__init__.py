"""What can go wrong, a class per mistake, in a module per noun.

An exception carries what it is about as attributes and says itself in one
line. It knows nothing of HTTP: :mod:`placement.errors` maps classes to
statuses and codes, and a test keeps that table total. Clients match parts of
these texts; those parts are facts of the interface.
"""

from placement.exception.allocation import *
from placement.exception.base import *
from placement.exception.http import *
from placement.exception.insight import *
from placement.exception.inventory import *
from placement.exception.name import *
from placement.exception.operation import *
from placement.exception.provider import *
from placement.exception.request import *
