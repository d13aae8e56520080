"""The compiled part of the package."""

from typing import Dict, List, Optional, Tuple

__version__: str
EXAMPLE: str

class PtxError(ValueError):
    """PTX, or a file that holds it, is malformed."""

def optimize(ptx: str, name: str, level: int) -> Tuple[str, str]: ...
def analyze(
    ptx: str,
    name: str,
    block: Optional[Tuple[int, int, int]],
    arguments: Dict[int, int],
    kernel: Optional[str],
    shared: Optional[int],
) -> str: ...
def extract(data: bytes) -> List[Tuple[str, str]]: ...
def is_container(data: bytes) -> bool: ...
