import pytest

from placement import errors, exception


def kinds(base=exception.PlacementException):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_mistake_is_in_the_table_itself_or_by_its_base(kind):
    assert any(base in errors.TABLE for base in kind.__mro__)


def test_only_what_is_raised_is_in_the_table():
    assert set(errors.TABLE) <= set(kinds())


def test_codes_are_those_of_this_service():
    codes = {error.code for error in errors.TABLE.values()}
    assert len(codes) == 10
    assert all(code.startswith("placement.") for code in codes)


def test_unexpected_exception_is_500():
    assert errors.http_error(ValueError()).status == 500
    assert errors.http_error(exception.PlacementException()).status == 500


def test_the_nearest_base_decides():
    assert errors.http_error(exception.MalformedJson("")).status == 400
    assert errors.http_error(exception.BadQueryValue("")).code == "placement.query.bad_value"
