"""A clock that stands still until a test moves it."""

from typing import Final

NIGHT_START_MS: Final = 1_767_312_000_000  # 2026-01-02T00:00:00Z
_MS_PER_S: Final = 1000


class FakeClock:
    """Fulfils the product's Clock protocol: a wall, a reading of time awake, and one that counts sleep.

    They are moved apart on purpose: by `suspend` as a machine that sleeps does, by `jump_wall` as
    whoever sets the clock.
    """

    def __init__(self, start_ms: int = NIGHT_START_MS, monotonic_s: float = 1000.0) -> None:
        """Start at a UTC epoch time in milliseconds."""
        self._now_ms = start_ms
        self._monotonic_s = monotonic_s
        self._elapsed_s = monotonic_s

    def now_ms(self) -> int:
        """UTC epoch milliseconds."""
        return self._now_ms

    def monotonic_s(self) -> float:
        """Seconds that never run backwards."""
        return self._monotonic_s

    def elapsed_s(self) -> float:
        """Seconds that never run backwards and count sleep."""
        return self._elapsed_s

    def advance(self, seconds: float) -> None:
        """Let both readings go on by so many seconds.

        Raises:
            ValueError: the time is negative; only the wall may go back (`jump_wall`).
        """
        if seconds < 0:
            msg = f"a clock cannot go back by {-seconds} s"
            raise ValueError(msg)
        self._now_ms += round(seconds * _MS_PER_S)
        self._monotonic_s += seconds
        self._elapsed_s += seconds

    def suspend(self, seconds: float) -> None:
        """Let the machine sleep for so long."""
        self._now_ms += round(seconds * _MS_PER_S)
        self._elapsed_s += seconds

    def jump_wall(self, seconds: float) -> None:
        """Move the wall reading alone, forth or back."""
        self._now_ms += round(seconds * _MS_PER_S)
