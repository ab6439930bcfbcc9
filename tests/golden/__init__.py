"""Values made once by the oracles, with the command that made them."""
