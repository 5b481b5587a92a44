"""Memories in many languages, identifiers and addresses, found by their words alone."""

from __future__ import annotations

from typing import Any

import pytest

from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember_many

pytestmark = pytest.mark.django_db

STORED = [
    "notice period is 60 days",
    "The last meeting was long, and it did not do much.",
    "Die Kündigungsfristen der Wohnungen sind drei Monate",
    "Der Hund der Nachbarin bellt die ganze Nacht.",
    "Los niños fueron al parque un día de abril",
    "El perro de Marta se llama Toby.",
    "La ville était belle, et nous avons marché",
    "Моя сестра живёт в Москве.",
    "外币汇率换算的程序已经写好了",
    "我养了一只猫。",
    "明日は東京駅で会いましょう",
    "우리는 학교에 갔다",
    "ฉันซื้อที่ดินในเชียงใหม่",
    "ذهبنا إلى مدرسة جديدة",
    "मैंने एक किताब खरीदी",
    "Un café près de la gare",
    "Write to caroline.dubois@example.org about the offer",
    "The deploy script is ops/deploy/release_notes.py",
    *[f"Part ZX-{number} was ordered" for number in (4417, 4418, 4419, 4420, 4491, 4199, 1944)],
    "Part ZY-4419 was ordered, the part of ZX fame",
]


@pytest.fixture
def world(alice: Actor, settings: Any) -> Actor:
    settings.EMBEDDING_PROVIDER = "none"
    remember_many(actor=alice, drafts=[Draft(text=text) for text in STORED])
    return alice


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how long does the notice period last", "notice period is 60 days"),
        ("Welche Kündigungsfrist hat die Wohnung?", "Die Kündigungsfristen der Wohnungen sind drei Monate"),
        ("Kundigungsfristen", "Die Kündigungsfristen der Wohnungen sind drei Monate"),
        ("¿Qué día fueron los niños?", "Los niños fueron al parque un día de abril"),
        ("el niño", "Los niños fueron al parque un día de abril"),
        ("dia ninos", "Los niños fueron al parque un día de abril"),
        ("quelles villes étaient belles", "La ville était belle, et nous avons marché"),
        ("Где живут сёстры?", "Моя сестра живёт в Москве."),
        ("сестра москва", "Моя сестра живёт в Москве."),
        ("外币汇率换算", "外币汇率换算的程序已经写好了"),
        ("汇率", "外币汇率换算的程序已经写好了"),
        ("猫", "我养了一只猫。"),
        ("東京駅", "明日は東京駅で会いましょう"),
        ("학교", "우리는 학교에 갔다"),
        ("ที่ดิน", "ฉันซื้อที่ดินในเชียงใหม่"),
        ("المدرسة", "ذهبنا إلى مدرسة جديدة"),
        ("किताबें", "मैंने एक किताब खरीदी"),
        ("CAFE pres", "Un café près de la gare"),
        ("ZX-4419", "Part ZX-4419 was ordered"),
        ("zx-4491", "Part ZX-4491 was ordered"),
        ("ZX4418 or ZX-4418?", "Part ZX-4418 was ordered"),
        ("dubois", "Write to caroline.dubois@example.org about the offer"),
        ("caroline.dubois@example.org", "Write to caroline.dubois@example.org about the offer"),
        ("release_notes.py", "The deploy script is ops/deploy/release_notes.py"),
        ("release notes", "The deploy script is ops/deploy/release_notes.py"),
    ],
)
def test_the_right_memory_comes_first(world: Actor, query: str, first: str) -> None:
    answer = recall(actor=world, request=RecallRequest(query=query, reinforce=False, record=False))
    assert not answer.fallback
    assert answer.hits[0].memory.text == first
    assert answer.hits[0].matched
