"""Machine, timing, intervals, texts and tables that every benchmark needs."""
