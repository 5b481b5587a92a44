from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.privacy import pii
from memory.privacy.pii import KINDS, PiiReport, PiiTier, redact, scan
from memory.privacy.pii.checks import is_card, is_iban, is_ssn, luhn
from tests.unit.text.scaling import assert_linear

JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P-FUP"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdef\nABCDEFGHIJKLMNOP==\n"
    "-----END RSA PRIVATE KEY-----"
)

FOUND = [
    ("My SSN is 123-45-6789", "ssn", "My SSN is [SSN]"),
    ("SSN: 123456789", "ssn_digits", "SSN: [SSN_DIGITS]"),
    ("social security number is 123 45 6789", "ssn_digits", "social security number is [SSN_DIGITS]"),
    ("mail al.b+x@mail.example.co.uk.", "email", "mail [EMAIL]."),
    ("联系al@example.com谢谢", "email", "联系[EMAIL]谢谢"),
    ("メールはal@example.jpです", "email", "メールは[EMAIL]です"),
    ("müller@bücher.example", "email", "[EMAIL]"),
    ("<al@example.com>", "email", "<[EMAIL]>"),
    ("ａｌ＠ｅｘａｍｐｌｅ．ｃｏｍ", "email", "[EMAIL]"),
    ("al@exa\u200bmple.com", "email", "[EMAIL]"),
    ("card 4111-1111-1111-1111 exp 12/27", "credit_card", "card [CREDIT_CARD] exp 12/27"),
    ("4111 1111 1111 1111 12/25", "credit_card", "[CREDIT_CARD] 12/25"),
    ("4111111111111111", "credit_card", "[CREDIT_CARD]"),
    ("4111.1111.1111.1111", "credit_card", "[CREDIT_CARD]"),
    ("amex 3782 822463 10005", "credit_card", "amex [CREDIT_CARD]"),
    ("371449635398431", "credit_card", "[CREDIT_CARD]"),
    ("4222222222222", "credit_card", "[CREDIT_CARD]"),
    ("30569309025904", "credit_card", "[CREDIT_CARD]"),
    ("6304 0000 0000 0000 000", "credit_card", "[CREDIT_CARD]"),
    ("卡号4111１１１１11111111", "credit_card", "卡号[CREDIT_CARD]"),
    ("GB29 NWBK 6016 1331 9268 19", "iban", "[IBAN]"),
    ("DE89370400440532013000 please", "iban", "[IBAN] please"),
    ("de89 3704-0044 0532 0130 00", "iban", "[IBAN]"),
    ("NO93 8601 1117 947", "iban", "[IBAN]"),
    (JWT, "jwt", "[JWT]"),
    ("key AKIAIOSFODNN7EXAMPLE", "aws_key", "key [AWS_KEY]"),
    (f"a\n{PEM}\nb", "private_key", "a\n[PRIVATE_KEY]\nb"),
    ("-----BEGIN EC PRIVATE KEY-----", "private_key", "[PRIVATE_KEY]"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234 cut", "private_key", "[PRIVATE_KEY] cut"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----", "private_key", "[PRIVATE_KEY]"),
    ("Server 192.168.1.100 is up.", "ip_address", "Server [IP_ADDRESS] is up."),
    ("在10.0.0.1上", "ip_address", "在[IP_ADDRESS]上"),
    ("call 555-123-4567", "phone_us", "call [PHONE_US]"),
    ("call (555) 123-4567 now", "phone_us", "call [PHONE_US] now"),
    ("phone: 5551234567", "phone_us", "phone: [PHONE_US]"),
    ("+44 20 7946 0958", "phone_international", "[PHONE_INTERNATIONAL]"),
    ("+1 650-253-0000", "phone_international", "[PHONE_INTERNATIONAL]"),
    ("+1 (555) 123-4567", "phone_international", "[PHONE_INTERNATIONAL]"),
    ("+4915112345678", "phone_international", "[PHONE_INTERNATIONAL]"),
    ("api_key=sk_test_4eC39HqLyjWDarjtT1zdp7dc", "api_key", "api_key=[API_KEY]"),
    ("access_token: abcdefghijklmnopqrstuvwxyz0123456789", "api_key", "access_token: [API_KEY]"),
    ("use ghp_abcdefghij0123456789ABCDEFGHIJ456789", "api_key", "use [API_KEY]"),
    ("Bearer loci_3f9a1c07_Qm7xV2dKp0sLz8RtYb4NwHc6JgEa1UfXiO5TvMk3qZr", "api_key", "Bearer [API_KEY]"),
    ("x-loci_b02d44e1_x-Zt_9PqW3nRk7LmVc5BhJ0sYd2GfEa8UoIi6TvQwXe.", "api_key", "x-[API_KEY]."),
    ("agent_loci_3f9a1c07_Qm7xV2dKp0sLz8RtYb4NwHc6JgEa1UfXiO5TvMk3qZr", "api_key", "agent_[API_KEY]"),
    ("locicap1_ABAB9k3nQv7WcHyl2YbT0aXkABAB9k3nQv7WcHyl2YbT1aXkAAgAAAAAAAAAAQ expired", "api_key", "[API_KEY] expired"),
    ("My password is hunter42", "credential", "My password is [CREDENTIAL]"),
    ("password: hunter42.", "credential", "password: [CREDENTIAL]."),
    ("the password is swordfish", "credential", "the password is [CREDENTIAL]"),
    ("my password is swordfish and I use it", "credential", "my password is [CREDENTIAL] and I use it"),
    ("DB_PASSWORD=Tr0ub4dor&3", "credential", "DB_PASSWORD=[CREDENTIAL]"),
    ('{"password": "a b c", "x": 1}', "credential", '{"password": "[CREDENTIAL]", "x": 1}'),
    ("passphrase is correct horse battery staple", "credential", "passphrase is [CREDENTIAL]"),
    ("PIN: 1234", "credential", "PIN: [CREDENTIAL]"),
    ("postgres://bob:s3cret@db/x", "credential", "postgres://bob:[CREDENTIAL]@db/x"),
    ("my name is Caroline Smith and I paint", "person_name", "my name is [PERSON_NAME] and I paint"),
    ("My name is al", "person_name", "My name is [PERSON_NAME]"),
    ("My name's Ludwig van Beethoven.", "person_name", "My name's [PERSON_NAME]."),
    ("Ich heiße Jürgen", "person_name", "Ich heiße [PERSON_NAME]"),
    ("I live in Berlin, Germany. I like it", "location", "I live in [LOCATION]. I like it"),
    ("I live at 12 Main Street", "location", "I live at [LOCATION]"),
    ("my address is 12 Main St, Springfield.", "address", "my address is [ADDRESS]."),
    ("zip code: 94103", "address", "zip code: [ADDRESS]"),
    ("at 221B Baker Street today", "address", "at [ADDRESS] today"),
    ("my passport is C01X00T47", "government_id", "my passport is [GOVERNMENT_ID]"),
    ("driver's license number: D123-4567", "government_id", "driver's license number: [GOVERNMENT_ID]"),
    (
        "My national insurance number is QQ 12 34 56 C",
        "government_id",
        "My national insurance number is [GOVERNMENT_ID]",
    ),
    ("Mi DNI es 12345678Z", "government_id", "Mi DNI es [GOVERNMENT_ID]"),
    ("我的身份证号是11010519491231002X。", "government_id", "我的身份证号是[GOVERNMENT_ID]。"),
    ("Das Kennwort lautet Regen!2021", "credential", "Das Kennwort lautet [CREDENTIAL]"),
    ("我的密码是qwer8899。", "credential", "我的密码是[CREDENTIAL]。"),
    ("set the password to BlueMoon7 now", "credential", "set the password to [CREDENTIAL] now"),
    ("La clé API est 4f3c2b1a0d9e8f7a6b5c4d3e2f1a0b9c", "api_key", "La clé API est [API_KEY]"),
    ("SSN, 256814407, in full", "ssn_digits", "SSN, [SSN_DIGITS], in full"),
    ("Meine Nummer ist 0171 2345678", "phone_us", "Meine Nummer ist [PHONE_US]"),
    ("手机：13812345678", "phone_us", "手机：[PHONE_US]"),
    ("dial 0044 20 7946 0018 there", "phone_international", "dial [PHONE_INTERNATIONAL] there"),
    ("ping 8.8.8.8 works", "ip_address", "ping [IP_ADDRESS] works"),
    ("They call me Buddy Holt.", "person_name", "They call me [PERSON_NAME]."),
    ("Name: Priya Raman", "person_name", "Name: [PERSON_NAME]"),
    ("Меня зовут Иван Петров.", "person_name", "Меня зовут [PERSON_NAME]."),
    ("我叫王小明。", "person_name", "我叫[PERSON_NAME]。"),
    ("私の名前は田中太郎です。", "person_name", "私の名前は[PERSON_NAME]です。"),
    ("Mieszkam w Krakowie.", "location", "Mieszkam w [LOCATION]."),
    ("我住在上海市浦东新区。", "location", "我住在[LOCATION]。"),
    ("an die Hauptstraße 12, 04109 Leipzig.", "address", "an die [ADDRESS]."),
    ("au 12 rue de Rivoli.", "address", "au [ADDRESS]."),
    ("Мой адрес: ул. Ленина, д. 5, кв. 12", "address", "Мой адрес: [ADDRESS]"),
]

ORDINARY = [
    "I prefer dark mode and Rust",
    "The user prefers dark mode and Rust.",
    "on 2026-01-02 at 10:30, 2026-01-02T15:04:05.123Z, 02.01.2026, in 2024",
    "version 1.2.3, v1.2.3.4, version 10.0.0.1, Python 3.11.7, 1.2.3.4.5, 256.1.1.1",
    "error E-4012 and ticket ZX-4419",
    "$3,500.00 or 1 000 000 or 12.50",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and 9fceb02",
    "1700000000000 ms, 1700000000 s, id 1234567890123",
    "4111 1111 1111 1112 is no card, 0000 0000 0000 0000 neither",
    "GB29 NWBK 6016 1331 9268 18",
    "ssn 666456789, ssn 900123456, ssn 000123456",
    "the password is wrong, the token is expired, the secret is to practise",
    "my password is not stored here; the secret is out",
    "the password is getting old and is written down; the token is something else",
    "max_tokens: 4096, tokens: 12",
    "my name is not important; my name is on the list",
    "I live in a small town. I live in fear.",
    "the passport is in the drawer",
    "the address is wrong; my address is still missing",
    "call me at 5, ring 112, room 555-1234",
    "@mention and a@b and user@localhost",
    "-----BEGIN PUBLIC KEY-----",
    "sk-learn-something-quite-long",
    "20260102150405 20260102-150405",
    "C++ +1000 and 2+2",
    "Release 4.18.2.1, bump foo from 2.3.4.5 to 2.3.4.6, 1.2.3.4-rc1",
    "rated 4.5.5.4 by four testers",
    "+37.7749 -122.4194",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "we live in interesting times; I live in the countryside; Ich wohne in einer WG",
    "they call me every day; 我叫他明天来; Mein Name ist auf der Liste",
    "500 Startups Drive growth; Platz 12; 20 Years Of Wall Street history",
    "my passport expires in 2029; national id field: 20 characters",
    'PASSWORD=${DB_PASSWORD} api_key = os.environ["API_KEY"] password: ********, pass: 12 tests',
    "login(password=password), token: Token, secret: bytes, postgres://bob:…@db/x",
    "La contraseña es obligatoria. Das Passwort ist abgelaufen.",
    "",
]


@pytest.mark.parametrize(("text", "kind", "redacted"), FOUND)
def test_personal_data_is_found_and_replaced(text: str, kind: str, redacted: str) -> None:
    report = scan(text)
    assert report.kinds == (kind,)
    assert report.tier == KINDS[kind]
    assert redact(text, report) == redact(text) == redacted


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert scan(text) == PiiReport()
    assert redact(text) == text


def test_there_are_seventeen_kinds_and_the_table_shows_each() -> None:
    assert len(KINDS) == 17
    assert {kind for _, kind, _ in FOUND} == set(KINDS)
    confidential = {kind for kind, tier in KINDS.items() if tier is PiiTier.CONFIDENTIAL}
    assert confidential == {
        "ssn",
        "ssn_digits",
        "credit_card",
        "iban",
        "government_id",
        "credential",
        "api_key",
        "aws_key",
        "jwt",
        "private_key",
    }
    assert max(len(kind) for kind in KINDS) <= 32


def test_the_highest_tier_wins() -> None:
    report = scan("al@example.com paid with 4111111111111111 from 10.0.0.1")
    assert report.kinds == ("credit_card", "email", "ip_address")
    assert report.tier is PiiTier.CONFIDENTIAL
    assert scan("al@example.com").tier is PiiTier.SENSITIVE
    assert scan("nothing").tier is PiiTier.CLEAR
    assert PiiTier.CLEAR < PiiTier.SENSITIVE < PiiTier.CONFIDENTIAL


def test_places_are_those_of_the_text_as_written() -> None:
    text = "①é 全 ａｌ＠ｅｘａｍｐｌｅ．ｃｏｍ, ﬁne"
    (match,) = scan(text).matches
    assert text[match.start : match.end] == "ａｌ＠ｅｘａｍｐｌｅ．ｃｏｍ"


def test_overlapping_finds_are_one_place_under_the_graver_kind() -> None:
    assert redact("password is al@example.com") == "password is [CREDENTIAL]"
    assert redact("I live at 4111111111111111") == "I live at [CREDIT_CARD]"


def test_a_marker_is_data_already() -> None:
    for text in ("password is [CREDENTIAL]!", "postgres://bob:[CREDENTIAL]@db", "my name is [PERSON_NAME]"):
        assert redact(text) == text
    assert redact("password is [EMAIL]hunter42") == "password is [CREDENTIAL]"


def test_a_text_that_keeps_uncovering_more_goes_as_a_whole() -> None:
    text = "mail al@example.com"
    assert pii._settled(text, scan(text), passes=1) == "mail [EMAIL]"
    assert pii._settled(text, scan(text), passes=0) == "[EMAIL]"


@pytest.mark.parametrize(
    "digits", ["4111111111111111", "378282246310005", "6011111111111117", "3530111333300000", "5555555555554444"]
)
def test_one_wrong_digit_is_no_card(digits: str) -> None:
    assert is_card(digits)
    for at in range(len(digits)):
        for other in set("0123456789") - {digits[at]}:
            assert not luhn(digits[:at] + other + digits[at + 1 :])


@pytest.mark.parametrize(
    "code",
    ["DE89370400440532013000", "FR1420041010050500013M02606", "NO9386011117947", "MT84MALT011000012345MTLCAST001S"],
)
def test_iban_needs_its_length_and_remainder(code: str) -> None:
    assert is_iban(code)
    assert is_iban(code.lower())
    assert not is_iban(code[:-1])
    assert not is_iban(code + "0")
    assert not is_iban(code[:2] + f"{(int(code[2:4]) + 1) % 100:02d}" + code[4:])
    assert not is_iban("ZZ" + code[2:])


def test_ssn_rules() -> None:
    assert is_ssn("123456789")
    assert not any(map(is_ssn, ["000123456", "666123456", "900123456", "123006789", "123450000"]))


FRAGMENTS = [text for text, _, _ in FOUND] + [
    "password is ",
    "my name is ",
    "I live in ",
    "address: ",
    "phone: ",
    "@",
    ".",
    " ",
    "-",
    "\n",
    "1",
    "4111",
    "a",
    "A",
    "é",
    "你",
    "\u200b",
    "[EMAIL]",
    "[",
    "]",
    "://",
    ":",
    "=",
    '"',
    "+",
    "(",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJ",
    "passport no ",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(max_size=120))
@settings(max_examples=600, deadline=None)
def test_redaction_is_stable_and_leaves_nothing(text: str) -> None:
    report = scan(text)
    position = 0
    for match in report.matches:
        assert position <= match.start < match.end <= len(text)
        assert match.kind in KINDS
        position = match.end
    assert report.kinds == tuple(sorted({match.kind for match in report.matches}))
    assert report.tier == max((KINDS[kind] for kind in report.kinds), default=PiiTier.CLEAR)
    redacted = redact(text, report)
    assert not scan(redacted).matches
    assert redact(redacted) == redacted
    assert (redacted == text) == (not report.matches)


@given(
    st.text(st.characters(categories=["L", "Zs", "P"], exclude_characters=":/@"), max_size=60),
    st.sampled_from(["al@example.com", "123-45-6789", JWT]),
)
def test_what_was_found_is_gone(before: str, secret: str) -> None:
    assert secret not in redact(f"{before} {secret} after")


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "1 ",
        "123 ",
        "4111 ",
        "411111111111111 ",
        "1-",
        "a",
        "a@",
        "a@b",
        "@",
        "a@b.co ",
        "GB29",
        "GB29NWBK6016",
        "AB12 ",
        "+1",
        "+",
        "eyJaaaa.",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "-----",
        "password is ",
        'password="',
        "api_key=",
        "loci_",
        "loci_00000000_",
        "locicap1_",
        "secret is a ",
        "my name is ",
        "my name is A ",
        "I live in ",
        "I live in A, ",
        "address: ",
        "address: 1 ",
        "address is ://1-",
        "1 A Bc ",
        "1.",
        "passport number ",
        "://a:",
        "://a:b@",
        "ssn is is ",
        "phone: (",
        " ",
        "\u200b",
        "é",
        "١",
        "[EMAIL]",
        "password is [CREDENTIAL]!",
        "seed phrase is a ",
        "they call me A ",
        "my name is a ",
        "i live in a ",
        "dni es ",
        "passport 1 ",
        "passport no A1 ",
        "我叫王",
        "我住在上",
        "京路",
        "密码是a",
        "Calle A ",
        "Astraße 1 ",
        "1 rue A ",
        "ул. А ",
        "adresse est 1 ",
        "0049 12 ",
        "1.1.1.1 ",
        "bump 1.1.1.1 to ",
        "mi numero ",
        "token: a.b(",
    ],
)
def test_cost_is_linear(unit: str) -> None:
    assert_linear(redact, unit)
