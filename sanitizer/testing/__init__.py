"""Public test doubles: a seeded source of randomness, toy models, a recording API server.

For tests of applications that use this package. Nothing else in the package may import it: a seeded
source would void every guarantee.
"""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.testing.models import SeededSource as SeededSource
    from sanitizer.testing.models import ToyBackbone as ToyBackbone
    from sanitizer.testing.models import ToyCausalLM as ToyCausalLM
    from sanitizer.testing.models import ToyReader as ToyReader
    from sanitizer.testing.server import Answer as Answer
    from sanitizer.testing.server import Received as Received
    from sanitizer.testing.server import RecordingServer as RecordingServer
    from sanitizer.testing.server import calls as calls
    from sanitizer.testing.server import echo as echo
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__,
        {
            "testing.models": "SeededSource ToyBackbone ToyCausalLM ToyReader",
            "testing.server": "Answer Received RecordingServer calls echo",
        },
    )
