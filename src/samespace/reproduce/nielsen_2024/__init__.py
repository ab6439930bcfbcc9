"""Nielsen et al. 2024, Section 4 and Appendix D, and the 2025 follow-up's counterexample.

Figures: ``example`` (every number of the section), ``ratios`` (the two that do not come out, under every
reading tried), ``embeddings`` (Figures 1 to 3), ``lengths`` (Figure 4), ``divergence`` (the follow-up's
Table 1: the divergence vanishes, the representations stay apart).
"""

from __future__ import annotations

from samespace.reproduce.nielsen_2024.divergence import DIVERGENCE
from samespace.reproduce.nielsen_2024.example import EXAMPLE
from samespace.reproduce.nielsen_2024.pictures import EMBEDDINGS, LENGTHS
from samespace.reproduce.nielsen_2024.ratios import RATIOS
from samespace.reproduce.registry import register

for _figure in (EXAMPLE, RATIOS, EMBEDDINGS, LENGTHS, DIVERGENCE):
    register(_figure)
