// packages/agent/src/sandbox/seccomp.ts
var refusedEverywhere = [428, 429, 430, 431, 432, 433, 438, 440, 442]
var unknownEverywhere = [425, 426, 427, 435]
var architectures = {
  x64: {
    audit: 3221225534,
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
      ownProcess: [
        [302, 0],
        [142, 0],
        [144, 0],
        [203, 0],
        [314, 0],
        [141, 1],
        [251, 1],
      ],
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
    audit: 3221225655,
    socket: 198,
    clone: 220,
    unshare: 97,
    ioctl: 29,
    hasX32: false,
    refused: [
      117, 270, 271, 272, 40, 39, 41, 51, 268, 265, 264, 217, 218, 219, 280, 241, 282, 262, 18, 104, 294, 105, 273, 106,
      142, 224, 225, 89, 60, 116, 170, 112, 161, 162, 58,
    ],
    read: {
      refused: [
        45, 52, 53, 54, 55, 5, 6, 7, 14, 15, 16, 88, 33, 238, 239, 194, 196, 195, 197, 190, 193, 191, 192, 186, 189,
        188, 187, 180, 181, 182, 183, 184, 185,
      ],
      ownProcess: [
        [261, 0],
        [118, 0],
        [119, 0],
        [122, 0],
        [274, 0],
        [140, 1],
        [30, 1],
      ],
      kill: 129,
      otherSignals: [130, 131, 138, 240],
      open: [[56, 2]],
    },
  },
}
var refusedToReaders = [452, 463, 466, 469, 443]
var pidfdSendSignal = 424
var openat2 = 437
var readerRequests = [
  // TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGPGRP, TIOCSPGRP, TIOCGWINSZ, TIOCGSID
  21505, 21506, 21507, 21508, 21519, 21520, 21523, 21545,
  // FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP
  21531, 21537, 21584, 21585, 2148034049, 2149341215, 3223348747,
]
var [load, and, jumpEqual, jumpAtLeast, jumpAnyBit, giveBack] = [32, 84, 21, 53, 69, 6]
var allow = 2147418112
var killProcess = 2147483648
var errorOf = (errno) => 327680 | errno
var [notPermitted, noSuchCall, noSuchRequest] = [errorOf(1), errorOf(38), errorOf(25)]
var [numberAt, architectureAt] = [0, 4]
var argumentAt = (index) => 16 + 8 * index
var namespaces = 2114060288
var terminalInput = [21522, 21532]
var [unix, inet, inet6, netlink] = [1, 2, 10, 16]
function seccompFilter(machine, options) {
  const known = architectures[machine]
  return known === void 0 ? void 0 : bytesOf(programFor(known, options))
}
function programFor(machine, options) {
  const readers = options.profile === 'read' ? [...machine.read.refused, ...refusedToReaders] : []
  return [
    [load, 0, 0, architectureAt],
    [jumpEqual, 1, 0, machine.audit],
    [giveBack, 0, 0, killProcess],
    [load, 0, 0, numberAt],
    ...(machine.hasX32
      ? [
          [jumpAtLeast, 0, 1, 1073741824],
          [giveBack, 0, 0, notPermitted],
        ]
      : []),
    ...[...machine.refused, ...refusedEverywhere, ...readers].flatMap((number) => refuse(number, notPermitted)),
    ...unknownEverywhere.flatMap((number) => refuse(number, noSuchCall)),
    // socket: only these families. A pair of sockets is another call and stays.
    ...inspected(machine.socket, argumentAt(0), onlyThese(familiesOf(options), notPermitted)),
    ...[machine.clone, machine.unshare].flatMap((number) =>
      inspected(number, argumentAt(0), [
        [jumpAnyBit, 0, 1, namespaces],
        [giveBack, 0, 0, notPermitted],
        [giveBack, 0, 0, allow],
      ]),
    ),
    ...(options.profile === 'read'
      ? readerRules(machine, options.scopesSignals)
      : inspected(machine.ioctl, argumentAt(1), [
          ...terminalInput.flatMap((request) => refuse(request, notPermitted)),
          [giveBack, 0, 0, allow],
        ])),
    [giveBack, 0, 0, allow],
  ]
}
function familiesOf(options) {
  if (options.profile === 'read') return [netlink]
  return [inet, inet6, netlink, ...(options.unixSockets ? [unix] : [])]
}
function readerRules({ ioctl, read }, scopesSignals) {
  return [
    ...inspected(ioctl, argumentAt(1), onlyThese(readerRequests, noSuchRequest)),
    ...read.ownProcess.flatMap(([number, argument]) =>
      inspected(number, argumentAt(argument), onlyThese([0], notPermitted)),
    ),
    ...refuse(openat2, noSuchCall),
    ...read.open.flatMap(([number, argument]) =>
      inspected(number, argumentAt(argument), [
        [and, 0, 0, openAccess | openTruncate],
        ...refuse(openTruncate, notPermitted),
        [giveBack, 0, 0, allow],
      ]),
    ),
    ...(scopesSignals
      ? []
      : [
          // Process 0 is the group of the caller, in which only the command is.
          ...inspected(read.kill, argumentAt(0), onlyThese([0], notPermitted)),
          ...[...read.otherSignals, pidfdSendSignal].flatMap((number) => refuse(number, notPermitted)),
        ]),
  ]
}
var [openAccess, openTruncate] = [3, 512]
function refuse(number, answer) {
  return [
    [jumpEqual, 0, 1, number],
    [giveBack, 0, 0, answer],
  ]
}
function onlyThese(values, otherwise) {
  return [...values.flatMap((value) => refuse(value, allow)), [giveBack, 0, 0, otherwise]]
}
function inspected(number, argument, body) {
  return [[jumpEqual, 0, body.length + 1, number], [load, 0, 0, argument], ...body]
}
function bytesOf(program) {
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

// packages/agent/src/sandbox/landlock.ts
var numbers = {
  x64: [157, 126, 317, 257],
  arm64: [167, 91, 277, 56],
}
function machineNumbers(machine = process.arch) {
  return numbers[machine]
}
function landlockCommand(command, places, { perl, version }) {
  const filter = seccompFilter(process.arch, { profile: 'read', scopesSignals: version >= 6 })
  const known = machineNumbers()
  if (filter === void 0 || known === void 0) return void 0
  const ofPerl = Object.entries(command.env).filter(([name]) => name.startsWith('PERL'))
  const args = [
    '-e',
    launcher,
    '--',
    ...known.map(String),
    Buffer.from(filter).toString('hex'),
    ...places.readable.map((path) => `r${path}`),
    ...places.listed.map((path) => `l${path}`),
    ...places.devices.map((path) => `d${path}`),
    ...places.writable.map((path) => `w${path}`),
    ...ofPerl.flatMap(([name, value]) => (value === void 0 ? [] : [`e${name}=${value}`])),
    '--',
    command.file,
    ...command.args,
  ]
  const without = Object.fromEntries(ofPerl.map(([name]) => [name, void 0]))
  return { file: perl, args, env: { ...command.env, ...without, PERL_BADLANG: '0' } }
}
var launcher = String.raw`
use strict; no warnings;
sub fail { print STDERR "halting: this command cannot be confined ($_[0]), so it did not run\n"; exit 126 }
my ($prctl, $capset, $seccomp, $openat) = splice @ARGV, 0, 4;
my $filter = pack 'H*', shift @ARGV;
delete $ENV{PERL_BADLANG};
my $abi = syscall 444, 0, 0, 1;
fail("no Landlock: $!") if $abi < 1;
my $write = 0; $write |= 1 << $_ for 1, 4 .. 12;
$write |= 1 << 13 if $abi >= 2; $write |= 1 << 14 if $abi >= 3;
my ($read, $list, $device) = (12, 8, 4 | 2 | ($abi >= 3 ? 1 << 14 : 0) | ($abi >= 5 ? 1 << 15 : 0));
my $handled = $write | $read | ($abi >= 5 ? 1 << 15 : 0);
my $rules = pack 'QQQ', $handled, $abi >= 4 ? 3 : 0, $abi >= 6 ? 3 : 0;
my $set = syscall 444, $rules, $abi >= 6 ? 24 : $abi >= 4 ? 16 : 8, 0;
fail("Landlock: $!") if $set < 0;
my %rights = (r => $read, l => $list, w => $write | $read, d => $device);
while (@ARGV) {
  my $word = shift @ARGV;
  last if $word eq '--';
  my ($kind, $path) = (substr($word, 0, 1), substr($word, 1));
  if ($kind eq 'e') { my ($name, $value) = split /=/, $path, 2; $ENV{$name} = $value; next }
  my $name = "$path\0";
  my $place = syscall $openat + 0, -100, $name, 0x200000 | 0x80000, 0;
  next if $place < 0;
  my $right = $rights{$kind};
  unless (-d $path) { $right &= 6 | 1 << 14 | 1 << 15; $right &= $handled }
  if ($right) { my $rule = pack 'Ql', $right, $place; syscall(445, $set, 1, $rule, 0) == 0 or fail("Landlock, $path: $!") }
}
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or fail("no_new_privs: $!");
syscall(446, $set, 0) == 0 or fail("Landlock: $!");
syscall($prctl + 0, 24, $_, 0, 0, 0) for 0 .. 63;
my ($header, $none) = (pack('Ll', 0x20080522, 0), pack 'L6', (0) x 6);
syscall($capset + 0, $header, $none) == 0 or fail("capabilities: $!");
syscall($prctl + 0, 47, 4, 0, 0, 0);
my $program = pack 'Sx6P', length($filter) / 8, $filter;
syscall($seccomp + 0, 1, 0, $program) == 0 or fail("seccomp: $!");
exec { $ARGV[0] } @ARGV;
fail("$ARGV[0]: $!");
`
export { landlockCommand, machineNumbers }
