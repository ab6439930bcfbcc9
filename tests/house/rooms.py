"""The order of the rooms: the one table that says who may import whom, and who may import what heavy.

A room is the first name below ``samespace``: a module (``compare``) or a package (``maps``). A room imports
rooms of lower floors and of its own floor; a floor's rooms may know each other, but no two modules may
import each other in a circle.
"""

from __future__ import annotations

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("hashing", "parallel", "storage", "cuda"),
    ("representation", "sources"),  # the gate
    ("lifted", "reservoir", "accumulate", "batch", "sums", "moments"),
    ("maps", "measures"),
    ("inference", "lattice", "verdict", "diagnostics"),
    ("compare",),
    ("theory",),
    ("family",),
    ("worlds", "learn", "metrics", "estimators", "migrate"),
    ("report",),
    ("demo", "reproduce"),
    ("cli",),
    ("__main__",),
)

FLOOR: dict[str, int] = {room: i for i, floor in enumerate(FLOORS) for room in floor}

# A result knows how to show itself: the one import upwards, inside the methods that write a report.
UPWARDS_INSIDE_FUNCTIONS = frozenset({("compare", "report"), ("family", "report")})

# Torch trains and reads models, and has kernels. Everything else takes its tensors through the array API.
TORCH_PACKAGES = frozenset({"torch", "torchmetrics", "transformers", "lightning", "triton"})
TORCH_ROOMS = frozenset({"cuda", "worlds", "learn", "metrics", "demo", "reproduce"})
TORCH_MODULES_OF_FAMILY = "samespace.family."

# What `import samespace` may load: everything else is imported inside the function that needs it.
LIGHT_PACKAGES = frozenset({"samespace", "numpy", "scipy"})


def room(module: str) -> str:
    """First name below the package: ``samespace.maps.affine`` is in the room ``maps``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""
