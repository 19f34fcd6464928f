"""The two bases of every record that crosses a process, file or network border.

`Record` is what we write ourselves: frozen, no unknown keys. `Input` is what a person or another program
writes: the same, but surrounding blanks are dropped. In both a number in quotes is a number, and NaN and
infinity are none; in what comes from outside true and false are no numbers either.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

if TYPE_CHECKING:
    from pydantic import ValidationError, ValidationInfo

LAST_MS = 253_402_300_799_999
"""The end of the year 9999: the last moment that can be written as a date."""

MicroUsd = Annotated[int, Field(ge=0, description="millionths of a US dollar")]
EpochMs = Annotated[int, Field(ge=0, le=LAST_MS, description="UTC milliseconds since 1970")]
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$", description="full git object name")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Code = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=64)]


class Record(BaseModel):
    """A value of ours: frozen, no unknown keys."""

    # Built when it is first used: no process uses more than a part of them, and each keeps all that it built.
    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="null", allow_inf_nan=False, defer_build=True
    )


class Input(BaseModel):
    """A value from outside: frozen, no unknown keys, surrounding blanks dropped."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False, defer_build=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _number_is_no_flag(cls, value: object, info: ValidationInfo) -> object:
        """Refuse true and false where a number is meant: Python would take them for 1 and 0."""
        if isinstance(value, bool) and _takes_numbers(cls.model_fields[str(info.field_name)].annotation):
            raise ValueError("must be a number")
        return value


def _takes_numbers(annotation: object) -> bool:
    """Tell whether a field of this type is for numbers, perhaps among others, and not for a flag."""
    kinds = _kinds_in(annotation)
    return bool not in kinds and any(kind in kinds for kind in (int, float, Decimal))


def _kinds_in(annotation: object) -> list[object]:
    parts = get_args(annotation)
    return [kind for part in parts for kind in _kinds_in(part)] if parts else [annotation]


def faults_of(error: ValidationError, *, whole: str) -> tuple[str, ...]:
    """Say what is wrong with a record, field by field, without repeating what it holds.

    Args:
        error: pydantic's complaint.
        whole: what to call the record itself, where no field is to blame.
    """
    listed = error.errors(include_url=False, include_input=False)
    return tuple(f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg']}" for fault in listed)
