"""The error of this package."""


class EvaluationError(ValueError):
    """Trajectories, verdicts or files that no figure can be computed from. The message names the command to run."""
