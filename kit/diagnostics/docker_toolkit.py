"""What the NVIDIA container toolkit and CDI say when a container asks for the card. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_CDI = "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
_CONFIG = "/etc/nvidia-container-runtime/config.toml"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r'could not select device driver "(?P<driver>[^"]*)" with capabilities: \[\[gpu',
        "Docker has no driver {driver} that gives a container the card",
        "install the NVIDIA container toolkit and restart Docker, or write `gpu: {access: cdi}`",
    ),
    Pattern(
        r"unsupported driver nvidia: devices requests|unknown flag: --gpus|devices? requests? (?:is|are) not supported",
        "this is Podman or another engine, which takes no device requests for the nvidia driver",
        "write `gpu: {access: cdi}`, or use Docker's own engine",
    ),
    Pattern(
        r"unresolvable CDI devices (?P<device>[^\s:]+)|CDI device injection failed: (?:unknown|no such) device "
        r"(?P<no>\S+)"
        r"|failed to discover CDI devices|no CDI spec",
        "there is no CDI device {device}{no} here",
        f"{_CDI}, and `features: {{cdi: true}}` in daemon.json",
    ),
    Pattern(
        r'error gathering device information while adding custom device "(?P<node>[^"]+)"',
        "a container asks for the device {node}, which this machine does not have: the driver's module is not loaded, "
        "or the CDI specification is older than the driver",
        f"`sudo nvidia-modprobe -u -c0`, then {_CDI}",
    ),
    Pattern(
        r"(?:nvidia-cdi-hook|nvidia-ctk|nvidia-container-runtime(?:-hook)?)(?:: | )?(?:no such file|executable file "
        r"not "
        r"found)|(?:fork/exec|stat|exec:) \S*nvidia-(?:cdi-hook|ctk|container-runtime(?:-hook)?)\S*"
        r"[^\n]{0,40}(?:no such file|not found)",
        "a program of the NVIDIA container toolkit is not where its configuration says: the toolkit was removed, or "
        "updated to another place",
        f"install the NVIDIA container toolkit again; with `gpu.access: cdi` also {_CDI}",
    ),
    Pattern(
        r"failed to (?:parse|load|read) CDI [Ss]pec[^\n]{0,200}|CDI [Ss]pec[^\n]{0,80}(?:invalid|conflict)[^\n]{0,80}"
        r"|conflicting device \S+ \(specs",
        "a CDI specification cannot be read, or two describe the same card",
        f"look into /etc/cdi and /var/run/cdi, keep one file for the card, and write it again: {_CDI}",
    ),
    Pattern(
        r"invoking the NVIDIA Container Runtime Hook directly[^\n]{0,80}not supported",
        "the toolkit is set to CDI, and the container asked for the card the older way",
        "write `gpu: {access: cdi}`; or `sudo nvidia-ctk config --set nvidia-container-runtime.mode=auto --in-place`",
    ),
    Pattern(
        r"unsatisfied condition: (?P<needed>(?:cuda|driver) ?>= ?[\d.]+)",
        "the NVIDIA driver is too old for the image, which needs {needed}",
        "update the driver, or take an older image: `image:` of the model",
    ),
    Pattern(
        r"unsatisfied condition: (?P<needed>(?:brand|arch)\S*)",
        "the image is made for other cards than this one: it needs {needed}",
        "take another image: `image:` of the model",
    ),
    Pattern(
        r"nvidia-container-cli[^\n]{0,40}: device error: (?:(?P<id>[\w-]+): )?unknown device(?: id)?(?:: "
        r"(?P<other>\S+))?",
        "the card that the manifest names does not exist on this machine",
        "`nvidia-smi -L` lists the cards; write the index or the UUID into `gpu: {device: ...}`",
    ),
    Pattern(
        r"bpf_prog_query\(BPF_CGROUP_DEVICE\)|devices\.allow: (?:operation not permitted|permission denied)"
        r"|failed to (?:add|set) device rules[^\n]{0,80}not permitted",
        "the NVIDIA container toolkit may not change cgroups here: Docker runs rootless, or inside a container",
        f"`sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place` (it is in {_CONFIG}), "
        "or write `gpu: {access: cdi}`",
    ),
    Pattern(
        r"cgroup subsystem devices not found|failed to get device cgroup mount path",
        "the NVIDIA container toolkit does not find the cgroup of devices: it is older than cgroup v2, or systemd's "
        "settings hide it",
        "update the NVIDIA container toolkit, or write `gpu: {access: cdi}`",
    ),
    Pattern(
        r"WSL environment detected but no adapters were found|[Dd]xcore initiali[sz]ation failed"
        r"|GPU access blocked by the operating system",
        "WSL2 does not show the card: the driver of Windows is too old, or WSL has to be restarted",
        "update NVIDIA's driver in Windows, then `wsl --update` and `wsl --shutdown`; install no driver inside WSL",
    ),
    Pattern(
        r"(?:mount error: )?file creation failed: \S*?/(?P<file>[^/\s]+): file exists",
        "the image holds a copy of the driver's file {file}: it was saved on a machine with the driver in it",
        "build the image without the driver's libraries (libcuda.so*, libnvidia-*), or take the official one",
    ),
    Pattern(
        r"ldcache error|ldconfig(?:\.real)?: (?:no such file|not found|open failed)",
        "the NVIDIA container toolkit cannot run ldconfig for the container",
        f'look at `ldconfig` in {_CONFIG}: "@/sbin/ldconfig.real" on Ubuntu, "@/sbin/ldconfig" elsewhere',
    ),
    Pattern(
        r"(?:driver rpc error|driver error): (?:timed out|failed to process request)",
        "the NVIDIA driver did not answer the container toolkit in time: it loads itself again for each program",
        "turn persistence on, `sudo nvidia-smi -pm 1`; if nvidia-smi hangs as well, reboot",
        retryable=True,
    ),
    Pattern(
        r"nvidia-persistenced/socket: no such device",
        "the socket of nvidia-persistenced is there, and its daemon does not run",
        "`sudo systemctl restart nvidia-persistenced`, or remove /run/nvidia-persistenced",
    ),
    Pattern(
        r"nvml error: (?:insufficient permissions|no permission)|(?:detection|initialization) error: [^\n]{0,60}"
        r"insufficient permissions",
        "the container toolkit may not use the driver's devices",
        "`ls -l /dev/nvidia*`: they must be open to all (0666), which `options nvidia NVreg_DeviceFileMode=0666` sets",
    ),
    Pattern(
        r"nvml error: driver not loaded|load library failed: libnvidia-ml|nvidia-container-cli[^\n]{0,40}: "
        r"initialization error: (?:nvml error|cannot open shared object|load library failed|cuda error)"
        r"|failed to initialize NVML: (?:ERROR_LIBRARY_NOT_FOUND|Driver Not Loaded)|/proc/driver/nvidia[^\n]{0,80}no "
        r"such"
        r"|failed to initialize NVML: ERROR_DRIVER_NOT_LOADED",
        "the NVIDIA driver is not loaded on the host",
        "`nvidia-smi` must work on the host first: install the driver, or reboot after an update of driver or kernel",
        unless=r"version mismatch|unknown error",
    ),
    Pattern(
        r"nvidia-container-cli(?:\.real)?: (?P<why>[^\n]+)",
        "the NVIDIA container toolkit cannot give the card: {why}",
        "`nvidia-smi` must work on the host first; `sudo nvidia-container-cli -k -d /dev/tty info` says more",
        general=True,
    ),
)
