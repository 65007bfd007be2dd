"""Doing the same to many accounts and Regions at once, and keeping what fails beside what succeeds."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import Self, TypeVar

from express_path.errors import ExpressPathError
from express_path_cli.progress import Watch
from express_path_cli.result import Failure

_Task = TypeVar("_Task")
_Done = TypeVar("_Done")


class TaskPool:
    """Some workers, used as a context manager; failures holds what could not be done, by name."""

    def __init__(self, workers: int, watch: Watch) -> None:
        """So many tasks are worked on at once; watch is told of each."""
        self.failures: list[Failure] = []
        self._pool = ThreadPoolExecutor(workers)
        self._watch = watch

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what has begun, unless interrupted; what has not, never does."""
        self._pool.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)

    def each(
        self, tasks: Sequence[_Task], work: Callable[[_Task], _Done], name: Callable[[_Task], str] = str
    ) -> Iterator[tuple[_Task, _Done]]:
        """Do a work for each task and yield those that succeed, as they are done."""
        self._watch.expect(len(tasks))
        running: dict[Future[_Done], _Task] = {self._pool.submit(work, task): task for task in tasks}
        for future in as_completed(running):
            task = running[future]
            self._watch.done(name(task))
            try:
                yield task, future.result()
            except ExpressPathError as error:
                self.failures.append(Failure(name(task), error))
