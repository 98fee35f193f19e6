"""All exceptions: one class for each error, one module for each kind of object.

The attributes of an exception have the values that the error is about; its ``template``
is the message for the client, and describes the error. Exceptions are independent of HTTP:
:mod:`placement.errors` maps classes to statuses and codes, and a test checks that
the map is complete. Clients compare parts of the messages; these are part of the API.
"""

from placement.exception.base import *
from placement.exception.http import *
from placement.exception.name import *
from placement.exception.provider import *
