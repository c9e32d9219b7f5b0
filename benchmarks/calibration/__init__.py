"""Settings chosen on public calibration text."""
