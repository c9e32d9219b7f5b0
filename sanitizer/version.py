"""The version of the installed package; "0+unknown" where none is installed."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "dp-sanitizer"
"""Name of the distribution; on package indexes "sanitizer" is another project's."""

try:
    __version__ = version(DISTRIBUTION)
except PackageNotFoundError:
    __version__ = "0+unknown"
