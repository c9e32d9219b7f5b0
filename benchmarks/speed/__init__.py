"""Latency, throughput and memory, beside peers."""
