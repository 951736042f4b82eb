"""Code that stages share: the stage run, rollouts, labels, the judge gate, promotion, the launch of processes."""
