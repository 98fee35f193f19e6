from pathlib import Path

GABBITS = Path(__file__).parents[1] / "gabbits"
