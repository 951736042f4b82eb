"""The Qwen3-VL in this process.

- `vlm`: loads and saves the model, its tokenizer and image processor (`VLM`). `lora` adds adapters.
- `encoding`: encodes prompts as token ids (`Encoder`); `vision` as pixels and image features, which `feature_cache`
  keeps. `stored_images` has the images of a large training set on disk.
- `attention`: attention over packed rows. `scoring`: log-probabilities of given tokens. `patch_embedding`: a faster
  first layer of the vision tower.
"""

from components.imports import without_collector

with without_collector():  # of torch and transformers
    from components.model.attention import Segment, Segments
    from components.model.encoding import Encoded, Encoder, Sample
    from components.model.stored_images import EncodedImage, ImageFolder
    from components.model.vlm import VLM

__all__ = ["VLM", "Encoded", "EncodedImage", "Encoder", "ImageFolder", "Sample", "Segment", "Segments"]
