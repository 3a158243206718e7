"""Changes at random: to bytes, to values as JSON has them, to arrays."""

import contextlib
import random
from typing import Any

import numpy as np

TOKENS = (
    rb"""|,|, |-|+|.|e|0|1|9|nan|inf|1e400|1e-400|99999999999999999999|2147483648|-1|1_0|#|1.5|1.0|0x10|'|"|[|{|null"""
)
TOKENS = [*TOKENS.split(b"|"), b"\n", b"\r\n", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xc2\xb2"]
NUMBERS = [0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**53, 10**15, 2**63, 10**30, -(2**63), 0.0, 0.5, -0.5, 1e-308, 1e308]
NUMBERS += [float("nan"), float("inf"), float("-inf")]
TEXTS = ["", "a", "sqrt", "$x^{$", "\ud800", "²", "nan"]
VALUES: list[Any] = [None, True, False, *NUMBERS, *TEXTS, [], {}, [1], {"a": 1}, [[]], [None]]


def changed_bytes(rng: random.Random, content: bytes, n_changes: int | None = None) -> bytes:
    """Change some bytes: flip a bit, delete, insert, repeat, cut."""
    changed = bytearray(content)
    for _ in range(n_changes or rng.choice((1, 1, 1, 2, 5, 20))):
        place = rng.randrange(len(changed) + 1)
        match rng.randrange(7):
            case 0 | 1 if place < len(changed):
                changed[place] ^= 1 << rng.randrange(8)
            case 2:
                del changed[place : place + rng.choice((1, 1, 3, 30))]
            case 3:
                changed[place:place] = rng.choice(TOKENS)
            case 4:
                changed[place:place] = changed[place : place + rng.choice((1, 4, 20))]
            case 5 if place < len(changed):
                changed[place] = rng.randrange(256)
            case 6 if rng.random() < 0.2:
                del changed[place:]
    return bytes(changed)


def changed_lines(rng: random.Random, content: bytes) -> bytes:
    """Change whole lines: delete, repeat, swap, empty."""
    lines = content.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines.insert(place, b"")
        case 4:
            lines[place] = b",".join([lines[place]] * rng.choice((2, 3)))
    return b"\n".join(lines)


def changed_value(rng: random.Random, value: Any) -> Any:
    """Return a value of JSON with something in it changed, somewhere below."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        changed = dict(value)
        match rng.randrange(12):
            case 0:
                del changed[key]
            case 1:
                changed[f"{key}x"] = changed[key]
            case 2:
                changed[key] = rng.choice(list(value.values()))
            case _:
                changed[key] = changed_value(rng, value[key])
        return changed
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        match rng.randrange(10):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case 2:
                return value[::-1]
            case _:
                return [*value[:place], changed_value(rng, value[place]), *value[place + 1 :]]
    if type(value) in (int, float) and rng.random() < 0.4:
        return value + rng.choice((-1, 1, 0.5, -value, value))
    if isinstance(value, str) and value and rng.random() < 0.4:
        return changed_bytes(rng, value.encode(errors="replace"), 1).decode(errors="surrogateescape")
    return rng.choice(VALUES)


def changed_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Return an array with an entry, its type or its shape changed."""
    changed = array.copy()
    match rng.randrange(8):
        case 0 | 1 | 2 | 3 if changed.size and changed.dtype.kind in "iufb":
            flat = changed.reshape(-1)
            kinds = {"i": (-1, -(2**31), 2**31 - 1, 10**9, 0, 1), "f": (np.nan, np.inf, -np.inf, -1.0, 1e308, 1e9, 0.5)}
            values = kinds.get(changed.dtype.kind, (0, 1))
            with np.errstate(all="ignore"):
                flat[rng.randrange(flat.size)] = np.array(rng.choice(values)).astype(changed.dtype)
        case 4:
            names = ("<i4", "<i8", "<i2", "<u1", "<u8", "<f8", "<f4", "<f2", "?", "<c16", "<U3", "S2", ">i4", "<M8[s]")
            with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # of texts that are not numbers
                changed = changed.astype(rng.choice(names))
        case 5 if changed.ndim:
            changed = changed[: rng.randrange(len(changed) + 1)]
        case 6:
            changed = np.concatenate([changed, changed]) if changed.ndim else changed.reshape(1)
        case 7:
            changed = rng.choice((changed.T, changed.reshape(-1), changed[None], np.asfortranarray(changed)))
    return changed
