"""Prompts written for the benchmarks, and ways to make longer ones."""

from __future__ import annotations

SHORT = (
    "My father Peter has hepatitis and lives in Leeds; which doctor should he ask about the new "
    "treatment from Basel?"
)
LONG = (
    "Please write a friendly letter to our landlord Mr Hargreaves about the flat on Cardigan "
    "Road. The boiler broke down on Tuesday and my daughter Emily, who has asthma, had to sleep "
    "at her grandmother's house in Bradford. We called the plumber he recommended, but nobody "
    "from Northern Heating came, and the insurance company refuses to pay because the last "
    "inspection was two years ago. My wife lost her job at the bakery in March, so we cannot "
    "afford a hotel. I work nights as a nurse at the infirmary and need to sleep during the day, "
    "which is impossible with the builders in the kitchen. Ask him to send an engineer before "
    "the weekend, to cover the cost of the electric heaters, and to reduce the rent for this "
    "month. Mention that our neighbours, the Kowalskis, had the same problem last winter and "
    "that the council's housing officer, Ms Okafor, told us about the rules for tenants. The "
    "tone should be polite but firm; he is an old friend of my uncle and I do not want to offend "
    "him. End by offering to meet him at the pub near the station on Friday evening, or at the "
    "mosque after prayers if that is easier."
)


def of_length(n_words: int) -> str:
    """The long prompt's words, repeated or cut to `n_words`."""
    words = LONG.split()
    return " ".join((words * (n_words // len(words) + 1))[:n_words])
