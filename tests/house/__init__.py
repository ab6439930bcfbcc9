"""Checks of the house itself: rooms, lengths, import time, addresses, tests that assert."""
