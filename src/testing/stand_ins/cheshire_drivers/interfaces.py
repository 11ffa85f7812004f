"""For tests: a stand-in of `cheshire_drivers.interfaces`. orca_driver.test.ts compares its names with a checkout."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, FrozenSet


class BaseDriver(ABC):
    @abstractmethod
    async def initialize(self) -> None: ...

    @property
    @abstractmethod
    def is_initialized(self) -> bool: ...

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...


class IShakerDriver(BaseDriver, ABC):
    interfaces: ClassVar[FrozenSet[str]] = frozenset({"IShaker"})

    @abstractmethod
    async def stop(self) -> None: ...

    @property
    @abstractmethod
    def supports_locking(self) -> bool: ...

    @abstractmethod
    async def unlock_plate(self, request: Any) -> None: ...

    @abstractmethod
    async def lock_plate(self, request: Any) -> None: ...

    @abstractmethod
    async def shake(self, request: Any) -> None: ...

    @abstractmethod
    async def stop_shaking(self, request: Any) -> None: ...


class ISealerDriver(BaseDriver, ABC):
    interfaces: ClassVar[FrozenSet[str]] = frozenset({"ISealer"})

    @abstractmethod
    async def seal(self, request: Any) -> None: ...

    @abstractmethod
    async def set_temperature(self, temperature: float) -> None: ...

    @abstractmethod
    async def get_temperature(self) -> float: ...


class ITempSettableDriver(ABC):
    interfaces: ClassVar[FrozenSet[str]] = frozenset({"ITempSettable"})

    @abstractmethod
    async def set_temperature(self, temperature: float) -> None: ...


class ITempGettableDriver(ABC):
    interfaces: ClassVar[FrozenSet[str]] = frozenset({"ITempGettable"})

    @abstractmethod
    async def get_temperature(self) -> float: ...


class ICentrifugeDriver(BaseDriver, ABC):
    interfaces: ClassVar[FrozenSet[str]] = frozenset({"ICentrifuge"})

    @abstractmethod
    async def centrifuge(self, request: Any) -> None: ...


class IProtocolRunnerDriver(BaseDriver, ABC):
    interfaces: ClassVar[FrozenSet[str]] = frozenset({"IProtocolRunner"})

    @abstractmethod
    async def run_protocol(self, request: Any) -> None: ...
