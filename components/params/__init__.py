"""The typed sections of `params.yaml`, which are validated when it is read.

A recipe is a YAML file of these sections. It contains its differences from the defaults, or from a recipe that it
`extends`. `waymark use` writes the complete recipe to `params.yaml`, which has every key that changes a result: DVC
cannot see a hidden input such as an environment variable. An unknown key, a wrong type or an impossible combination is
refused before anything starts; the error names the field, the value and the allowed values.
"""

from __future__ import annotations

from components.params.construction import ConstructionParams, RatioParams
from components.params.data import (
    CurateParams,
    DedupParams,
    EndpointParams,
    FilterParams,
    HorizonParams,
    QualityParams,
    TaskFile,
    TaskParams,
)
from components.params.file_header import State, read_written
from components.params.harness import (
    ELEMENT_LISTS,
    OPENWEBRL_KEYS,
    AgentParams,
    BrowserParams,
    ContextParams,
    EgressParams,
    ObservationParams,
    ProtocolName,
    QueueParams,
    RolloutParams,
    SamplingParams,
    TextKind,
)
from components.params.inheritance import Change, read_chain
from components.params.judge import (
    DistillParams,
    JudgeParams,
    JudgeProtocolName,
    ModelJudgeParams,
    RetrainParams,
    TrustLabels,
    TrustParams,
)
from components.params.learning import (
    ENGINE_WITHOUT_EFFECT,
    EvaluationParams,
    ImageCacheParams,
    InferenceParams,
    LoRAParams,
    ModelParams,
    TrackingParams,
    TrainingParams,
    VLLMParams,
)
from components.params.loading import DEFAULT_PATH, changed_from_base, complete, find, from_chain, load, parse
from components.params.objectives import (
    FilteredBCParams,
    MGRPOParams,
    MMGRPOParams,
    Objective,
    ObjectiveParams,
    OnlineParams,
    PolicyGradientParams,
    RFTParams,
)
from components.params.optim import TOLERANCES, DType, OptimParams, SFTParams, Shuffle, Tolerances
from components.params.pretrain import PageKindName, PretrainParams, PretrainPhase
from components.params.recipe import Params
from components.params.recipe_file import RecipeError, as_yaml
from components.params.rl import (
    AdaptiveSampling,
    BranchParams,
    RatioSampling,
    RLParams,
    RLPhase,
    TaskSampling,
    UniformSampling,
)
from components.params.section import NoEffect, Section, deciding, value_at
from components.params.teacher import EndpointTeacherParams, ScriptedTeacherParams, Teacher
from components.params.validation import CheckpointParams, ValidationParams
from components.params.worlds import WorldSections

__all__ = [
    "DEFAULT_PATH",
    "ELEMENT_LISTS",
    "ENGINE_WITHOUT_EFFECT",
    "OPENWEBRL_KEYS",
    "TOLERANCES",
    "AdaptiveSampling",
    "AgentParams",
    "BranchParams",
    "BrowserParams",
    "Change",
    "CheckpointParams",
    "ConstructionParams",
    "ContextParams",
    "CurateParams",
    "DType",
    "DedupParams",
    "DistillParams",
    "EgressParams",
    "EndpointParams",
    "EndpointTeacherParams",
    "EvaluationParams",
    "FilterParams",
    "FilteredBCParams",
    "HorizonParams",
    "ImageCacheParams",
    "InferenceParams",
    "JudgeParams",
    "JudgeProtocolName",
    "LoRAParams",
    "MGRPOParams",
    "MMGRPOParams",
    "ModelJudgeParams",
    "ModelParams",
    "NoEffect",
    "Objective",
    "ObjectiveParams",
    "ObservationParams",
    "OnlineParams",
    "OptimParams",
    "PageKindName",
    "Params",
    "PolicyGradientParams",
    "PretrainParams",
    "PretrainPhase",
    "ProtocolName",
    "QualityParams",
    "QueueParams",
    "RFTParams",
    "RLParams",
    "RLPhase",
    "RatioParams",
    "RatioSampling",
    "RecipeError",
    "RetrainParams",
    "RolloutParams",
    "SFTParams",
    "SamplingParams",
    "ScriptedTeacherParams",
    "Section",
    "Shuffle",
    "State",
    "TaskFile",
    "TaskParams",
    "TaskSampling",
    "Teacher",
    "TextKind",
    "Tolerances",
    "TrackingParams",
    "TrainingParams",
    "TrustLabels",
    "TrustParams",
    "UniformSampling",
    "VLLMParams",
    "ValidationParams",
    "WorldSections",
    "as_yaml",
    "changed_from_base",
    "complete",
    "deciding",
    "find",
    "from_chain",
    "load",
    "parse",
    "read_chain",
    "read_written",
    "value_at",
]
