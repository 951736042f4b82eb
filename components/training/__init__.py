"""SFT, the objectives of RL and its loop, packing of shared prefixes, judge distillation, the base's pre-training."""
