"""Measuring retrieval: metrics, and the runner that applies them."""
