"""Slow, independent routes to what the package computes; they share no code with it."""
