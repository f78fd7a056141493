import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { contentOf, napping, secret, type World } from './world.ts'

/** An attempted escape. `worked` checks the output and the world after it. */
export interface Escape {
  readonly name: string
  readonly command: string
  readonly worked: (world: World, printed: string) => boolean
  /** Why it is not tried without a sandbox: it would harm, or needs privileges. Absent: it is tried. */
  readonly notShown?: string
  readonly needs?: 'python' | 'root'
}

const wrote = ({ outside }: World): boolean => contentOf(join(outside, 'target')) !== 'whole\n'
const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
const printsSecret = (_world: World, printed: string): boolean => printed.includes(secret)
const made = (_world: World, printed: string): boolean => printed.includes('MADE')
const there =
  (folder: 'project' | 'outside' | 'home', name: string) =>
  (world: World): boolean =>
    existsSync(join(world[folder], name))
const python = (lines: readonly string[]): string => `python3 - <<'END'\n${lines.join('\n')}\nEND`
const libc = ['import ctypes, os', 'c = ctypes.CDLL(None, use_errno=True)', 'c.syscall.restype = ctypes.c_long']

const writing: readonly Escape[] = [
  { name: 'a redirect', command: 'echo x > "$OUTSIDE/target"', worked: wrote },
  { name: 'a relative path', command: 'echo x > ../outside/target', worked: wrote },
  { name: 'a link that is written through', command: 'ln -s "$OUTSIDE" l; echo x > l/target', worked: wrote },
  { name: 'a hard link', command: 'ln "$OUTSIDE/target" h; echo x > h', worked: wrote },
  { name: 'mv over a file', command: 'echo x > file; mv -f file "$OUTSIDE/target"', worked: wrote },
  { name: 'rm', command: 'rm -f "$OUTSIDE/target"', worked: wrote },
  { name: 'truncate', command: 'truncate -s 0 "$OUTSIDE/target"', worked: wrote },
  { name: 'dd', command: 'echo x | dd of="$OUTSIDE/target"', worked: wrote },
  { name: 'sed -i', command: 'sed -i s/whole/x/ "$OUTSIDE/target"', worked: wrote },
  {
    name: 'chmod',
    command: 'chmod 777 "$OUTSIDE/target"',
    worked: ({ outside }) => (lstatSync(join(outside, 'target')).mode & 0o777) === 0o777,
  },
  {
    name: 'touch with a time',
    command: 'touch -d 2001-01-01 "$OUTSIDE/target"',
    worked: ({ outside }) => lstatSync(join(outside, 'target')).mtime.getFullYear() === 2001,
  },
  { name: 'by /proc/self/root', command: 'echo x > "/proc/self/root$OUTSIDE/target"', worked: wrote },
  { name: 'by /proc/self/cwd', command: 'echo x > /proc/self/cwd/../outside/target', worked: wrote },
  { name: 'by a descriptor of a folder', command: 'exec 7<"$OUTSIDE"; echo x > /proc/self/fd/7/target', worked: wrote },
  {
    name: 'by the root of the first process',
    command: 'echo x > "/proc/1/root$OUTSIDE/target"',
    worked: wrote,
    notShown: 'the first process may be of another user',
  },
  { name: 'by the cwd of a process of the host', command: 'echo x > "/proc/$VICTIM_PID/cwd/target"', worked: wrote },
  { name: 'git init elsewhere', command: 'git init -q "$OUTSIDE/repository"', worked: there('outside', 'repository') },
  {
    name: 'tar that unpacks elsewhere',
    command: 'tar cf a.tar file; tar xf a.tar -C "$OUTSIDE"',
    worked: there('outside', 'file'),
  },
  {
    name: 'a file in the /tmp of the host',
    command: 'echo x > /tmp/"halting-planted-$VICTIM_PID"; echo done',
    worked: ({ victim }) => existsSync(`/tmp/halting-planted-${victim.pid}`),
  },
  {
    name: 'shared memory of the host',
    command: 'echo x > /dev/shm/"halting-planted-$VICTIM_PID"',
    worked: ({ victim }) => existsSync(`/dev/shm/halting-planted-${victim.pid}`),
  },
  {
    name: 'the shell of the person',
    command: 'echo evil >> ~/.bashrc',
    worked: ({ home }) => contentOf(join(home, '.bashrc')) !== 'whole\n',
  },
  {
    name: 'our own settings',
    command: 'echo {} > ~/.halting/settings.json',
    worked: there('home', '.halting/settings.json'),
  },
  { name: 'renaming the project', command: 'cd ..; mv project moved', worked: ({ project }) => !existsSync(project) },
]

const reading: readonly Escape[] = [
  { name: 'a key of the person', command: 'cat ~/.ssh/id', worked: printsSecret },
  { name: 'a password of the person', command: 'cat ~/.netrc', worked: printsSecret },
  { name: 'keys in an archive', command: 'tar c ~/.ssh | tr -d "\\0"', worked: printsSecret },
  { name: 'a denied file', command: 'cat .env', worked: printsSecret },
  {
    name: 'a denied file by another program',
    command: "node -e \"console.log(require('fs').readFileSync('.env','utf8'))\"",
    worked: printsSecret,
  },
  { name: 'a denied file by a hard link', command: 'ln .env e; cat e', worked: printsSecret },
  { name: 'a denied file by another name', command: 'mv .env e; cat e', worked: printsSecret },
  { name: 'a denied file by a copy of all', command: 'cp -r . /tmp/c; cat /tmp/c/.env', worked: printsSecret },
  { name: 'a denied file after a chmod', command: 'chmod 777 .env; cat .env', worked: printsSecret },
  { name: 'a denied file by git', command: 'git add -f .env; git show :.env', worked: printsSecret },
  { name: 'a denied folder', command: 'cat secrets/key', worked: printsSecret },
  { name: 'a denied folder after a chmod', command: 'chmod 777 secrets; cat secrets/*', worked: printsSecret },
  { name: 'a denied folder under another name', command: 'mv secrets s2; cat s2/key', worked: printsSecret },
  { name: 'a denied file by /proc/self/root', command: 'cat "/proc/self/root$PROJECT/.env"', worked: printsSecret },
  { name: 'a key in the environment', command: 'env', worked: printsSecret },
  {
    name: 'a key in the environment of the first process',
    command: 'cat /proc/1/environ /proc/$PPID/environ | tr "\\0" "\\n"',
    worked: printsSecret,
    notShown: 'the first process may be of another user',
  },
  {
    name: 'the environment of a process of the host',
    command: 'tr "\\0" "\\n" < /proc/$VICTIM_PID/environ',
    worked: printsSecret,
  },
  { name: 'umount of what covers', command: 'umount .env; umount -l .env; cat .env', worked: printsSecret },
  {
    name: 'umount of what covers, in namespaces of its own',
    command: 'unshare -Urm sh -c "umount -l .env; cat .env"',
    worked: printsSecret,
  },
  {
    name: 'an edit of a file that may not be edited',
    command: 'echo x > packages/kept',
    worked: ({ project }) => isFile(join(project, 'packages/kept')),
  },
]

const planting: readonly Escape[] = [
  {
    name: 'a hook of git',
    command: 'printf "#!/bin/sh" > .git/hooks/post-checkout',
    worked: there('project', '.git/hooks/post-checkout'),
  },
  {
    name: 'a setting of git that runs',
    command: 'git config core.fsmonitor ./evil',
    worked: ({ project }) => contentOf(join(project, '.git/config'))?.includes('evil') === true,
  },
  {
    name: 'the same by an editor that renames',
    command: 'echo evil > .git/c; mv .git/c .git/config',
    worked: ({ project }) => contentOf(join(project, '.git/config'))?.includes('evil') === true,
  },
  {
    name: 'another .git in its place',
    command: 'mv .git g; mkdir -p .git/hooks; echo evil > .git/hooks/x',
    worked: there('project', '.git/hooks/x'),
  },
  {
    name: 'another config for git by commondir',
    command: 'mkdir fake; echo ../fake > .git/commondir',
    worked: there('project', '.git/commondir'),
  },
  {
    name: 'a hook of a repository inside',
    command: 'echo x > packages/inner/.git/hooks/post-checkout',
    worked: there('project', 'packages/inner/.git/hooks/post-checkout'),
  },
  {
    name: 'another folder around a repository inside',
    command: 'mv packages p; mkdir -p packages/inner/.git/hooks; echo x > packages/inner/.git/hooks/x',
    worked: there('project', 'packages/inner/.git/hooks/x'),
  },
  {
    name: 'settings of the project',
    command: 'mkdir -p .claude; echo {} > .claude/settings.json',
    worked: there('project', '.claude/settings.json'),
  },
  {
    name: 'settings of the project by a link',
    command: 'rmdir .halting; mkdir own; ln -s own .halting; echo {} > own/settings.json',
    worked: there('project', '.halting/settings.json'),
  },
  {
    name: 'servers that are started',
    command: 'rmdir .mcp.json; echo {} > .mcp.json',
    worked: ({ project }) => isFile(join(project, '.mcp.json')),
  },
  {
    name: 'tasks of an editor',
    command: 'mkdir -p .vscode; echo {} > .vscode/tasks.json',
    worked: there('project', '.vscode/tasks.json'),
  },
]

const reaching: readonly Escape[] = [
  { name: 'the network by address', command: 'exec 5<>/dev/tcp/127.0.0.1/$PORT; head -1 <&5', worked: printsSecret },
  {
    name: 'the network by curl',
    command: 'curl -s --max-time 3 --http0.9 http://127.0.0.1:$PORT/',
    worked: printsSecret,
  },
  {
    name: 'a name server',
    command: `echo ${secret} > /dev/udp/127.0.0.1/$UDP; sleep 0.2`,
    worked: ({ received }) => received().includes(secret),
  },
  {
    name: 'a socket outside',
    needs: 'python',
    command: python([
      'import socket, os',
      's = socket.socket(socket.AF_UNIX)',
      'os.chdir(os.environ["OUTSIDE"])',
      's.connect("s")',
      'print(s.recv(99))',
    ]),
    worked: printsSecret,
  },
  {
    name: 'a socket in the project',
    needs: 'python',
    command: python(['import socket', 's = socket.socket(socket.AF_UNIX)', 's.connect("s")', 'print(s.recv(99))']),
    worked: printsSecret,
  },
  {
    name: 'the agent for keys',
    needs: 'python',
    command: python([
      'import socket, os',
      's = socket.socket(socket.AF_UNIX)',
      'p = os.environ["SSH_AUTH_SOCK"]',
      'os.chdir(os.path.dirname(p))',
      's.connect(os.path.basename(p))',
      'print(s.recv(99))',
    ]),
    worked: printsSecret,
  },
  {
    name: 'an abstract socket',
    needs: 'python',
    command: python(['import socket', 's = socket.socket(socket.AF_UNIX)', 's.bind("\\0halting")', 'print("MADE")']),
    worked: made,
  },
  {
    name: 'a socket to the hypervisor',
    needs: 'python',
    command: python(['import socket', 'socket.socket(socket.AF_VSOCK)', 'print("MADE")']),
    worked: made,
  },
  {
    name: 'a raw packet',
    needs: 'root',
    command: python(['import socket', 'socket.socket(socket.AF_PACKET, socket.SOCK_RAW)', 'print("MADE")']),
    worked: made,
  },
  {
    name: 'io_uring, which no filter sees',
    needs: 'python',
    command: python([
      ...libc,
      'p = ctypes.create_string_buffer(120)',
      'print("MADE" if c.syscall(425, 1, p) >= 0 else ctypes.get_errno())',
    ]),
    worked: made,
  },
]

const processes: readonly Escape[] = [
  {
    name: 'killing a process of the host',
    command: 'kill -9 $VICTIM_PID; sleep 0.2',
    worked: ({ victim }) => victim.signalCode !== null || victim.killed,
  },
  {
    name: 'tracing a process of the host',
    needs: 'python',
    command: python([
      ...libc,
      'p = int(os.environ["VICTIM_PID"])',
      'print("MADE" if c.ptrace(16, p, 0, 0) == 0 else ctypes.get_errno())',
    ]),
    worked: made,
  },
  {
    name: 'tracing at all',
    needs: 'python',
    command: python([...libc, 'print("MADE" if c.ptrace(0, 0, 0, 0) == 0 else ctypes.get_errno())']),
    worked: made,
  },
  {
    name: 'reading the memory of another process',
    needs: 'python',
    command: python([
      ...libc,
      'b = ctypes.create_string_buffer(8)',
      'class V(ctypes.Structure): _fields_ = [("a", ctypes.c_void_p), ("n", ctypes.c_size_t)]',
      'v = V(ctypes.addressof(b), 8)',
      'print("MADE" if c.process_vm_readv(os.getpid(), ctypes.byref(v), 1, ctypes.byref(v), 1, 0) == 8 else ctypes.get_errno())',
    ]),
    worked: made,
  },
  {
    name: 'a process left behind',
    command: 'setsid sleep "$NAP" >/dev/null 2>&1 & sleep 0.1',
    worked: (world) => napping(world).length > 0,
  },
  {
    name: 'a daemon without marks',
    command: '(env -i setsid nohup sleep "$NAP" >/dev/null 2>&1 &) ; sleep 0.1',
    worked: (world) => napping(world).length > 0,
  },
  { name: 'a namespace of its own', command: 'unshare -Ur true && echo MADE', worked: made },
  { name: 'a mount namespace', command: 'unshare -Urm true && echo MADE', worked: made },
  {
    name: 'clone3 with a namespace',
    needs: 'python',
    command: python([
      ...libc,
      'a = (ctypes.c_ulonglong * 11)(0x10000000, 0, 0, 0, 17)',
      'r = c.syscall(435, a, 88)',
      'if r == 0: os._exit(0)',
      'print("MADE" if r > 0 else ctypes.get_errno())',
    ]),
    worked: made,
  },
  {
    name: 'a key in the keyring of the host',
    needs: 'python',
    command: python([
      ...libc,
      'print("MADE" if c.syscall(248, b"user", b"halting-x", b"v", ctypes.c_size_t(1), ctypes.c_long(-1)) > 0 else ctypes.get_errno())',
    ]),
    worked: made,
  },
]

const systemCalls: readonly Escape[] = [
  {
    name: 'a bind mount over a file',
    command: 'mount --bind file "$OUTSIDE/target" && echo MADE',
    worked: made,
    notShown: 'it would change the mounts of this machine',
  },
  {
    name: 'a bind mount in namespaces of its own',
    command: 'unshare -Urm sh -c "mount --bind / mnt && echo x > mnt$OUTSIDE/target"',
    worked: wrote,
    notShown: "there the mount is the person's own",
  },
  {
    name: 'mounting the root for writing',
    command: 'mount -o remount,rw / && echo x > "$OUTSIDE/target"',
    worked: wrote,
    notShown: 'it would change the mounts of this machine',
  },
  {
    name: 'mounting the outside for writing',
    command: 'mount -o remount,bind,rw / ; echo x > "$OUTSIDE/target"',
    worked: wrote,
    notShown: 'it would change the mounts of this machine',
  },
  {
    name: 'an overlay',
    command: 'mkdir -p u w m; mount -t overlay overlay -o lowerdir=/,upperdir=u,workdir=w m && echo MADE',
    worked: made,
    notShown: 'it would change the mounts of this machine',
  },
  {
    name: 'a copy of the tree of mounts',
    needs: 'python',
    command: python([...libc, 'print("MADE" if c.syscall(428, -100, b"/", 1) >= 0 else ctypes.get_errno())']),
    worked: made,
    notShown: 'it needs rights',
  },
  {
    name: 'a file system by the new calls',
    needs: 'python',
    command: python([...libc, 'print("MADE" if c.syscall(430, b"tmpfs", 0) >= 0 else ctypes.get_errno())']),
    worked: made,
    notShown: 'it needs rights',
  },
  { name: 'another root', command: 'chroot /proc/1/root true && echo MADE', worked: made, notShown: 'it needs rights' },
  {
    name: 'a file by its handle',
    needs: 'python',
    command: python([
      ...libc,
      'b = ctypes.create_string_buffer(b"\\x80\\0\\0\\0" + bytes(136), 140)',
      'm = ctypes.c_int()',
      'print("MADE" if c.name_to_handle_at(-100, b"/etc/passwd", b, ctypes.byref(m), 0) == 0 else ctypes.get_errno())',
    ]),
    worked: made,
    notShown: 'what a handle opens needs rights',
  },
  {
    name: 'setns into the host',
    command: 'nsenter -t 1 -m -p true && echo MADE',
    worked: made,
    notShown: 'it needs rights',
  },
  {
    name: 'a program for the kernel',
    needs: 'root',
    command: python([
      ...libc,
      'a = (ctypes.c_uint * 18)(1, 4, 4, 1)',
      'print("MADE" if c.syscall(321, 0, a, 72) >= 0 else ctypes.get_errno())',
    ]),
    worked: made,
  },
  {
    name: 'watching the kernel',
    needs: 'python',
    command: python([
      ...libc,
      'a = (ctypes.c_uint * 32)(1, 128)',
      'print("MADE" if c.syscall(298, a, 0, -1, -1, 0) >= 0 else ctypes.get_errno())',
    ]),
    worked: made,
    notShown: 'some machines have no counters',
  },
  {
    name: 'typing into a terminal',
    needs: 'python',
    command: python([
      'import fcntl, os, pty',
      'm, s = pty.openpty()',
      'os.setsid() if os.getpid() != os.getsid(0) else None',
      'fcntl.ioctl(s, 0x540E, 0)',
      'fcntl.ioctl(s, 0x5412, b"x")',
      'print("MADE")',
    ]),
    worked: made,
    notShown: 'newer kernels refuse it by themselves',
  },
  { name: 'a device', command: 'mknod device b 8 0 && echo MADE', worked: made, needs: 'root' },
  {
    name: 'rights by a setuid program',
    command: 'grep -q "NoNewPrivs:\\s*0" /proc/self/status && echo MADE',
    worked: made,
  },
  {
    name: 'capabilities',
    command: 'grep -q "CapEff:\\s*0*[1-9a-f]" /proc/self/status && echo MADE',
    worked: made,
    needs: 'root',
  },
  {
    name: 'capabilities that could come back',
    command: 'grep -q "CapBnd:\\s*0*[1-9a-f]" /proc/self/status && echo MADE',
    worked: made,
  },
  // Opened but not written: without a sandbox that has no effect yet.
  {
    name: 'what the kernel runs at a crash',
    command: 'exec 5>>/proc/sys/kernel/core_pattern && echo MADE',
    worked: made,
    needs: 'root',
  },
  {
    name: 'the keys of the kernel',
    command: 'exec 5>>/proc/sysrq-trigger && echo MADE',
    worked: made,
    notShown: 'not every kernel has them',
  },
  { name: 'the memory of the machine', command: 'exec 5</dev/kmsg && echo MADE', worked: made, needs: 'root' },
  {
    name: 'the power of the machine',
    command:
      'for f in /sys/power/state /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run; do [ -e $f ] && exec 5>>$f && echo MADE; done',
    worked: made,
    notShown: 'not every kernel has them',
  },
  {
    name: 'descriptors that were left open',
    command: 'ls -l /proc/self/fd | grep -q "/filter" && echo MADE',
    worked: made,
    notShown: 'there is no filter without a sandbox',
  },
]

export const escapes: readonly Escape[] = [
  ...writing,
  ...reading,
  ...planting,
  ...reaching,
  ...processes,
  ...systemCalls,
]
