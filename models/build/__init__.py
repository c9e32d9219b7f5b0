"""Scripts that make everything under models/ from pinned registry packages."""
