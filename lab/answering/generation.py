"""Generation: one question, one turn, no tools, and an answer checked.

Optional: it needs the package ``anthropic`` and a key, or a client passed
in. A model can be talked into anything by what it reads, so everything
that matters is outside it: it can do nothing but write, it is paid for up
to a ceiling counted before the call, and what it writes is shown only if
every sentence cites a passage it was given.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lab.answering.addresses import foreign_addresses
from lab.answering.derived import Derived, derived
from lab.answering.faithfulness import CITED, Faithfulness, faithfulness
from lab.answering.faithfulness import REFUSAL as REFUSED
from lab.answering.grounding import Grounding, ground
from lab.answering.measures import Measure, token_bound
from lab.answering.passage import Passage
from lab.answering.prompting import REFUSAL, Prompt, prompt
from lab.answering.screening import screen
from lab.errors import BudgetTooSmall, InvalidInput, LabError

# Tokens a provider's chat format may put around our text: an allowance,
# not a bound, so the true count is read back from the response.
FRAMING_TOKENS: Final = 256
MILLION: Final = 1_000_000
SECONDS: Final = 60.0


class ModelUnavailable(LabError):
    """The model cannot be asked, or its answer cannot be read."""

    code = "model_unavailable"


@dataclass(frozen=True)
class Model:
    """A model and what one answer of it may cost.

    Prices are integer micro-dollars for a million tokens (3 dollars are
    3,000,000); they change, so none is written down here. ``ceiling`` is
    the most one call may cost, in micro-dollars; five cents by default.
    """

    name: str
    input_price: int
    output_price: int
    max_output_tokens: int = 512
    ceiling: int = 50_000

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidInput("model.name: must not be blank")
        for field in (
            "input_price",
            "output_price",
            "max_output_tokens",
            "ceiling",
        ):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidInput(f"model.{field}: must be an integer")
            if value < (field == "max_output_tokens"):
                raise InvalidInput(f"model.{field}: too small")

    def cost(self, input_tokens: int, output_tokens: int) -> int:
        """Return the price of a call in micro-dollars, rounded up."""
        units = input_tokens * self.input_price
        units += output_tokens * self.output_price
        return -(-units // MILLION)


class Messages(Protocol):
    """The one call that is made."""

    def create(self, **request: Any) -> Any:
        """Send a request and return the message that answers it."""


class Client(Protocol):
    """A model provider's client: ``anthropic.Anthropic`` is one."""

    @property
    def messages(self) -> Messages:
        """Return what messages are sent through."""


@dataclass(frozen=True)
class Generation:
    """What came of one question.

    ``state`` is ``generated`` (``text`` is the model's, every sentence
    cites), ``abstain`` (nothing to answer from, or the model refused) or
    ``rejected`` (the model's text is not shown); ``reason`` says which.
    ``text`` is what may be shown: the refusal sentence unless
    ``generated``. ``draft`` is what the model wrote, for the operator.
    ``sources[n - 1]`` is the citation of passage ``n``: every passage the
    model was given. ``withheld`` are those kept from it by screening.
    ``grounding`` compares each sentence's words with the passages; it is
    reported and decides nothing. Costs are in micro-dollars.
    """

    state: str
    reason: str
    text: str
    sources: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    draft: str | None = None
    verdict: Faithfulness | None = None
    grounding: Grounding | None = None
    cost_bound: int = 0
    cost: int = 0

    @property
    def generated(self) -> bool:
        """Say whether ``text`` was written by a model."""
        return self.state == "generated"

    def derived(self) -> Derived:
        """Return the text bound to every passage the model was given.

        A model takes seconds; check again, with ``readable``, before the
        text is shown. Raises ``InvalidInput`` unless ``generated``.
        """
        if not self.generated:
            raise InvalidInput("generation: there is no generated text")
        return derived(self.text, self.sources)


def generate(
    question: str,
    evidence: Sequence[Passage],
    model: Model,
    *,
    client: Client | None = None,
    language: str = "en",
    measure: Measure = token_bound,
) -> Generation:
    """Answer from checked evidence, or say the fixed refusal sentence.

    Passages in which screening finds something are withheld. Nothing is
    sent when none is left, or when the call could cost more than the
    ceiling (``BudgetTooSmall``; ``measure`` bounds the tokens of a text).
    Without ``client`` one is made from the environment's
    ``ANTHROPIC_API_KEY``. Raises ``ModelUnavailable`` without a key or the
    package, and when the call fails: it is never tried twice.
    """
    screened = screen(evidence)
    withheld = tuple(item.citation for item in screened.flagged)
    passages = screened.passed
    made = prompt(question, passages, language)
    if not passages:
        reason = "screened" if withheld else "no-evidence"
        return Generation(
            "abstain", reason, REFUSAL[language], withheld=withheld
        )
    bound = _bound(made, model, measure)
    if bound > model.ceiling:
        raise BudgetTooSmall(
            f"{model.name}: this call may cost {bound} micro-dollars, the"
            f" ceiling is {model.ceiling}; give it fewer passages"
        )
    reply = _ask(client or _default_client(), made, model)
    draft, stopped, cost = _read(reply, model)
    verdict = faithfulness(draft, made.count)
    state, reason = _judge(draft, stopped, verdict, question, passages)
    return Generation(
        state,
        reason,
        draft if state == "generated" else REFUSAL[language],
        tuple(passage.citation for passage in passages),
        withheld,
        draft,
        verdict,
        ground([s.text for s in verdict.sentences], passages),
        bound,
        cost,
    )


def _bound(made: Prompt, model: Model, measure: Measure) -> int:
    tokens = measure(made.system) + measure(made.user) + FRAMING_TOKENS
    return model.cost(tokens, model.max_output_tokens)


def _default_client() -> Client:
    try:
        anthropic = importlib.import_module("anthropic")
    except ImportError:
        raise ModelUnavailable(
            "the package anthropic is not installed; run"
            " `pip install anthropic`, or pass a client"
        ) from None
    key = os.environ.get("ANTHROPIC_API_KEY", "").strip()
    if not key:
        raise ModelUnavailable(
            "ANTHROPIC_API_KEY is not set; set it to a key, or pass a client"
        )
    # No retries: each would be paid for, and the ceiling counted one call.
    client: Client = anthropic.Anthropic(
        api_key=key, max_retries=0, timeout=SECONDS
    )
    return client


def _ask(client: Client, made: Prompt, model: Model) -> Any:
    try:
        return client.messages.create(
            model=model.name,
            max_tokens=model.max_output_tokens,
            system=made.system,
            messages=[{"role": "user", "content": made.user}],
        )
    except Exception as error:
        # The provider's own message may quote the request, documents and
        # all; its class says enough, and the cause is chained.
        raise ModelUnavailable(
            f"{model.name}: the call failed ({type(error).__name__})"
        ) from error


def _read(reply: Any, model: Model) -> tuple[str, str, int]:
    """Return the text, why it stopped, and what it cost."""
    try:
        text = "".join(
            block.text for block in reply.content if block.type == "text"
        )
        usage = reply.usage
        inputs = usage.input_tokens
        for name in (
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ):
            inputs += getattr(usage, name, None) or 0
        cost = model.cost(inputs, usage.output_tokens)
        stopped = reply.stop_reason
    except (AttributeError, TypeError) as error:
        raise ModelUnavailable(
            f"{model.name}: the answer has another shape ({error})"
        ) from error
    return text.strip(), str(stopped), cost


def _judge(
    draft: str,
    stopped: str,
    verdict: Faithfulness,
    question: str,
    passages: Sequence[Passage],
) -> tuple[str, str]:
    """Return the state and its reason."""
    if stopped == "refusal":
        return "abstain", "model-refused"
    if stopped not in ("end_turn", "stop_sequence"):
        return "rejected", f"stopped-{stopped}"
    if verdict.state == REFUSED:
        return "abstain", "not-in-passages"
    if verdict.state != CITED:
        return "rejected", verdict.state
    known = [question, *(passage.text for passage in passages)]
    if foreign_addresses(draft, known):
        return "rejected", "foreign-address"
    return "generated", "cited"
