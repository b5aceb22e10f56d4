"""How many processors a cgroup leaves, and what listens where."""

from pathlib import Path

import pytest

from magistrate.wiring.server import find_cpu_quota

V1 = "4:memory:/x\n3:cpuset:/x\n2:cpu,cpuacct:/kubepods/pod1/c1\n0::/\n"


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "300000"}, 3),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 0"}, None),
        (
            {  # the limit of the unit holds for what is in it, and that of the slice for both
                "proc/self/cgroup": "0::/system.slice/magistrate.service/x\n",
                "sys/fs/cgroup/system.slice/magistrate.service/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/system.slice/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/system.slice/magistrate.service/x/cpu.max": "max 100000\n",
            },
            2,
        ),
        ({"proc/self/cgroup": "0::/host/path/of/the/container\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1),
        (
            {
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.cfs_quota_us": "350000\n",
                "sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (
            {  # as Docker shows it in a container
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            2,
        ),
        (
            {
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_the_quota_of_the_cgroup_is_rounded_down(tmp_path: Path, files: dict[str, str], expected: int | None) -> None:
    assert find_cpu_quota(write_tree(tmp_path, files)) == expected
