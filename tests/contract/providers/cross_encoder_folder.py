"""Builds a tiny but real cross-encoder: it counts the words of the query that stand in the text.

It needs the token types to know which words are whose, so a wrong pair or a missing input changes its scores.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tokenizers
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import models, normalizers, pre_tokenizers, processors

SENTENCE = "where did caroline go to the lake on sunday tom paints a violin word half pair and inside"
SPECIAL = ["[UNK]", "[PAD]", "[CLS]", "[SEP]"]


def build(
    folder: Path, *, outputs: int = 1, longest: int = 64, with_types: bool = True, extra_input: bool = False
) -> Path:
    """Write `model.onnx`, `tokenizer.json` and `tokenizer_config.json`; `outputs` is the width of the answer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": longest}))
    _tokenizer().save(str(folder / "tokenizer.json"))
    onnx.save(_model(outputs, with_types=with_types, extra_input=extra_input), str(folder / "model.onnx"))
    return folder


def _tokenizer() -> tokenizers.Tokenizer:
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *dict.fromkeys(SENTENCE.split())])}
    made = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def _model(outputs: int, *, with_types: bool, extra_input: bool) -> onnx.ModelProto:
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if with_types else [])]
    names += ["pixel_values"] if extra_input else []
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    constants: dict[str, NDArray[Any]] = {
        "last_special": np.array(3, dtype=np.int64),
        "row": np.array([1], dtype=np.int64),
        "column": np.array([2], dtype=np.int64),
        "sum_axes": np.array([1], dtype=np.int64),
        "one": np.array(1, dtype=np.int64),
        "none": np.zeros((1, outputs), dtype=np.float32),
        "yes": np.array([[0.0] * (outputs - 1) + [1.0]], dtype=np.float32),
    }
    node = helper.make_node
    types = "token_type_ids" if with_types else "attention_mask"
    nodes = [
        node("Greater", ["input_ids", "last_special"], ["is_word"]),
        node("Cast", ["is_word"], ["word"], to=TensorProto.INT64),
        node("Mul", ["word", "attention_mask"], ["seen"]),
        node("Mul", ["seen", types], ["of_text"]),
        node("Sub", ["one", types], ["first"]),
        node("Mul", ["seen", "first"], ["of_query"]),
        node("Unsqueeze", ["input_ids", "column"], ["left"]),
        node("Unsqueeze", ["input_ids", "row"], ["right"]),
        node("Equal", ["left", "right"], ["equal_"]),
        node("Cast", ["equal_"], ["equal"], to=TensorProto.INT64),
        node("Unsqueeze", ["of_query", "column"], ["query_left"]),
        node("Unsqueeze", ["of_text", "row"], ["text_right"]),
        node("Mul", ["equal", "query_left"], ["partly"]),
        node("Mul", ["partly", "text_right"], ["shared"]),
        node("ReduceMax", ["shared"], ["found"], axes=[2], keepdims=0),
        node("ReduceSum", ["found", "sum_axes"], ["counted"], keepdims=1),
        node("Cast", ["counted"], ["count"], to=TensorProto.FLOAT),
        node("Mul", ["count", "yes"], ["scaled"]),
        node("Add", ["scaled", "none"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "shared_words",
        inputs,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made
