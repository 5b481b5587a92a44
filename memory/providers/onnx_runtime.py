"""The ONNX runtime, kept quiet: by itself it reports to its maker and puts an identifier into the home directory.

Import the runtime from here only; it looks at the setting once, when it is first loaded.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
