"""Checksums and validity rules that tell a number with a meaning from any other number."""

from __future__ import annotations

import re
from typing import Final

_BY_LENGTH: Final = (
    "NO15 BE16 DK18 FI18 FK18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 MN20 XK20 CH21 HR21 "
    "LI21 LV21  BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 "
    "ES24 MD24 PK24 RO24  SA24 SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 "
    "SM27 AL28 AZ28 BY28 CY28 DO28  GT28 HN28 HU28 LB28 NI28 PL28 SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 "
    "YE30 MT31 SC31 LC32 RU33 "
)
IBAN_LENGTHS: Final[dict[str, int]] = {entry[:2]: int(entry[2:]) for entry in _BY_LENGTH.split()}
"""Length of an IBAN by country, from the SWIFT registry (ISO 13616)."""

# First digits and length: Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay, Mir, Elo, Maestro.
_ISSUED: Final = re.compile(
    r"(?:4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-59]|[689][0-9])[0-9]{11}|35[2-8][0-9]{13}|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}"
    r"|62[0-9]{14,17}|220[0-4][0-9]{12}|(?:50|5[6-8]|6[0-9])[0-9]{11,17})"
)


def luhn(digits: str) -> bool:
    """Tell whether the last digit is the right check digit (ISO/IEC 7812-1, Luhn)."""
    total = 0
    for index, char in enumerate(reversed(digits)):
        value = int(char) * (1 + index % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Tell whether digits without separators can be the number of a payment card."""
    return _ISSUED.fullmatch(digits) is not None and len(set(digits)) > 1 and luhn(digits)


def is_iban(compact: str) -> bool:
    """Tell whether letters and digits without separators are an IBAN: a country's length, remainder 1 by 97."""
    code = compact.upper()
    if len(code) != IBAN_LENGTHS.get(code[:2]) or not (code[2:4].isdigit() and code.isalnum() and code.isascii()):
        return False
    return int("".join(str(int(char, 36)) for char in code[4:] + code[:4])) % 97 == 1


def is_ssn(digits: str) -> bool:
    """Tell whether nine digits can be a US social security number: no area 000, 666 or 9xx, no part of zeros only."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in {"000", "666"} and area[0] != "9" and group != "00" and serial != "0000"
