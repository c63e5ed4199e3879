"""Quantities and amounts."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordopt.errors import InvalidInputError
from koordopt.models.units import Format, amount, amounts, format_amount, parse_quantity


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("129e6", 129_000_000, 129_000_000_000),
        ("129E6", 129_000_000, 129_000_000_000),
        ("129M", 129_000_000, 129_000_000_000),
        ("12E", 12 * 10**18, 12 * 10**21),
        ("1Ki", 1024, 1_024_000),
        ("0.1Gi", 107_374_183, 107_374_182_400),
        ("1500m", 2, 1500),
        ("-1500m", -2, -1500),
        ("0.3n", 1, 1),
        (".", 0, 0),
        ("e3", 0, 0),
        ("1e-3", 1, 1),
        ("1e00003", 1000, 1_000_000),
        ("8Ei", 2**63 - 1, (2**63 - 1) * 1000),
        ("9223372036854775808", 2**63, 2**63 * 1000),
        (4, 4, 4000),
        (0.1, 1, 100),
        (1e22, 10**22, 10**25),
    ],
)
def test_quantity_is_exact_and_rounds_away_from_zero(
    text: str | float, value: int, milli: int
) -> None:
    """Units and thousandths are whole numbers, and nothing overflows."""
    quantity = parse_quantity(text)
    assert quantity.value() == value
    assert quantity.milli() == milli


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1\n", "1K", "1ki", "12e", "1e10000", "1e-10000", "1ee3", "0x10", "1.2.3",
     "\uff11", "1e\u0663", "1_000", "NaN", "9" * 2000, float("nan"), float("inf"), True,
     None, [], {}],
)  # fmt: skip
def test_text_that_is_no_quantity_is_refused(text: object) -> None:
    """The message names what was found, and stays short."""
    with pytest.raises(InvalidInputError, match="quantity is") as caught:
        parse_quantity(text)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300


def test_long_exponents_are_read_quickly_and_exactly() -> None:
    """Four digits of exponent are the most, and they do no harm."""
    assert parse_quantity("1e9999").canonical == "1e9999"
    assert parse_quantity("1e-9999").canonical == "1e-9"


def test_sum_is_rounded_up_once() -> None:
    """Three halves of a byte, twice, are three bytes and not four."""
    half = parse_quantity("1500m")
    assert amount("memory", [half, half]) == 3
    assert amount("cpu", [half, half]) == 3000
    assert amount("example.com/gpu", []) == 0
    assert amounts({"cpu": half, "memory": half}.items()) == {"cpu": 1500, "memory": 2}


def test_quantities_compare_by_amount() -> None:
    """How an amount is written plays no part."""
    assert parse_quantity("1") == parse_quantity("1000m")
    assert len({parse_quantity("1Ki"), parse_quantity("1024")}) == 1
    assert parse_quantity("1") < parse_quantity("1Ki") <= parse_quantity("1024")
    assert not parse_quantity("0")
    assert parse_quantity("1") != 1


def test_text_stands_until_the_amount_changes() -> None:
    """A quantity shows the text it was read from; a sum shows the canonical one."""
    quantity = parse_quantity("001")
    assert str(quantity) == "001"
    assert str(quantity + quantity) == "2"
    assert str(quantity - parse_quantity("500m")) == "500m"
    assert repr(quantity) == "parse_quantity('001')"


def test_quantity_is_immutable_and_survives_copies() -> None:
    """Quantities are shared between objects, so nobody may change one."""
    quantity = parse_quantity("4Gi")
    with pytest.raises(AttributeError, match="immutable"):
        quantity.nanos = 1
    with pytest.raises(AttributeError, match="immutable"):
        del quantity.nanos
    for twin in (pickle.loads(pickle.dumps(quantity)), copy.deepcopy(quantity)):
        assert twin == quantity
        assert (twin.style, str(twin)) == (Format.BINARY_SI, "4Gi")


@pytest.mark.parametrize(
    ("resource", "number", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 4 << 30, "4Gi"),
        ("memory", 4, "4"),
        ("hugepages-2Mi", 1 << 21, "2Mi"),
        ("example.com/gpu", 3000, "3000"),
    ],
)
def test_amounts_are_shown_in_the_units_people_use(resource: str, number: int, text: str) -> None:
    """CPU in cores or thousandths, bytes with binary suffixes, counts as they are."""
    assert format_amount(resource, number) == text


@given(
    resource=st.sampled_from(["cpu", "memory", "ephemeral-storage", "example.com/gpu"]),
    number=st.integers(min_value=0, max_value=2**63 - 1),
)
def test_shown_amount_reads_back(resource: str, number: int) -> None:
    """Formatting loses nothing."""
    assert amount(resource, [parse_quantity(format_amount(resource, number))]) == number


@given(
    text=st.from_regex(r"[+-]?[0-9]{0,20}(\.[0-9]{0,20})?(n|u|m|k|M|[KMGTPE]i|[eE]-?[0-9]{1,2})?")
)
def test_canonical_text_reads_back(text: str) -> None:
    """The canonical text stands for the same amount, below the size where suffixes end."""
    try:
        quantity = parse_quantity(text)
    except InvalidInputError:
        return
    if abs(quantity.value()) < 10**21 or quantity.style is Format.DECIMAL_EXPONENT:
        assert parse_quantity(quantity.canonical) == quantity
