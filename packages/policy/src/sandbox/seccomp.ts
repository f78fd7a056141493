/**
 * A system call filter for bubblewrap's `--seccomp`. A classic BPF program is a list of instructions of four numbers, so no library is needed. It
 * blocks calls that no build or test needs and that sandbox escapes have used.
 */
export type SeccompOptions =
  | { readonly profile: 'project'; readonly unixSockets: boolean }
  /** `scopesSignals`: the kernel (Landlock 6) or a PID namespace limits signals; otherwise the filter does. */
  | { readonly profile: 'read'; readonly scopesSignals: boolean }

interface Architecture {
  /** AUDIT_ARCH_…: a program for another architecture would use other numbers. */
  readonly audit: number
  readonly socket: number
  readonly clone: number
  readonly unshare: number
  readonly ioctl: number
  readonly refused: readonly number[]
  readonly hasX32: boolean
  /** Calls that set the mode of a file, with the argument that has the mode. */
  readonly modes: readonly (readonly [number: number, mode: Argument])[]
  /** Calls that open files, and may create them with a mode. */
  readonly creates: readonly (readonly [number: number, flags: Argument, mode: Argument])[]
  readonly read: ReadCalls
}

type Argument = 0 | 1 | 2 | 3

/** Calls that a reading command does not need and that Landlock does not restrict. */
interface ReadCalls {
  /** They change modes, owners, attributes or times, create devices, or communicate by System V IPC or message queues. */
  readonly refused: readonly number[]
  /** They change how a process runs: allowed for the caller itself, which is process 0 in the first argument. */
  readonly ownProcess: readonly number[]
  /** The same, where the first argument selects a process, a group or a user. */
  readonly ownPriority: readonly (readonly [number: number, process: number])[]
  readonly fcntl: number
  readonly socketpair: number
  readonly connect: number
  /** Calls that send signals. */
  readonly kill: number
  readonly otherSignals: readonly number[]
  /** Calls that open files, with the argument that has the flags: `O_RDONLY | O_TRUNC` truncates a file on kernels before 6.2. */
  readonly open: readonly (readonly [number: number, argument: 1 | 2])[]
}

/** Numbers above 424 are the same on all architectures: new mount calls, io_uring, pidfd_getfd, process_madvise. */
const refusedEverywhere = [428, 429, 430, 431, 432, 433, 438, 440, 442]
/** clone3, whose flags a filter cannot see, and io_uring, whose operations no filter sees: reported as unsupported. */
const unknownEverywhere = [425, 426, 427, 435]

const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    clone: 56,
    unshare: 272,
    ioctl: 16,
    hasX32: true,
    refused: [
      // ptrace, process_vm_readv, process_vm_writev, kcmp
      101, 310, 311, 312,
      // mount, umount2, pivot_root, chroot, setns, open_by_handle_at, name_to_handle_at
      165, 166, 155, 161, 308, 304, 303,
      // add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, fanotify_init, lookup_dcookie
      248, 249, 250, 321, 298, 323, 300, 212,
      // kexec_load, kexec_file_load, init_module, finit_module, delete_module, reboot, swapon, swapoff, acct, quotactl
      246, 320, 175, 313, 176, 169, 167, 168, 163, 179,
      // syslog, settimeofday, clock_settime, sethostname, setdomainname, vhangup, iopl, ioperm, modify_ldt
      103, 164, 227, 170, 171, 153, 172, 173, 154,
    ],
    // chmod, fchmod, fchmodat; creat; mknod, mknodat
    modes: [
      [90, 1],
      [91, 1],
      [268, 2],
      [85, 1],
      [133, 1],
      [259, 2],
    ],
    // open, openat
    creates: [
      [2, 1, 2],
      [257, 2, 3],
    ],
    read: {
      refused: [
        // truncate; chmod, fchmod, fchmodat; chown, fchown, lchown, fchownat
        76, 90, 91, 268, 92, 93, 94, 260,
        // setxattr, lsetxattr, fsetxattr, removexattr, lremovexattr, fremovexattr
        188, 189, 190, 197, 198, 199,
        // utime, utimes, futimesat, utimensat; mknod, mknodat; migrate_pages, move_pages
        132, 235, 261, 280, 133, 259, 256, 279,
        // shmget, shmat, shmctl, shmdt, semget, semop, semctl, semtimedop, msgget, msgsnd, msgrcv, msgctl
        29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71,
        // mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr
        240, 241, 242, 243, 244, 245,
      ],
      // prlimit64, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr, setpriority, ioprio_set
      ownProcess: [302, 142, 144, 203, 314],
      ownPriority: [
        [141, 0],
        [251, 1],
      ],
      fcntl: 72,
      socketpair: 53,
      connect: 42,
      kill: 62,
      // tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo
      otherSignals: [200, 234, 129, 297],
      // open, openat
      open: [
        [2, 1],
        [257, 2],
      ],
    },
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    clone: 220,
    unshare: 97,
    ioctl: 29,
    hasX32: false,
    refused: [
      117, 270, 271, 272, 40, 39, 41, 51, 268, 265, 264, 217, 218, 219, 280, 241, 282, 262, 18, 104, 294, 105, 273, 106,
      142, 224, 225, 89, 60, 116, 170, 112, 161, 162, 58,
    ],
    modes: [
      [52, 1],
      [53, 2],
      [33, 2],
    ],
    creates: [[56, 2, 3]],
    read: {
      refused: [
        45, 52, 53, 54, 55, 5, 6, 7, 14, 15, 16, 88, 33, 238, 239, 194, 196, 195, 197, 190, 193, 191, 192, 186, 189,
        188, 187, 180, 181, 182, 183, 184, 185,
      ],
      ownProcess: [261, 118, 119, 122, 274],
      ownPriority: [
        [140, 0],
        [30, 1],
      ],
      fcntl: 25,
      socketpair: 199,
      connect: 203,
      kill: 129,
      otherSignals: [130, 131, 138, 240],
      open: [[56, 2]],
    },
  },
}

/** Additional calls that the read profile refuses: fchmodat2, setxattrat, removexattrat, file_setattr, quotactl_fd. */
const refusedToReaders = [452, 463, 466, 469, 443]
const pidfdSendSignal = 424
const openat2 = 437
const fchmodat2 = 452
/** S_ISUID; O_CREAT and O_TMPFILE. */
const [setUserId, openCreate] = [0o4000, 0o20000100]
/** ioctl requests for terminals, pipes and files that are allowed; others could change a file or a device. */
const readerRequests = [
  // TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGPGRP, TIOCSPGRP, TIOCGWINSZ, TIOCGSID
  0x5401, 0x5402, 0x5403, 0x5404, 0x540f, 0x5410, 0x5413, 0x5429,
  // FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP
  0x541b, 0x5421, 0x5450, 0x5451, 0x80086601, 0x801c581f, 0xc020660b,
]

const [load, and, jumpEqual, jumpAtLeast, jumpAnyBit, returnValue] = [0x20, 0x54, 0x15, 0x35, 0x45, 0x06]
const allowCall = 0x7fff0000
const killProcess = 0x80000000
const errorOf = (errno: number): number => 0x00050000 | errno
const [notPermitted, noSuchCall, noSuchRequest] = [errorOf(1), errorOf(38), errorOf(25)]
/** Offsets in `struct seccomp_data`. On these architectures the lower half of an argument comes first. */
const [numberAt, architectureAt] = [0, 4]
const argumentAt = (index: Argument): number => 16 + 8 * index

/** New namespaces: mount, cgroup, uts, ipc, user, pid, net. */
const namespaces = 0x7e020000
/** Inserts characters into the input of a terminal, as if a person had typed them. */
const terminalInput = [0x5412, 0x541c]
const [unix, inet, inet6, netlink] = [1, 2, 10, 16]

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

/** The bytes of the filter; undefined for an architecture that is not in the table. */
export function seccompFilter(machine: string, options: SeccompOptions): Uint8Array | undefined {
  const known = architectures[machine]
  return known === undefined ? undefined : bytesOf(programFor(known, options))
}

function programFor(machine: Architecture, options: SeccompOptions): readonly Instruction[] {
  const readers = options.profile === 'read' ? [...machine.read.refused, ...refusedToReaders] : []
  return [
    [load, 0, 0, architectureAt],
    [jumpEqual, 1, 0, machine.audit],
    [returnValue, 0, 0, killProcess],
    [load, 0, 0, numberAt],
    ...(machine.hasX32
      ? ([
          [jumpAtLeast, 0, 1, 0x40000000],
          [returnValue, 0, 0, notPermitted],
        ] as const)
      : []),
    ...[...machine.refused, ...refusedEverywhere, ...readers].flatMap((number) => refuseCall(number, notPermitted)),
    ...unknownEverywhere.flatMap((number) => refuseCall(number, noSuchCall)),
    // socket: only these families. socketpair is another call and remains allowed.
    ...inspected(machine.socket, argumentAt(0), onlyThese(familiesOf(options), notPermitted)),
    ...[machine.clone, machine.unshare].flatMap((number) =>
      inspected(number, argumentAt(0), [
        [jumpAnyBit, 0, 1, namespaces],
        [returnValue, 0, 0, notPermitted],
        [returnValue, 0, 0, allowCall],
      ]),
    ),
    ...(options.profile === 'read' ? readerRules(machine, options.scopesSignals) : projectRules(machine)),
    [returnValue, 0, 0, allowCall],
  ]
}

/** A set-user-ID program would run outside with the rights of the user of this program. */
function projectRules({ ioctl, modes, creates }: Architecture): readonly Instruction[] {
  const refusedMode: readonly Instruction[] = [
    [jumpAnyBit, 0, 1, setUserId],
    [returnValue, 0, 0, notPermitted],
    [returnValue, 0, 0, allowCall],
  ]
  return [
    ...inspected(ioctl, argumentAt(1), [
      ...terminalInput.flatMap((request) => refuseCall(request, notPermitted)),
      [returnValue, 0, 0, allowCall],
    ]),
    ...[...modes, [fchmodat2, 2] as const].flatMap(([number, mode]) =>
      inspected(number, argumentAt(mode), refusedMode),
    ),
    // Without these flags, the call has no mode argument.
    ...creates.flatMap(([number, flags, mode]) =>
      inspected(number, argumentAt(flags), [
        [jumpAnyBit, 1, 0, openCreate],
        [returnValue, 0, 0, allowCall],
        [load, 0, 0, argumentAt(mode)],
        ...refusedMode,
      ]),
    ),
    // The flags and the mode of openat2 are in memory, which a filter cannot read.
    ...refuseCall(openat2, noSuchCall),
  ]
}

function familiesOf(options: SeccompOptions): readonly number[] {
  if (options.profile === 'read') return [netlink]
  return [inet, inet6, netlink, ...(options.unixSockets ? [unix] : [])]
}

function readerRules({ ioctl, read }: Architecture, scopesSignals: boolean): readonly Instruction[] {
  return [
    ...inspected(ioctl, argumentAt(1), onlyThese(readerRequests, noSuchRequest)),
    ...read.ownProcess.flatMap((number) => inspected(number, argumentAt(0), onlyThese([0], notPermitted))),
    ...read.ownPriority.flatMap(([number, process]) =>
      inspected(number, argumentAt(0), [
        [jumpEqual, 1, 0, process],
        [returnValue, 0, 0, notPermitted],
        [load, 0, 0, argumentAt(1)],
        ...onlyThese([0], notPermitted),
      ]),
    ),
    // Signals for a descriptor, leases and change notifications reach other processes.
    ...inspected(read.fcntl, argumentAt(1), [
      ...ownerRequests.flatMap((request) => refuseCall(request, notPermitted)),
      [returnValue, 0, 0, allowCall],
    ]),
    // A pair of datagram sockets could send to any socket that has a path.
    ...inspected(read.socketpair, argumentAt(1), [[and, 0, 0, 0xf], ...onlyThese([stream, sequence], notPermitted)]),
    ...refuseCall(read.connect, notPermitted),
    ...refuseCall(openat2, noSuchCall),
    ...read.open.flatMap(([number, argument]) =>
      inspected(number, argumentAt(argument), [
        [and, 0, 0, openAccess | openTruncate],
        ...refuseCall(openTruncate, notPermitted),
        [returnValue, 0, 0, allowCall],
      ]),
    ),
    ...(scopesSignals
      ? []
      : [
          // Process 0 is the process group of the caller, which contains only the command.
          ...inspected(read.kill, argumentAt(0), onlyThese([0], notPermitted)),
          ...[...read.otherSignals, pidfdSendSignal].flatMap((number) => refuseCall(number, notPermitted)),
        ]),
  ]
}

/** F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY. */
const ownerRequests = [8, 10, 15, 1024, 1026]
const [stream, sequence] = [1, 5]
const [openAccess, openTruncate] = [0o3, 0o1000]

function refuseCall(number: number, answer: number): readonly Instruction[] {
  return [
    [jumpEqual, 0, 1, number],
    [returnValue, 0, 0, answer],
  ]
}

function onlyThese(values: readonly number[], otherwise: number): readonly Instruction[] {
  return [...values.flatMap((value) => refuseCall(value, allowCall)), [returnValue, 0, 0, otherwise]]
}

/** Instructions that decide one call completely; for other calls the call number remains loaded. */
function inspected(number: number, argument: number, body: readonly Instruction[]): readonly Instruction[] {
  return [[jumpEqual, 0, body.length + 1, number], [load, 0, 0, argument], ...body]
}

function bytesOf(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  program.forEach(([code, whenTrue, whenFalse, value], index) => {
    view.setUint16(index * 8, code, true)
    view.setUint8(index * 8 + 2, whenTrue)
    view.setUint8(index * 8 + 3, whenFalse)
    view.setUint32(index * 8 + 4, value, true)
  })
  return bytes
}
