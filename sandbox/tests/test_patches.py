"""The sandbox restores moto when it ends."""

from sandbox.patches import Patches


class Base:
    """A class with a method."""

    def answer(self) -> int:
        """Return a number."""
        return 1


class Derived(Base):
    """A class that inherits the method."""


def test_wraps_and_undoes() -> None:
    """A wrapped method calls the original. `undo` restores the class and the classes that inherit from it."""
    patches = Patches()
    patches.wrap(Derived, "answer", lambda original: lambda self: original(self) + 1)
    assert (Derived().answer(), Base().answer()) == (2, 1)
    patches.undo()
    assert Derived().answer() == 1
    assert "answer" not in vars(Derived)


def test_undoes_in_reverse_order() -> None:
    """A method that was replaced twice is restored to the original."""
    patches = Patches()
    original = vars(Base)["answer"]
    patches.set(Base, "answer", lambda _: 2)
    patches.set(Base, "answer", lambda _: 3)
    assert Base().answer() == 3
    patches.undo()
    assert vars(Base)["answer"] is original
