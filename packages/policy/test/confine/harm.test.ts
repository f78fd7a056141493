// Holds R-WALL-1 of docs/spec: a confined command of any kind changes nothing, reaches nobody and reads no closed file.
import { spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allMeans, isRoot, type Means, nobody, runLine } from './support.ts'

const secret = 'the-secret-that-must-stay'

interface Machine {
  readonly base: string
  readonly project: string
  readonly outside: string
  readonly home: string
  readonly victim: number
  readonly port: number
}

/** A project, files next to it, a home with keys, a process with a secret and a server. Not below `/tmp`, which can be listed. */
async function makeMachine(): Promise<Machine> {
  const parent = join(isRoot ? '/var/lib' : join(homedir(), '.cache'), 'halting-tests')
  mkdirSync(parent, { recursive: true })
  const base = realpathSync(mkdtempSync(join(parent, 'wall-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  chmodSync(base, 0o755)
  const [project, outside, home] = [join(base, 'project'), join(base, 'outside'), join(base, 'home')]
  for (const folder of [join(project, 'sub'), outside, join(home, '.ssh')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(project, 'file'), 'whole\n')
  writeFileSync(join(outside, 'file'), `${secret}\n`)
  writeFileSync(join(home, '.ssh/id'), `${secret}\n`)
  for (const path of [project, join(project, 'sub'), join(project, 'file'), outside, home, join(home, '.ssh')])
    chmodSync(path, 0o777)
  const victim = spawn('sleep', ['600'], { env: { ...process.env, VICTIM: secret }, stdio: 'ignore' })
  onTestFinished(() => void victim.kill('SIGKILL'))
  const server = createServer((socket) => void socket.on('error', () => undefined).end(`${secret}\n`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void server.close())
  const address = server.address()
  return {
    base,
    project,
    outside,
    home,
    victim: victim.pid ?? 0,
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
  }
}

/** Everything on the machine, with modes, times and contents. */
function stateOf({ base }: Machine): string {
  const look = (path: string): readonly string[] => {
    const stats = lstatSync(path)
    const line = `${path} ${stats.mode} ${stats.mtimeMs} ${stats.size} ${stats.uid}`
    if (stats.isDirectory()) return [line, ...readdirSync(path).flatMap((name) => look(join(path, name)))]
    return [stats.isFile() ? `${line} ${readFileSync(path, 'utf8')}` : line]
  }
  return look(base).join('\n')
}

const hasPython = (await runLine('python3 -c ""', { cwd: '/', home: '/' })).exitCode === 0
const inPython = (program: string): string => `python3 - <<'E'\n${program}\nE`

/** Lines that change something without confinement. */
const changing: readonly string[] = [
  'touch M sub/M ../M ../outside/M /tmp/halting-wall-M ~/M; echo x > N; echo x >> file; : > file',
  'rm -rf file sub ../outside; rmdir sub; unlink file',
  'mv file other; mv ../outside/file .; cp file copy; ln -s file link; ln file hard; mkdir made; mkfifo pipe; mknod device c 1 3',
  'chmod 600 file; chmod 000 ../outside; chown 1 file; setfattr -n user.x -v y file; touch -d 2001-01-01 file; chattr +d file',
  'truncate -s 0 file; dd if=/dev/null of=file; tee file < /dev/null; sed -i d file; perl -e \'truncate "file", 0; sysopen F, "file", 512\'',
  'perl -e \'open F, ">", "file"; open G, "+<", "file"; utime 1, 1, "file"; chmod 0, "file"; unlink "file"\'',
  'flock file true; rsync -a ../outside/ . ; install file made; patch < /dev/null; tar xf /dev/null; git init .; git config -f file a.b c',
  'exec 5<>file; echo x >&5; exec 6>file',
  'bash -c "echo x > file" & wait; (setsid bash -c "sleep 0.2; echo x > late" &) ; sleep 0.4',
  'for path in /proc/self/cwd/file /proc/thread-self/root/$PWD/file /dev/fd/../cwd/file /proc/self/root$PWD/new; do echo x > $path; done',
]

const inPythonChanging: readonly string[] = [
  'import os\nfor f in (lambda: os.chmod("file", 0), lambda: os.truncate("file", 0), lambda: os.utime("file", (1, 1)), lambda: os.setxattr("file", "user.x", b"y"), lambda: os.mkfifo("p"), lambda: os.link("file", "l"), lambda: os.rename("file", "r"), lambda: os.open("file", os.O_TRUNC), lambda: os.open(".", os.O_TMPFILE | os.O_RDWR)):\n  try: f(); print("DID IT")\n  except OSError as e: pass',
  'import ctypes, os, errno\nlibc = ctypes.CDLL(None, use_errno=True)\nfd = os.open("file", os.O_RDONLY)\nfor call in ((91, fd, 0), (93, fd, 1, 1), (190, fd, b"user.x", b"y", 1, 0), (77, fd, 0), (285, fd, 0, 0, 100), (452, -100, b"file", 0, 0)):\n  if libc.syscall(*call) == 0: print("DID IT", call)\nimport fcntl\nfor request in (0x40086602, 0x401c5820, 0x40806685):\n  try: fcntl.ioctl(fd, request, b"\\0" * 128); print("DID IT", request)\n  except OSError: pass',
]

/** Lines that reveal the secret, or reach another process, without confinement. */
const reaching = ({ outside, home, victim, port }: Machine): readonly string[] => [
  `cat ${outside}/file ../outside/file ~/.ssh/id ${home}/.ssh/id; head -c 100 < ../outside/file; grep -r . .. ; ls -laR ${outside} | wc -l`,
  `cat /proc/${victim}/environ; strings /proc/${victim}/environ; grep -a . /proc/[0-9]*/environ; cat /proc/${victim}/task/*/environ; xargs -0 -a /proc/${victim}/environ`,
  `cat /proc/${victim}/root${outside}/file /proc/${victim}/cwd/file; ls -l /proc/${victim}/fd /proc/${victim}/map_files`,
  `cat /proc/1/root${outside}/file /proc/self/root${outside}/file /proc/self/cwd/../outside/file`,
  `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; curl -s 127.0.0.1:${port}; timeout 1 nc 127.0.0.1 ${port}; timeout 1 socat - TCP:127.0.0.1:${port}`,
  `cd ../outside && cat file; pushd ${outside}; cat file; find .. -name file -exec cat {} +; find / -path '*wall-*/outside/file' 2>/dev/null | xargs cat`,
  `gdb -p ${victim} -batch -ex 'x/s 0'; strace -p ${victim} -o /dev/stdout & sleep 0.3; kill %1`,
  `python3 -c 'import os; print(open(os.path.expanduser("~/.ssh/id")).read())'; perl -e 'open F, "../outside/file"; print <F>'; node -p 'require("fs").readFileSync("../outside/file", "utf8")'`,
  `git diff --no-index /dev/null ../outside/file; git -C ../outside grep --no-index . ; bash -x ../outside/file; . ../outside/file; diff file ../outside/file`,
  `unshare -r cat ../outside/file; bwrap --bind / / cat ../outside/file; chroot .. cat outside/file; nsenter -t ${victim} -m cat ${outside}/file; sudo cat ../outside/file; su -c 'cat ../outside/file'`,
]

const everyWay = allMeans.flatMap((means): readonly (readonly [string, Means, number | undefined])[] => [
  [means.kind, means, undefined],
  ...(isRoot ? [[`${means.kind} as another user`, means, nobody] as const] : []),
])

describe.skipIf(allMeans.length === 0)('A confined command (needs Landlock or bubblewrap)', () => {
  test.each(everyWay)(
    'changes nothing: %s',
    async (_name, means, asUser) => {
      const machine = await makeMachine()
      const before = stateOf(machine)
      const lines = [...changing, ...(hasPython ? inPythonChanging.map(inPython) : [])]
      for (const line of lines) {
        const { output } = await runLine(line, { means, cwd: machine.project, home: machine.home, asUser })
        expect([line, output.includes('DID IT')]).toEqual([line, false])
        expect([line, stateOf(machine)]).toEqual([line, before])
      }
      expect(existsSync('/tmp/halting-wall-M')).toBe(false)
    },
    120_000,
  )

  test('is needed: without confinement each of these lines changes something', async () => {
    for (const line of [...changing, ...(hasPython ? inPythonChanging.map(inPython) : [])]) {
      const machine = await makeMachine()
      const before = stateOf(machine)
      const { output } = await runLine(line, { cwd: machine.project, home: machine.home })
      expect([line, output.includes('DID IT') || stateOf(machine) !== before]).toEqual([line, true])
    }
    rmSync('/tmp/halting-wall-M', { force: true })
  }, 60_000)

  test.each(everyWay)(
    'reads no closed file, and reaches no other process: %s',
    async (_name, means, asUser) => {
      const machine = await makeMachine()
      for (const line of reaching(machine)) {
        const { output } = await runLine(line, { means, cwd: machine.project, home: machine.home, asUser })
        expect([line, output.includes(secret), output]).toEqual([line, false, output])
      }
    },
    120_000,
  )

  test.each(everyWay)('sends signals to its own processes only: %s', async (_name, means, asUser) => {
    const machine = await makeMachine()
    const { project: cwd, home, victim } = machine
    const options = { means, cwd, home, asUser }
    await runLine(`kill -9 ${victim}; kill -STOP ${victim}; kill -0 ${victim} && echo REACHED`, options)
    expect(() => process.kill(victim, 0)).not.toThrow()
    expect(readFileSync(`/proc/${victim}/stat`, 'utf8')).not.toContain(') T ')
    const own = await runLine('sleep 50 & kill $!; wait $!; echo $?; timeout 0.2 sleep 5; echo $?', options)
    expect(own.output).toMatch(/143\n.*124\n$/s)
  })

  test.skipIf(!hasPython).each(everyWay)(
    'reaches no other process by descriptors, datagrams or priorities: %s',
    async (_name, means, asUser) => {
      const { project: cwd, home, victim, outside } = await makeMachine()
      const place = join(outside, 'd')
      const receiver = `import os, socket
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind('${place}'); os.chmod('${place}', 0o777); server.settimeout(4)
try: print(server.recv(99).decode())
except OSError: print('nothing')`
      const waiting = runLine(inPython(receiver), { cwd, home })
      for (let left = 50; !existsSync(place) && left > 0; left -= 1)
        await new Promise((resolve) => setTimeout(resolve, 100))
      const program = `import fcntl, os, signal, socket
def attempt(work):
  try: work(); print('DID IT')
  except OSError: pass
def datagram():
  one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); one.sendto(b'reached', '${place}')
def owned():
  one, other = socket.socketpair(); fcntl.fcntl(one, fcntl.F_SETOWN, ${victim}); fcntl.fcntl(one, fcntl.F_SETSIG, signal.SIGKILL)
  fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC); other.send(b'x')
for work in (datagram, owned, lambda: os.setpriority(os.PRIO_USER, 61234, 19), lambda: fcntl.fcntl(os.open('file', 0), fcntl.F_SETLEASE, fcntl.F_RDLCK)): attempt(work)`
      for (const kind of ['read', 'look'] as const) {
        const { output } = await runLine(inPython(program), { means, cwd, home, asUser, kind })
        expect([kind, output]).toEqual([kind, ''])
      }
      expect((await waiting).output).toBe('nothing\n')
      expect(() => process.kill(victim, 0)).not.toThrow()
    },
  )

  test.each(everyWay)(
    'has no capability, cannot gain one, and cannot change how another process runs: %s',
    async (_name, means, asUser) => {
      const { project: cwd, home, victim } = await makeMachine()
      const { output } = await runLine(
        `grep -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs)' /proc/self/status; renice -n 19 -p ${victim}; prlimit --pid ${victim} --nofile=1; taskset -p 1 ${victim}; ionice -c 3 -p ${victim}; ulimit -n`,
        { means, cwd, home, asUser },
      )
      expect(output).toMatch(/CapPrm:\t0{16}\nCapEff:\t0{16}\nCapBnd:\t(?:0{16}|\w{16})\nNoNewPrivs:\t1/)
      expect(readFileSync(`/proc/${victim}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]).toBe('0')
      expect(readFileSync(`/proc/${victim}/limits`, 'utf8')).not.toMatch(/Max open files\s+1 /)
      expect(output).toMatch(/\n\d+\n$/)
    },
  )

  test.each(everyWay)('cannot communicate by System V or message queues: %s', async (_name, means, asUser) => {
    const { project: cwd, home } = await makeMachine()
    const { output } = await runLine('ipcmk -M 100; ipcmk -Q; ipcmk -S 1; echo end', { means, cwd, home, asUser })
    expect(output).not.toMatch(/id: \d+/)
  })

  test.each(everyWay)(
    'writes to its own temporary folder, to /dev/null and to pipes: %s',
    async (_name, means, asUser) => {
      const { project: cwd, home } = await makeMachine()
      const line =
        'echo x > "$TMPDIR/f" && cat "$TMPDIR/f"; echo y > /dev/null; echo z | cat; cat <(echo p); cat /dev/stdin <<< s'
      expect(await runLine(line, { means, cwd, home, asUser })).toEqual({ output: 'x\nz\np\ns\n', exitCode: 0 })
    },
  )

  test('sees the processes of the machine, but not their environments', async () => {
    const machine = await makeMachine()
    for (const means of allMeans) {
      const options = { means, cwd: machine.project, home: machine.home, kind: 'look' } as const
      const seen = await runLine(
        `ps -p ${machine.victim} -o args=; pgrep -x sleep | grep -c ^${machine.victim}$`,
        options,
      )
      expect([means.kind, seen.output]).toEqual([means.kind, 'sleep 600\n1\n'])
      const hidden = await runLine(`ps eww -p ${machine.victim}; cat /proc/${machine.victim}/environ`, options)
      expect([means.kind, hidden.output.includes(secret)]).toEqual([means.kind, false])
    }
  })
})
