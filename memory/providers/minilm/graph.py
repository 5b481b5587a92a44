"""Write the sentence encoder as an ONNX graph: BERT layers, mean pooling over the attention mask, unit length.

Only the build imports this module, because `onnx` and `safetensors` are large and serve nothing afterwards.
Attention is onnxruntime's fused operator: a tenth faster than the same in plain operators, and it needs less memory
for long texts, since the scores of all heads are never held at once.

References: Devlin et al., BERT (2019); Reimers and Gurevych, Sentence-BERT (2019), mean pooling.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

OPSET = 20
IR_VERSION = 9
FUSED = "com.microsoft"
# Tensors from this size on lie in the weights file, which the runtime maps instead of copying.
INLINE_BYTES = 1024


class EncoderGraph:
    """Collects nodes and weights of one encoder; `model` gives the finished graph."""

    def __init__(self, weights: dict[str, NDArray[Any]], config: dict[str, Any], positions: int) -> None:
        """Take the published weights, the model's configuration and the largest number of tokens to support."""
        self._weights = weights
        self._config = config
        self._positions = positions
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        """Assemble and check the graph: `input_ids` and `attention_mask` in, two outputs to choose from.

        `sentence` is one unit vector per text; `tokens` are the last states that it is the mean of, one per token.
        """
        width = int(self._config["hidden_size"])
        mask = self._node("Cast", "attention_mask", to=TensorProto.INT32)
        hidden = self._embeddings()
        layers = int(self._config["num_hidden_layers"])
        for layer in range(layers):
            output = "tokens" if layer == layers - 1 else None
            hidden = self._layer(hidden, mask, f"encoder.layer.{layer}.", output)
        self._pooled(hidden, "sentence")
        shape = ["batch", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "sentence_encoder",
            [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in ("input_ids", "attention_mask")],
            [
                helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["batch", width]),
                helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [*shape, width]),
            ],
            self._constants,
        )
        operators = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
        model = helper.make_model(graph, opset_imports=operators, ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _embeddings(self) -> str:
        weights = self._weights
        words = self._constant("words", weights["embeddings.word_embeddings.weight"])
        # Every token is of the first sentence, so its type vector can be added to the positions once, here.
        types = weights["embeddings.token_type_embeddings.weight"][0]
        places = self._constant("places", weights["embeddings.position_embeddings.weight"][: self._positions] + types)
        shape = self._node("Shape", "input_ids")
        zero, one, two = (self._constant(f"at_{n}", np.array([n], np.int64)) for n in (0, 1, 2))
        length = self._node("Slice", shape, one, two)
        used = self._node("Slice", places, zero, length, zero)
        return self._norm(self._node("Add", self._node("Gather", words, "input_ids"), used), "embeddings.LayerNorm")

    def _layer(self, hidden: str, mask: str, name: str, result: str | None = None) -> str:
        attended = self._attention(hidden, mask, f"{name}attention.self.")
        attended = self._linear(attended, f"{name}attention.output.dense")
        hidden = self._norm(self._node("Add", attended, hidden), f"{name}attention.output.LayerNorm")
        inner = self._node("Gelu", self._linear(hidden, f"{name}intermediate.dense"))
        outer = self._linear(inner, f"{name}output.dense")
        return self._norm(self._node("Add", outer, hidden), f"{name}output.LayerNorm", result)

    def _attention(self, hidden: str, mask: str, name: str) -> str:
        parts = ("query", "key", "value")
        projected = [self._node("MatMul", hidden, self._transposed(f"{name}{part}.weight")) for part in parts]
        bias = np.concatenate([self._weights[f"{name}{part}.bias"] for part in parts])
        heads = int(self._config["num_attention_heads"])
        inputs = (*projected, self._constant(f"{name}bias", bias), mask)
        return self._node("MultiHeadAttention", *inputs, domain=FUSED, num_heads=heads)

    def _pooled(self, hidden: str, output: str) -> None:
        one, two = self._constant("axis_1", np.array([1], np.int64)), self._constant("axis_2", np.array([2], np.int64))
        mask = self._node("Unsqueeze", self._node("Cast", "attention_mask", to=TensorProto.FLOAT), two)
        # The sum points where the mean points, and the length is divided away.
        total = self._node("ReduceSum", self._node("Mul", hidden, mask), one, keepdims=0)
        self._node("LpNormalization", total, output=output, axis=1, p=2)

    def _linear(self, value: str, name: str) -> str:
        product = self._node("MatMul", value, self._transposed(f"{name}.weight"))
        return self._node("Add", product, self._constant(f"{name}.bias", self._weights[f"{name}.bias"]))

    def _norm(self, value: str, name: str, output: str | None = None) -> str:
        scale = self._constant(f"{name}.weight", self._weights[f"{name}.weight"])
        shift = self._constant(f"{name}.bias", self._weights[f"{name}.bias"])
        epsilon = float(self._config["layer_norm_eps"])
        return self._node("LayerNormalization", value, scale, shift, output=output, axis=-1, epsilon=epsilon)

    def _transposed(self, name: str) -> str:
        return self._constant(name, self._weights[name].T)

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], name=output, **attributes))
        return output


def write_graph(source: Path, model_path: Path, *, positions: int) -> None:
    """Write the graph of the encoder whose files lie in `source`; its weights go beside it as `<name>.weights`.

    Args:
        source: folder with `config.json` and `model.safetensors`.
        model_path: the graph's file, in an existing folder.
        positions: the largest number of tokens of a text.

    Raises:
        ValueError: the configuration is of another architecture than this module writes.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in expected.items():
        if config.get(key) != value:
            raise ValueError(f"{key} of the model must be {value}.")
    model = EncoderGraph(load_file(source / "model.safetensors"), config, positions).model()
    onnx.save(
        model,
        model_path,
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=f"{model_path.name}.weights",
        size_threshold=INLINE_BYTES,
    )
