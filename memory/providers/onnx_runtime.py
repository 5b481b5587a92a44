"""The ONNX runtime, kept quiet: by itself it reports to its maker and puts an identifier into the home directory.

Import the runtime from here only; it looks at the setting once, when it is first loaded.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime", "session_options"]


def session_options(threads: int) -> onnxruntime.SessionOptions:
    """Give the options of a session that shares its machine with a database.

    Args:
        threads: how many threads compute one batch, at least 1.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads that spin take the processor from the very thread they wait for as soon as the machine is busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena and its patterns keep the memory of the largest batch for good.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return options
