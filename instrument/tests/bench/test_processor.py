"""The client's own processor time decides whether it is the limit; other work is told apart from it."""

from pathlib import Path

import pytest

from express_path_instrument.bench import processor
from express_path_instrument.bench.processor import (
    MachinePeak,
    ProcessorTimes,
    ProcessorUse,
    quota,
    use_between,
)

WALL = 10.0


@pytest.mark.parametrize(
    ("own", "busiest", "usable", "percent"),
    [
        (20.0, 0.25, 8.0, 25),  # a quarter of all
        (10.0, 1.0, 8.0, 100),  # one of eight: its process can do no more
        (14.0, 0.7, 1.5, 93),  # a quota of one and a half
        (200.0, 1.0, 8.0, 100),
    ],
)
def test_the_client_s_own_share_decides(own: float, busiest: float, usable: float, percent: float) -> None:
    """What the processes used is compared with what they may use, and the busiest one with one processor."""
    before, after = ProcessorTimes(0, 1, None), ProcessorTimes(WALL, 1, None)
    assert use_between(before, after, own, busiest, usable).client_percent == pytest.approx(percent, abs=0.5)


def test_other_work_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine worked and the client did not is other work."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    before, after = ProcessorTimes(0, 0, 100), ProcessorTimes(WALL, 1, 131)
    assert use_between(before, after, 9, 0.5, 4) == ProcessorUse(50, 52.5)
    assert use_between(before, after, 40, 0.5, 4).other_percent == 0
    assert use_between(before, before, 0, 0, 4) == ProcessorUse()


def test_the_busiest_second_of_the_machine_is_its_peak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everything but idling and waiting counts, whoever did it; a second that is not over yet does not."""
    monkeypatch.setattr(processor, "_PROC", tmp_path)
    peak = MachinePeak()
    for at, busy, idle in ((1.0, 0, 0), (1.5, 99, 0), (2.0, 30, 70), (3.1, 110, 90), (4.1, 120, 180)):
        (tmp_path / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 77 0\n")
        peak.sample(at)
    assert peak.percent == pytest.approx(80)


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000\n", "a/cpu.max": "150000 100000\n"}, 0.5),
        ("0::/../other\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("", {}, None),
    ],
)
def test_the_smallest_quota_counts(cgroup: str, files: dict[str, str], expected: float | None, tmp_path: Path) -> None:
    """A quota of the cgroup or of one above it is found, also in a container."""
    for name, text in {"proc/self/cgroup": cgroup, **{f"fs/{name}": text for name, text in files.items()}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert quota(tmp_path / "proc", tmp_path / "fs") == expected
