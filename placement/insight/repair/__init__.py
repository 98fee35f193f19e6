"""Plans of repairs, and their application, which need SQLAlchemy 2.0."""

from placement.exception import PlacementException


class NoSQLAlchemy(PlacementException):
    """The client is installed without the library that plans need."""

    template = (
        "A plan needs SQLAlchemy 2.0, which is not installed here. Write the plan with "
        "placement-manage on an API host."
    )


try:
    from sqlalchemy import Engine as Engine  # since 2.0
except ImportError:
    raise NoSQLAlchemy from None
