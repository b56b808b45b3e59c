"""The system calls that no program in a sandbox may make: the one table from which the filter of bubblewrap, the
profile of containers and the page of the documentation are made.

A call that programs can do without is refused with an error that they know how to handle: libraries fall back to an
older call on ENOSYS, and most programs carry on after EPERM. Calls that the kernel allows only to holders of a
capability are listed too, because a sandbox should not depend on a single line of defence.
"""

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class CallCondition(StrEnum):
    """When a call is refused, by its first argument."""

    ALWAYS = "always"
    NEW_NAMESPACE = "with a flag that makes a namespace"
    OTHER_FAMILY = "for another family than unix, IPv4, IPv6 and netlink"
    OTHER_PROCESS = "for another process than the caller"


# The flags CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
NAMESPACE_FLAGS = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
# CLONE_NEWTIME exists for `unshare` alone: in `clone` these bits are the signal that the parent gets.
NEW_TIME_NAMESPACE = 0x80
# AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK.
SOCKET_FAMILIES = (1, 2, 10, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """A system call, its number on each architecture (None where it does not exist), and how it is refused."""

    name: str
    x86_64: int | None
    aarch64: int | None
    reason: str
    error: int = errno.EPERM
    condition: CallCondition = CallCondition.ALWAYS


def _calls(reason: str, *numbers: tuple[str, int | None, int | None], error: int = errno.EPERM) -> Iterator[DeniedCall]:
    for name, x86_64, aarch64 in numbers:
        yield DeniedCall(name=name, x86_64=x86_64, aarch64=aarch64, reason=reason, error=error)


_OTHER_PROCESSES = "reach into other processes, such as the one that checks a result"
_KEYS = "use keys that the host's kernel holds"
_WIDE_INTERFACES = "interfaces with a history of holes in the kernel that agents do not need"
_FILE_SYSTEMS = "change what is mounted, or read where it comes from"
_NAMESPACES = "make namespaces, in which a program has all capabilities"
_MACHINE = "change the machine; also need a capability"
_NETWORK = "reach virtual machine hosts and other networks that a network namespace does not cover"

DENIED_CALLS: tuple[DeniedCall, ...] = (
    *_calls(
        _OTHER_PROCESSES,
        ("ptrace", 101, 117),
        ("process_vm_readv", 310, 270),
        ("process_vm_writev", 311, 271),
        ("process_madvise", 440, 440),
        ("pidfd_getfd", 438, 438),
        ("kcmp", 312, 272),
        ("migrate_pages", 256, 238),
        ("move_pages", 279, 239),
    ),
    DeniedCall(
        name="prlimit64",
        x86_64=302,
        aarch64=261,
        reason=_OTHER_PROCESSES,
        condition=CallCondition.OTHER_PROCESS,
    ),
    *_calls(_KEYS, ("add_key", 248, 217), ("request_key", 249, 218), ("keyctl", 250, 219)),
    *_calls(
        _WIDE_INTERFACES,
        ("io_uring_setup", 425, 425),
        ("io_uring_enter", 426, 426),
        ("io_uring_register", 427, 427),
        error=errno.ENOSYS,
    ),
    *_calls(
        _WIDE_INTERFACES,
        ("userfaultfd", 323, 282),
        ("bpf", 321, 280),
        ("perf_event_open", 298, 241),
        ("fanotify_init", 300, 262),
        ("lookup_dcookie", 212, 18),
        ("open_by_handle_at", 304, 265),
    ),
    *_calls(
        _FILE_SYSTEMS,
        ("mount", 165, 40),
        ("umount2", 166, 39),
        ("pivot_root", 155, 41),
        ("chroot", 161, 51),
        ("open_tree", 428, 428),
        ("move_mount", 429, 429),
        ("fsopen", 430, 430),
        ("fsconfig", 431, 431),
        ("fsmount", 432, 432),
        ("fspick", 433, 433),
        ("mount_setattr", 442, 442),
    ),
    *_calls(
        _FILE_SYSTEMS,
        ("statmount", 457, 457),
        ("listmount", 458, 458),
        ("open_tree_attr", 467, 467),
        error=errno.ENOSYS,
    ),
    *_calls(_NAMESPACES, ("setns", 308, 268)),
    *_calls(_NAMESPACES, ("clone3", 435, 435), error=errno.ENOSYS),
    DeniedCall(name="clone", x86_64=56, aarch64=220, reason=_NAMESPACES, condition=CallCondition.NEW_NAMESPACE),
    DeniedCall(name="unshare", x86_64=272, aarch64=97, reason=_NAMESPACES, condition=CallCondition.NEW_NAMESPACE),
    *_calls(
        _MACHINE,
        ("acct", 163, 89),
        ("delete_module", 176, 106),
        ("finit_module", 313, 273),
        ("init_module", 175, 105),
        ("ioperm", 173, None),
        ("iopl", 172, None),
        ("kexec_file_load", 320, 294),
        ("kexec_load", 246, 104),
        ("quotactl", 179, 60),
        ("quotactl_fd", 443, 443),
        ("reboot", 169, 142),
        ("swapoff", 168, 225),
        ("swapon", 167, 224),
        ("syslog", 103, 116),
    ),
    DeniedCall(
        name="socket",
        x86_64=41,
        aarch64=198,
        reason=_NETWORK,
        error=errno.EAFNOSUPPORT,
        condition=CallCondition.OTHER_FAMILY,
    ),
    DeniedCall(
        name="socketpair",
        x86_64=53,
        aarch64=199,
        reason=_NETWORK,
        error=errno.EAFNOSUPPORT,
        condition=CallCondition.OTHER_FAMILY,
    ),
)


def namespace_flags(name: str) -> tuple[int, ...]:
    """The flags by which this call makes a namespace."""
    return (*NAMESPACE_FLAGS, NEW_TIME_NAMESPACE) if name == "unshare" else NAMESPACE_FLAGS


def denied_calls_table() -> str:
    """The table of the documentation, in Markdown: reasons in the order of the table, calls by answer."""
    lines = ["| programs may not | calls | answer |", "|---|---|---|"]
    rows: dict[tuple[str, CallCondition, int], list[str]] = {}
    for call in DENIED_CALLS:
        rows.setdefault((call.reason, call.condition, call.error), []).append(f"`{call.name}`")
    for (reason, condition, error), names in rows.items():
        when = "" if condition is CallCondition.ALWAYS else f" {condition.value}"
        lines.append(f"| {reason} | {', '.join(names)}{when} | `{errno.errorcode[error]}` |")
    return "\n".join(lines) + "\n"
