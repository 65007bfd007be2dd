"""Run the same task for many accounts and Regions in parallel, and keep the failures with the results."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import Self, TypeVar

from express_path.errors import ExpressPathError
from express_path_cli.terminal.errors import Failure
from express_path_cli.terminal.progress import Watch

_Subject = TypeVar("_Subject")
_Value = TypeVar("_Value")


class TaskPool:
    """A pool of threads, used as a context manager. `failures` are the tasks that failed, by name."""

    def __init__(self, workers: int, watch: Watch) -> None:
        """Run up to `workers` tasks in parallel, and report each finished one to the watch."""
        self.failures: list[Failure] = []
        self._threads = ThreadPoolExecutor(workers)
        self._watch = watch

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the tasks that run, except after Ctrl-C, and cancel those that have not started."""
        self._threads.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)

    def run(
        self, subjects: Sequence[_Subject], task: Callable[[_Subject], _Value], name: Callable[[_Subject], str] = str
    ) -> Iterator[tuple[_Subject, _Value]]:
        """Run the task for each subject, and yield the subject and value of those that succeed, as they finish."""
        self._watch.expect(len(subjects))
        running: dict[Future[_Value], _Subject] = {self._threads.submit(task, subject): subject for subject in subjects}
        for future in as_completed(running):
            subject = running[future]
            self._watch.done(name(subject))
            try:
                yield subject, future.result()
            except ExpressPathError as error:
                self.failures.append(Failure(name(subject), error))
