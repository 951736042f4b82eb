"""A verifier after "The Art of Building Verifiers for Computer Use Agents" (arXiv 2604.06240), in this project's words.

Four ideas of its abstract, each a module:

- `rubric`: criteria that do not overlap, made from the task alone, before the judge sees what the agent did. A task
  that has a rubric of its own keeps it.
- `evidence`: divide and conquer. Every distinct screenshot is read by itself against all criteria, so that a long
  episode loses none; each criterion then gets the findings of all pages and the pages that matter most to it.
- `criteria`: each criterion is judged as if the earlier ones had gone well, so that one mistake counts once, and a
  failure has a cause, the agent or something that it could not control.
- `verdict`: process and outcome are apart. The outcome asks whether the user now has what they asked for, and names
  side effects and critical points that the agent passed without leave; one of these is no success.

A task costs one request for the rubric, one per distinct screenshot, one per criterion, and one for the outcome.
The paper's prompts, models and weights are not used, and its figures do not apply to this protocol.
"""

from components.judge.protocols.universal.verdict import VERDICT

KIND = VERDICT
