"""Are illnesses with a person's name, and drugs, left alone where the policy lets them pass?

    python -m benchmarks.usefulness.eponyms

`deidentify` hides who, and lets illnesses and drugs pass: "Crohn's disease" is no Mr Crohn. Prints
how many stay as they are, in one sentence of somebody each.
"""

from __future__ import annotations

import json

from sanitizer import Sanitizer

ILLNESSES = (
    "Crohn's disease|Parkinson's disease|Alzheimer's disease|Huntington's disease|Hodgkin lymphoma|"
    "Graves' disease|Addison's disease|Cushing's syndrome|Hashimoto's thyroiditis|Bell's palsy|"
    "Raynaud's phenomenon|Sjogren's syndrome|Asperger's syndrome|Tourette's syndrome|"
    "Down syndrome|Marfan syndrome|Turner syndrome|Klinefelter syndrome|Barrett's oesophagus|"
    "Meniere's disease|Paget's disease|Peyronie's disease|Dupuytren's contracture|"
    "Wilson's disease|Kawasaki disease|Lyme disease|Behcet's disease|Ehlers-Danlos syndrome|"
    "Guillain-Barre syndrome|Baker's cyst"
).split("|")
DRUGS = (
    "Zoloft|Ritalin|Humira|Ozempic|Xarelto|Keppra|Lyrica|Ventolin|Prozac|Lipitor|metformin|"
    "sertraline|levothyroxine|warfarin|lisinopril|methotrexate|Concerta|Eliquis|Seroquel|Nexium"
).split("|")


def left(names: tuple[str, ...] | list[str], sentence: str) -> list[str]:
    """Return the names that leave as they are under `deidentify`."""
    sanitizer = Sanitizer(policy="deidentify")
    return [
        name
        for name in names
        if name in sanitizer.derive(conversation=name).sanitize(sentence.format(name)).text
    ]


def main() -> None:
    """Print the counts."""
    ill = left(ILLNESSES, "I have had {} for years, what should I ask my doctor?")
    drugs = left(DRUGS, "My mother takes {} every morning and feels sick after it.")
    print(
        json.dumps(
            {
                "illnesses": f"{len(ill)} of {len(ILLNESSES)}",
                "drugs": f"{len(drugs)} of {len(DRUGS)}",
            }
        )
    )


if __name__ == "__main__":
    main()
