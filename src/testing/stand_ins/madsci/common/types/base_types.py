"""For tests: a stand-in of `madsci.common.types.base_types`. madsci_node.test.ts compares the names with a checkout of MADSci."""

from dataclasses import dataclass
from typing import Optional


@dataclass
class Error:
    message: Optional[str] = None
    error_type: Optional[str] = None
