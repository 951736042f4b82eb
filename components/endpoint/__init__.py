"""The client of models behind OpenAI-compatible endpoints, for teachers, judges and the proposal of tasks.

    async with Endpoint(params, ledger=state / "spent.json", answers=ANSWERS) as endpoint:
        answer = await endpoint.ask([{"role": "user", "content": "…"}], max_tokens=512)

- A semaphore limits the requests in flight, `aiolimiter` their rate; a request that may pass later is sent again with
  back-off and jitter (`retries`).
- The ledger is a file of the stage's state that counts what was spent, so that a budget holds over restarts.
- `answers` is a file (SQLite) of answers by content: the same request, after a crash or in another stage, gets the
  answer that was already paid for. The content is endpoint, model, messages with their images, decoding and seed.
  Answers are stored atomically.

The errors tell what to do: `EndpointDown` may pass by itself, `RequestRefused` concerns only one request, and
`BudgetSpent` and the others need a change by the user.

Accepted trade-offs: a budget may be exceeded by the requests in flight when it is reached. Prices are the recipe's,
since endpoints name none. If an endpoint serves other weights under the same name, delete the file of answers and the
journals of answers beside the ledgers (`waymark clean` removes those of stages).
Streaming and tools are not supported.
"""

from components.endpoint.answers import ANSWERS, Answer, Answers
from components.endpoint.client import Endpoint, require_key
from components.endpoint.errors import BudgetSpent, EndpointDown, EndpointError, RequestRefused
from components.endpoint.ledger import Spent
from components.endpoint.messages import Message, image_part, text_part
from components.endpoint.shared_requests import Waiting

__all__ = [
    "ANSWERS",
    "Answer",
    "Answers",
    "BudgetSpent",
    "Endpoint",
    "EndpointDown",
    "EndpointError",
    "Message",
    "RequestRefused",
    "Spent",
    "Waiting",
    "image_part",
    "require_key",
    "text_part",
]
