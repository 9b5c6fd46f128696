"""Creating and starting containers: mounts, programs, limits, the kernel. Pure."""

from __future__ import annotations

from kit.diagnostics.pattern import Pattern

_PROGRAM = "look at `image`, `entrypoint` and `command`"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        r"Mounts denied|is not shared from the host and is not known to Docker|path \S+ is not shared",
        "Docker Desktop does not share that folder with its virtual machine",
        "add it under Settings, Resources, File sharing; or move the files below your home",
    ),
    Pattern(
        r"bind source path does not exist: (?P<path>\S+)|failed to mount local volume: mount (?P<local>[^:\s]+):\S* "
        r"no such"
        r"|failed to mount local volume: mount (?P<vol>[^:\s]+):[^\n]{0,200} no such|mount "
        r"src=(?P<src>[^,:\s]+)[^\n]{0,80}: no such file",
        "there is no {path}{local}{vol}{src} to mount",
        "render again, or fix the path",
    ),
    Pattern(
        r"mount a directory onto a file|not a directory: unknown|cannot create subdirectories in [^\n]{0,200}not a "
        r"directory",
        "a file and a folder are mounted onto each other: one of both was expected, and Docker made a folder where a "
        "file was missing",
        "remove the empty folder, and render again; or fix the path in `volumes`",
    ),
    Pattern(
        r"error while creating mount source path '(?P<path>[^']+)'[^\n]*",
        "Docker cannot make {path}: a folder above it is read only, or not there (a snap of Docker sees your home "
        "alone)",
        "look at the path in `volumes` and `source`",
    ),
    Pattern(
        r"error mounting [^\n]{0,300}permission denied|mount (?:src=|callback|through procfd)[^\n]{0,300}permission "
        r"denied"
        r"|failed to (?:resolve symlink|mount) [^\n]{0,200}permission denied",
        "Docker may not read a folder that is mounted: SELinux, or a network file system that maps root away",
        "`sudo chcon -Rt svirt_sandbox_file_t FOLDER` under SELinux; under NFS no_root_squash, or a copy on a local "
        "disk",
    ),
    Pattern(
        r'error mounting "(?:shm|tmpfs|mqueue)"|invalid (?:--)?shm.?size|ShmSize',
        "the container's shared memory cannot be set up",
        "look at `shm_size` and at the kernel's limits for tmpfs",
    ),
    Pattern(
        r'exec: "(?P<program>[^"]+)":[^\n]{0,80}permission denied',
        "{program} in the image may not be run: its file is not executable, or the disk is mounted noexec",
        "`chmod +x` it; look at `image` and `entrypoint`",
    ),
    Pattern(
        r'exec: "(?P<program>[^"]+)":[^\n]{0,200}(?:not found|no such file)'
        r"|exec (?P<path>/\S+): no such file or directory",
        "the image has no program {program}{path}",
        _PROGRAM,
        unless=r"docker-credential|nvidia-",
    ),
    Pattern(
        r"exec format error|does not match the (?:detected host|specified) platform",
        "the image is made for another processor than this machine's",
        "take an image for this platform: `image:`; `docker image inspect` shows Architecture",
    ),
    Pattern(
        r"unable to join session keyring|unable to create session key",
        "the kernel's quota of keys is used up: it counts one for each container",
        "`sudo sysctl -w kernel.keys.maxkeys=2000 kernel.keys.maxbytes=2000000`, and put both into /etc/sysctl.d",
    ),
    Pattern(
        r"pthread_create failed: (?:Operation not permitted|EPERM)|can't start new thread[^\n]{0,40}not permitted",
        "Docker is too old for the image: its seccomp profile forbids a call (clone3) that the image's C library makes",
        "update Docker to 20.10.10 or newer, and libseccomp with it",
    ),
    Pattern(
        r"fork/exec \S*: resource temporarily unavailable|newosproc|pthread_create failed: Resource temporarily"
        r"|failed to create new OS thread",
        "no further process or thread can be started on this machine",
        "raise the limits: `ulimit -u`, TasksMax of docker.service, kernel.pid_max",
    ),
    Pattern(
        r"(?:unable to apply|error setting|failed to apply) cgroup config\w*|cannot enter cgroupv2|Unit docker-\S+ "
        r"(?:not found|already exists)|unable to start unit \S*docker-|domain controllers -- it is in an invalid state"
        r"|cgroup\S* deleted|/sys/fs/cgroup/\S+: no such file"
        r"|cgroup mountpoint does not exist|cannot use systemd cgroups manager",
        "Docker cannot set up the container's cgroup: systemd or the kernel is set up otherwise than Docker expects",
        "`docker info | grep -i cgroup`; restart Docker, and keep `native.cgroupdriver` as systemd has it",
    ),
    Pattern(
        r"Minimum memory limit allowed|Range of CPUs is from|memory(?:-| )swap limit should be larger|Invalid memory "
        r"(?:limit|reservation)",
        "a limit on the container's memory or processors is none that this machine can give",
        "look at `deploy`, `mem_limit` and `cpus` in the file that was edited by hand",
    ),
    Pattern(
        r"error setting rlimit",
        "a limit of the container (ulimits) is higher than Docker itself may set",
        "raise LimitNOFILE and LimitMEMLOCK of docker.service, or lower `default-ulimits` in daemon.json",
    ),
    Pattern(
        r"apparmor[^\n]{0,120}(?:no such file|not found|unable|failed|denied)|apparmor_parser",
        "AppArmor does not let Docker start containers",
        "install apparmor-utils, or `sudo aa-remove-unknown` after an update; then restart Docker",
    ),
    Pattern(
        r"seccomp[^\n]{0,80}(?:not supported|not enabled|invalid|error|failed)|unable to init seccomp",
        "the kernel or libseccomp does not do what Docker's seccomp profile asks for",
        "update libseccomp and Docker",
    ),
    Pattern(
        r"[Uu]nknown runtime|unknown or invalid runtime name",
        "Docker does not know that runtime",
        "take `runtime:` out; the kit needs none",
    ),
    Pattern(
        r"failed to initialize logging driver|unknown log (?:driver|opt)|logger: no log driver",
        "the container's log cannot be opened",
        "look at `log-driver` and `log-opts` in daemon.json",
    ),
    Pattern(
        r"error (?:creating overlay mount|mounting overlay)|too many levels of symbolic links"
        r"|failed to mount overlay|overlay[^\n]{0,80}(?:invalid argument|not supported|stale)",
        "Docker's own storage is broken, or lies on a file system that overlay2 cannot use",
        "restart Docker; look at `docker info | grep -i storage` and at what /var/lib/docker lies on",
    ),
    Pattern(
        r"failed to register layer: [^\n]{0,200}(?:lchown|operation not permitted|invalid argument)"
        r"|insufficient UIDs or GIDs",
        "a layer of the image has owners that a rootless Docker cannot map",
        "give your user more ids in /etc/subuid and /etc/subgid (65536 or more), then restart Docker",
    ),
    Pattern(
        r"(?:OCI runtime create failed|failed to create (?:shim )?task)[^\n]*?(?P<why>[^:\n]+: [^:\n]+?)(?:: "
        r"unknown)?\s*$",
        "Docker cannot start the container: {why}",
        "Docker's own log says more: `journalctl -u docker`",
        general=True,
    ),
)
