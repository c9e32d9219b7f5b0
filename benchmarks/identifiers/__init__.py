"""Policy `identifiers` on six suites that others wrote: how much it finds that they look for.

    python -m benchmarks.identifiers --presidio FOLDER --gitleaks FOLDER --trufflehog FOLDER \\
        --detect-secrets FOLDER [--half seen|unseen|both] [--suite S] [--kind K] [--failures N] \\
        [--peer NAME=PYTHON]...

FOLDER is a checkout; a suite without one is left out. Inputs and expectations are extracted from it
at run time, and nothing of theirs is kept here: Presidio (MIT), gitleaks (MIT), detect-secrets
(Apache-2.0), and trufflehog (AGPL-3.0), of which the tests alone are read, never a detector.
python-stdnum (LGPL-2.1) and phonenumbers (Apache-2.0) are the installed packages. gitleaks needs
`go`, and none of its modules.

Halves: a suite is parted by the SHA-256 of the kind's name (recognizer, rule, detector, test,
module, region). Whoever works on the detector reads failures of the seen half, and no others can be
printed; the unseen half tells what is worth as much elsewhere.

Found means that every character of the value is replaced, wherever it stands in the text; an alarm
is a negative in which anything is. What counts as one sample, each once:

- Presidio, in a sentence: a position that a recognizer's test expects in a longer text. Tests
  without positions have those of the recognizer's own patterns, where their number is as expected.
- Presidio, announced: a text that is expected whole, after each of the first `WORDS` of the
  recognizer's context: "word: N".
- gitleaks: a positive, with what gitleaks would report as its secret; random parts are drawn by a
  generator of ours, the same in every run. Its forms of assignment are all there (25 a rule).
- trufflehog: a wanted value that stands in the input as such; joined pairs do not and are left out.
- detect-secrets: a payload that is to be flagged, with the value that the plugin reports in it.
- python-stdnum: "The [long name] is N" for the examples of docstrings that validate, all of them.
- phonenumbers: the examples of all regions, fixed and mobile, in national form: announced twice,
  in a sentence with a word before ("call me on"), and in one that tells only behind.

Blanks, quotes and operators around a value, which some patterns take with it, need not be hidden.
"""
