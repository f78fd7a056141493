// Holds R-EWALL-6 to R-EWALL-8 of docs/spec, with real processes.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { globPattern } from '../../src/files/glob-pattern.ts'
import type { PlacePattern } from '../../src/sandbox/expand.ts'
import { processFolderName } from '../../src/sandbox/process-folders.ts'
import { means, place } from './support.ts'

/** A unique name in the real /tmp, removed with the test. */
function ownName(): string {
  const path = mkdtempSync('/tmp/W-edit-')
  rmSync(path, { recursive: true })
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function listen(path: string): Promise<void> {
  const server = createServer((client) => client.end('reached'))
  onTestFinished(() => void server.close())
  return new Promise((resolve) => server.listen(path, resolve))
}

const connect = (path: string): string =>
  `python3 -c "
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('${path}')
print(s.recv(100).decode())"`

describe.skipIf(means === undefined)('/tmp', () => {
  test('shows files of an ended command to everybody, and lets later commands change them', async () => {
    const { run } = place()
    const [file, folder] = [ownName(), ownName()]
    await run(`echo one > ${file}; mkdir ${folder}; echo two > ${folder}/x`)
    expect([readFileSync(file, 'utf8'), readFileSync(join(folder, 'x'), 'utf8')]).toEqual(['one\n', 'two\n'])
    const { output } = await run(
      `cat ${file} ${folder}/x; echo three > ${file}; mv ${folder}/x ${folder}/y; rm -f ${folder}/x`,
    )
    expect([output, readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['one\ntwo\n', 'three\n', ['y']])
    await run(`rm -r ${file} ${folder}`)
    expect([existsSync(file), existsSync(folder)]).toEqual([false, false])
  })

  test('lets commands read but not change existing files that they name', async () => {
    const { run } = place()
    const [file, folder] = [ownName(), ownName()]
    writeFileSync(file, 'mine\n')
    mkdirSync(folder)
    writeFileSync(join(folder, 'x'), 'mine too\n')
    const { output } = await run(
      `cat ${file} ${folder}/x; echo evil > ${file}; rm -f ${file}; mv ${file} ${file}2; echo evil > ${folder}/x; touch ${folder}/new; rm -rf ${folder}`,
    )
    expect(output).toMatch(/^mine\nmine too\n/)
    expect([readFileSync(file, 'utf8'), readFileSync(join(folder, 'x'), 'utf8')]).toEqual(['mine\n', 'mine too\n'])
    expect(readdirSync(folder)).toEqual(['x'])
  })

  test('never replaces an existing file, and loses nothing', async () => {
    const { run, wall } = place()
    const file = ownName()
    onTestFinished(() => rmSync(`${file}.confined`, { force: true }))
    const running = run(`echo confined > ${file}; sleep 1`)
    await new Promise((resolve) => setTimeout(resolve, 500))
    writeFileSync(file, 'mine\n')
    await running
    expect(readFileSync(file, 'utf8')).toBe('mine\n')
    expect((await run(`cat ${file}`)).output).toBe('confined\n')
    wall.dispose()
    expect([readFileSync(file, 'utf8'), readFileSync(`${file}.confined`, 'utf8')]).toEqual(['mine\n', 'confined\n'])
  })

  test('keeps nothing of a folder of programs, although the command gets one', async () => {
    const folder = ownName()
    mkdirSync(join(folder, 'project/bin'), { recursive: true })
    writeFileSync(join(folder, 'project/bin/tool'), '#!/bin/sh\necho tool\n', { mode: 0o755 })
    onTestFinished(() => rmSync(`${folder}.confined`, { recursive: true, force: true }))
    const { run, wall } = place()
    const env = { PATH: `${folder}/project/bin:/usr/bin:/bin` }
    const [first, second] = [await run('tool', { env }), await run('tool', { env })]
    wall.dispose()
    expect([first.output, second.output, existsSync(`${folder}.confined`)]).toEqual(['tool\n', 'tool\n', false])
  })

  test('leaves files alone that a person has replaced', async () => {
    const { run } = place()
    const file = ownName()
    await run(`echo confined > ${file}`)
    rmSync(file)
    writeFileSync(`${file}.new`, 'mine\n')
    onTestFinished(() => rmSync(`${file}.new`, { force: true }))
    writeFileSync(file, 'mine\n')
    await run(`echo evil > ${file}; cat ${file}`)
    expect(readFileSync(file, 'utf8')).toBe('mine\n')
  })

  test('keeps links, code caches and hidden names inside the session', async () => {
    const { run } = place()
    const link = ownName()
    const { output } = await run(
      `ln -s /etc/passwd ${link}; mkdir -p /tmp/jest_W-edit /tmp/.W-edit; echo evil > /tmp/jest_W-edit/code; echo; cd /tmp; mkfifo ${link}-pipe; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('${link}-socket')"`,
    )
    expect(output).toBe('\n')
    const made = [link, '/tmp/jest_W-edit', '/tmp/.W-edit', `${link}-pipe`, `${link}-socket`]
    expect(made.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined)).toEqual([])
    expect((await run('cat /tmp/jest_W-edit/code')).output).toBe('evil\n')
  })

  test('protects a socket that another program created in a folder of a command', async () => {
    const { run } = place()
    const folder = ownName()
    const bound = `python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('${folder}/own')"`
    await run(`mkdir ${folder}; ${bound}`)
    const { output: again } = await run(`touch ${folder}/x; ls ${folder}`)
    expect(again).toBe('x\n')
    const server = createServer((connection) => connection.end('REACHED')).listen(`${folder}/socket`)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const program = `import socket; s = socket.socket(socket.AF_UNIX); s.connect('${folder}/socket'); print(s.recv(9))`
    const { output } = await run(`mv ${folder} ${folder}2; python3 -c "${program}"`)
    expect(output).not.toContain('REACHED')
    expect(existsSync(`${folder}/socket`)).toBe(true)
  })

  test('is cleaned up after killed programs, unless it contains files of a command', async () => {
    const { pid } = spawnSync('true')
    const [empty, full] = ['empty', 'full'].map((name) =>
      mkdtempSync(join('/tmp', `${processFolderName('confined').replace(String(process.pid), String(pid))}${name}`)),
    ) as [string, string]
    onTestFinished(() => [empty, full].forEach((folder) => rmSync(folder, { recursive: true, force: true })))
    for (const folder of [empty, full]) for (const name of ['etc', '1']) mkdirSync(join(folder, name))
    writeFileSync(join(empty, 'etc/passwd'), 'copied\n')
    writeFileSync(join(full, '1/out.txt'), 'mine\n')
    const { run } = place()
    await run('true')
    expect([empty, full].map((folder) => existsSync(folder))).toEqual([false, true])
  })

  test('is empty at the end of the session', async () => {
    const { run, wall } = place()
    const file = ownName()
    const hidden = `.${basename(ownName())}`
    writeFileSync(file, 'mine\n')
    await run(`cat ${file}; echo > /tmp/${hidden}; false`)
    // Other sessions may have such folders at the same time.
    const [own = ''] = readdirSync('/tmp').filter(
      (name) => name.startsWith('halting-confined-') && existsSync(join('/tmp', name, 'aside', hidden)),
    )
    expect(readdirSync(join('/tmp', own))).toEqual(['1', 'aside', 'etc'])
    expect(readdirSync(join('/tmp', own, '1'))).toEqual([])
    // The empty folder is reused.
    await run(`cat ${file}; rm /tmp/${hidden}; false`)
    expect(readdirSync(join('/tmp', own))).toEqual(['1', 'aside', 'etc'])
    wall.dispose()
    expect(existsSync(join('/tmp', own))).toBe(false)
  })
})

describe.skipIf(means === undefined)('sockets', () => {
  test('of programs outside the confinement cannot be reached, wherever they are', async () => {
    const { run, project, home } = place()
    const inTemporary = ownName()
    mkdirSync(inTemporary)
    const paths = [ownName(), join(inTemporary, 'socket'), join(project, 'socket'), join(home, 'socket')]
    for (const path of paths) await listen(path)
    for (const path of paths) {
      const { output, exitCode } = await run(connect(path))
      expect([path, output.includes('reached'), exitCode]).toEqual([path, false, 1])
    }
    await listen(`\0W-edit-${basename(inTemporary)}`)
    expect((await run(connect(`\\0W-edit-${basename(inTemporary)}`))).output).toMatch(/refused/)
  })

  test('cannot be reached if they were bound by a relative name', async () => {
    const { run, project } = place()
    const child = spawn(
      'python3',
      [
        '-c',
        'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind("rel"); s.listen(); print(1, flush=True); time.sleep(30)',
      ],
      { cwd: project, stdio: ['ignore', 'pipe', 'ignore'] },
    )
    onTestFinished(() => void child.kill())
    await new Promise((resolve) => child.stdout.once('data', resolve))
    expect((await run(connect('rel'))).exitCode).toBe(1)
  })

  test('of a test suite work, also again in a later command', async () => {
    const { run } = place()
    const suite = `python3 -c "
import os, socket
if os.path.exists('own.sock'): os.unlink('own.sock')
s = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect('own.sock'); print('connected')"`
    expect([await run(suite), await run(suite)].map(({ output }) => output)).toEqual(['connected\n', 'connected\n'])
  })

  test('reach no network, but a separate loopback interface', async () => {
    const { run } = place()
    const server = createServer((client) => client.end('reached'))
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const { output } = await run(`python3 -c "
import socket
try: socket.create_connection(('127.0.0.1', ${port}), 2); print('reached')
except OSError as e: print('refused')
s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); print('own')"`)
    expect(output).toBe('refused\nown\n')
  })
})

describe.skipIf(means === undefined)('a confined command cannot access', () => {
  test('the home, other homes, /run and folders that nobody named', async () => {
    const { run, home } = place()
    writeFileSync(join(home, 'secret'), 'S3CRET')
    mkdirSync(join(home, '.ssh'))
    writeFileSync(join(home, '.ssh/id'), 'S3CRET')
    writeFileSync(join(home, '.npmrc'), 'S3CRET')
    writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Me\n')
    const { output } = await run(
      'cat ~/secret ~/.ssh/id ~/.npmrc /etc/shadow; ls -A /run /home /root /mnt /media /srv; ls -A ~; git config user.name; touch ~/new ~/.gitconfig2 && echo writable',
    )
    expect(output).not.toContain('S3CRET')
    expect(output).toMatch(/\.gitconfig\nMe\nwritable\n$/)
    expect(readdirSync(home).toSorted()).toEqual(['.gitconfig', '.npmrc', '.ssh', 'secret'])
  })

  test('keys and passwords next to tools of the person', async () => {
    const { run, home } = place()
    const secrets = ['.foundry/keystores/dev', '.dotnet/corefx/cryptography/x509stores/my/a.pfx', '.wasmer/wasmer.toml']
    const further = ['.luarocks/upload_config.lua', '.local/share/uv/credentials/credentials.toml']
    const all = [...secrets, ...further, '.local/share/gem/credentials', '.npm-global/etc/npmrc']
    for (const name of [...all, '.foundry/bin/tool']) {
      mkdirSync(dirname(join(home, name)), { recursive: true })
      writeFileSync(join(home, name), name === '.foundry/bin/tool' ? 'open' : 'S3CRET')
    }
    const { output } = await run(
      `cat ${all.map((name) => `~/${name}`).join(' ')} ~/.foundry/bin/tool; grep -r S3CRET ~`,
    )
    expect(output).toContain('open')
    expect(output).not.toContain('S3CRET')
  })

  test('environments, memory and signals of other processes', async () => {
    const { run } = place()
    const child = spawn('sleep', ['30'], { env: { W_SECRET: 'S3CRET' } })
    onTestFinished(() => void child.kill())
    const { output } = await run(
      `cat /proc/*/environ | tr '\\0' '\\n' | grep -c S3CRET; kill -0 ${child.pid} && echo signalled; ls /proc | grep -cx ${child.pid}`,
    )
    expect(output).not.toContain('signalled')
    expect(output.startsWith('0\n') && output.endsWith('\n0\n')).toBe(true)
  })

  test('keys of services, agents and proxies in the environment', async () => {
    const { run } = place()
    const env = {
      ANTHROPIC_API_KEY: 'S3CRET',
      SSH_AUTH_SOCK: '/S3CRET',
      HTTPS_PROXY: 'http://S3CRET',
      GH_TOKEN: 'S3CRET',
      KEPT: 'kept',
    }
    expect((await run('env | grep -c S3CRET; echo $KEPT $TMPDIR', { env })).output).toBe('0\nkept /tmp\n')
  })

  test('tracing, io_uring, kernel keys and capabilities', async () => {
    const { run } = place()
    const { output } = await run(`python3 -c "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    r = libc.syscall(*args); return 'allowed' if r >= 0 else 'refused'
import platform
x64 = platform.machine() == 'x86_64'
print(call(101 if x64 else 117, 16, 1, 0, 0), call(425, 1, 0), call(250 if x64 else 219, 0, -3, 0), call(272 if x64 else 97, 0x10000000))"; grep -E '^Cap(Eff|Prm|Bnd)' /proc/self/status | grep -vc 0000000000000000; echo x > /proc/sys/kernel/core_pattern`)
    expect(output).toMatch(/^refused refused refused refused\n0\n/)
    expect(output).toMatch(/core_pattern: (?:Read-only file system|Permission denied)/)
  })

  test('files of deny rules', async () => {
    const { run, write, project } = place()
    write({ '.env': 'S3CRET', 'secrets/key': 'S3CRET', 'lock.json': 'mine', 'a.txt': 'open\n' })
    const pattern = (name: string): PlacePattern => ({
      anchors: [project],
      glob: globPattern(name),
      named: [join(project, name)],
    })
    const denied = { read: [pattern('.env'), pattern('secrets')], edit: [pattern('lock.json'), pattern('new.json')] }
    const { output, aftermath } = await run(
      'cat .env secrets/key a.txt; ls secrets; echo evil > lock.json; echo evil > new.json; mv .env x; cat x',
      { denied },
    )
    expect(output).toContain('open\n')
    expect(output).not.toContain('S3CRET')
    expect(readFileSync(join(project, 'lock.json'), 'utf8')).toBe('mine')
    expect(readFileSync(join(project, '.env'), 'utf8')).toBe('S3CRET')
    expect(aftermath.takenBack.map(({ path }) => path)).toEqual([join(project, 'new.json')])
  })

  test('files of deny rules under another name', async () => {
    const { run, write, project } = place()
    write({ '.env': 'S3CRET', 'secrets/deep/key': 'S3CRET', 'lock.json': 'mine', 'src/a.txt': 'open\n' })
    linkSync(join(project, '.env'), join(project, 'hard.ts'))
    linkSync(join(project, 'secrets/deep/key'), join(project, 'src/key'))
    linkSync(join(project, 'lock.json'), join(project, 'src/lock'))
    const pattern = (name: string): PlacePattern => ({ anchors: [project], glob: globPattern(name), named: [] })
    const denied = { read: [pattern('.env'), pattern('secrets/**')], edit: [pattern('lock.json')] }
    const line = 'cat hard.ts src/*; grep -r . src; tar c . ; echo evil > src/lock; echo evil > hard.ts'
    const { output } = await run(line, { denied })
    expect(output).toContain('open\n')
    expect(output).not.toContain('S3CRET')
    expect(readFileSync(join(project, 'lock.json'), 'utf8')).toBe('mine')
    expect(readFileSync(join(project, '.env'), 'utf8')).toBe('S3CRET')
    linkSync(join(project, '.env'), Buffer.concat([Buffer.from(`${project}/k`), Buffer.from([0xff])]))
    await expect(async () => run(line, { denied })).rejects.toThrow(/is another name of a file that a deny rule/)
  })

  test('outside files through a link in the workspace', async () => {
    const { run, project, home } = place()
    writeFileSync(join(home, 'secret'), 'S3CRET')
    symlinkSync(join(home, 'secret'), join(project, 'link'))
    const { output } = await run('cat link; echo evil > link')
    expect(output).not.toContain('S3CRET')
    expect(readFileSync(join(home, 'secret'), 'utf8')).toBe('S3CRET')
  })

  test.skipIf(!existsSync('/etc/chromium.d'))('anything except settings of browsers, which scripts start', async () => {
    expect(await place().run('cat /etc/chromium.d/*')).toMatchObject({ exitCode: 0 })
  })
})
