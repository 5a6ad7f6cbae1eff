"""The best ways to choose one candidate in each of several places."""

import heapq
from collections.abc import Sequence


def best_choices(log_scores: Sequence[Sequence[float]], count: int) -> list[tuple[int, ...]]:
    """The `count` best ways to choose one candidate per place, best first, as ranks in each place.

    Each place's log scores come best first and a choice is worth their sum. The search keeps one frontier of choices,
    so that eight places of twenty candidates cost no more than a few dozen sums.
    """

    def worth(choice: tuple[int, ...]) -> float:
        return sum(log_scores[place][rank] for place, rank in enumerate(choice))

    start = (0,) * len(log_scores)
    frontier = [(-worth(start), start)]
    seen = {start}
    choices: list[tuple[int, ...]] = []
    while frontier and len(choices) < count:
        _, choice = heapq.heappop(frontier)
        choices.append(choice)
        for place in range(len(choice)):
            after = (*choice[:place], choice[place] + 1, *choice[place + 1 :])
            if after[place] < len(log_scores[place]) and after not in seen:
                seen.add(after)
                heapq.heappush(frontier, (-worth(after), after))
    return choices
