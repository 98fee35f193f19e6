"""Plans of repairs, and their application, which need SQLAlchemy 2.0."""

try:
    from sqlalchemy import Engine as Engine  # since 2.0
except ImportError:
    raise ImportError(
        "A plan needs SQLAlchemy 2.0, which is not installed here. Write the plan with "
        "placement-manage on an API host."
    ) from None
