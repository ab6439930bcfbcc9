"""Objectives, encoders and populations: K models trained as one, and resumed at any moment."""
