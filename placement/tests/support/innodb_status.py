"""The open transactions of a database of MariaDB.

``information_schema.innodb_trx`` is not up to date if several connections read it.
"""

import re
from dataclasses import dataclass

import sqlalchemy as sa

STATUS = "SHOW ENGINE INNODB STATUS"
CONNECTIONS = "SELECT id FROM information_schema.processlist WHERE db = DATABASE()"
# those that only read have an address in place of the number
NUMBER = re.compile(r"(\d+), ACTIVE")
CONNECTION = re.compile(r"thread id (\d+),")


@dataclass(frozen=True)
class Transaction:
    """A transaction that has written or locked something."""

    number: str
    waits_for_lock: bool


def open_transactions(connection: sa.Connection) -> list[Transaction]:
    """Return the open transactions of the database of the connection."""
    status = connection.exec_driver_sql(STATUS).one()[2]
    ids = {str(id_) for id_ in connection.exec_driver_sql(CONNECTIONS).scalars()}
    _, _, text = status.partition("\nTRANSACTIONS\n")
    opened = []
    for part in text.split("---TRANSACTION ")[1:]:
        number, owner = NUMBER.match(part), CONNECTION.search(part)
        if number and owner and owner[1] in ids:
            opened.append(Transaction(number[1], "\nLOCK WAIT " in part))
    return opened
