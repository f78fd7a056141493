/**
 * A filter of system calls for bubblewrap's `--seccomp`, made here: a classic BPF program is a list of four numbers, so no
 * library is needed. It takes away what no build or test needs and what escapes were made of.
 */
export interface SeccompOptions {
  readonly unixSockets: boolean
}

interface Architecture {
  /** AUDIT_ARCH_…: a program for another architecture would have other numbers. */
  readonly audit: number
  readonly socket: number
  readonly clone: number
  readonly unshare: number
  readonly ioctl: number
  readonly refused: readonly number[]
  readonly hasX32: boolean
}

/** Numbers above 424 are the same everywhere: mounts of the new kind, io_uring, pidfd_getfd, process_madvise. */
const refusedEverywhere = [428, 429, 430, 431, 432, 433, 438, 440, 442]
/** clone3, whose flags a filter cannot see, and io_uring, which does calls that no filter sees: as if the kernel had none. */
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
  },
}

const [load, jumpEqual, jumpAtLeast, jumpAnyBit, giveBack] = [0x20, 0x15, 0x35, 0x45, 0x06]
const allow = 0x7fff0000
const killProcess = 0x80000000
const errorOf = (errno: number): number => 0x00050000 | errno
const [notPermitted, noSuchCall] = [errorOf(1), errorOf(38)]
/** Where `struct seccomp_data` holds them: the lower halves of the arguments come first on these machines. */
const [numberAt, architectureAt, firstArgumentAt, secondArgumentAt] = [0, 4, 16, 24]

/** New namespaces: mount, cgroup, uts, ipc, user, pid, net. */
const namespaces = 0x7e020000
/** Puts characters into a terminal's input, as if a person had typed them. */
const terminalInput = [0x5412, 0x541c]
const [unix, inet, inet6, netlink] = [1, 2, 10, 16]

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

/** The bytes of the filter; undefined for a machine whose numbers are not in the table. */
export function seccompFilter(machine: string, options: SeccompOptions): Uint8Array | undefined {
  const known = architectures[machine]
  return known === undefined ? undefined : bytesOf(programFor(known, options))
}

function programFor(machine: Architecture, { unixSockets }: SeccompOptions): readonly Instruction[] {
  const refuse = (number: number, answer: number): readonly Instruction[] => [
    [jumpEqual, 0, 1, number],
    [giveBack, 0, 0, answer],
  ]
  const families = [inet, inet6, netlink, ...(unixSockets ? [unix] : [])]
  return [
    [load, 0, 0, architectureAt],
    [jumpEqual, 1, 0, machine.audit],
    [giveBack, 0, 0, killProcess],
    [load, 0, 0, numberAt],
    ...(machine.hasX32
      ? ([
          [jumpAtLeast, 0, 1, 0x40000000],
          [giveBack, 0, 0, notPermitted],
        ] as const)
      : []),
    ...[...machine.refused, ...refusedEverywhere].flatMap((number) => refuse(number, notPermitted)),
    ...unknownEverywhere.flatMap((number) => refuse(number, noSuchCall)),
    // socket: only these families. A pair of sockets is another call and stays.
    ...inspected(machine.socket, firstArgumentAt, [
      ...families.flatMap((family): readonly Instruction[] => [
        [jumpEqual, 0, 1, family],
        [giveBack, 0, 0, allow],
      ]),
      [giveBack, 0, 0, notPermitted],
    ]),
    ...[machine.clone, machine.unshare].flatMap((number) =>
      inspected(number, firstArgumentAt, [
        [jumpAnyBit, 0, 1, namespaces],
        [giveBack, 0, 0, notPermitted],
        [giveBack, 0, 0, allow],
      ]),
    ),
    ...inspected(machine.ioctl, secondArgumentAt, [
      ...terminalInput.flatMap((request) => refuse(request, notPermitted)),
      [giveBack, 0, 0, allow],
    ]),
    [giveBack, 0, 0, allow],
  ]
}

/** Instructions for one call, which end it; the number of the call is still loaded for those that follow. */
function inspected(number: number, argumentAt: number, body: readonly Instruction[]): readonly Instruction[] {
  return [[jumpEqual, 0, body.length + 1, number], [load, 0, 0, argumentAt], ...body]
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
