// Holds R-TRY-4 and R-TRY-6 of docs/spec for the parts of trials.
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createServer } from 'node:net'
import { isThrowaway, isThrowawayTemporary } from '../../src/sandbox/trial-writes.ts'
import { trialMounts } from '../../src/sandbox/trial-mounts.ts'
import { readTrialReport } from '../../src/sandbox/trial-report.ts'
import { means, openProject, tryLine } from './support.ts'

test.each([
  ['a/__pycache__', true],
  ['.pytest_cache', true],
  ['node_modules/.cache', true],
  ['packages/a/node_modules/.vite', true],
  ['node_modules/lodash', false],
  ['.cache', false],
  ['tsconfig.tsbuildinfo', true],
  ['src/tsbuildinfo.ts', false],
  ['.eslintcache', true],
  ['a/eslintcache', false],
  ['dist', false],
  ['target', false],
])('the name %s is recreated by tools: %s', (path, isAgain) => {
  expect(isThrowaway(path)).toBe(isAgain)
})

test('folders in /tmp that tools find again are recreated too', () => {
  expect(['pytest-of-me', 'v8-compile-cache-0', 'notes', 'pytest'].map(isThrowawayTemporary)).toEqual([
    true,
    true,
    false,
    false,
  ])
})

describe('network counters of the kernel', () => {
  const quiet =
    'Ip: OutRequests OutNoRoutes\nIp: 9 0\nTcp: ActiveOpens AttemptFails\nTcp: 3 0\nIp6OutNoRoutes 0\nobjects 0\nleft 0\n'
  test.each([
    [quiet, { leftObjects: false, leftProcesses: false, usedNetwork: false }],
    [quiet.replace('Ip: 9 0', 'Ip: 9 1'), { leftObjects: false, leftProcesses: false, usedNetwork: true }],
    [quiet.replace('Tcp: 3 0', 'Tcp: 3 2'), { leftObjects: false, leftProcesses: false, usedNetwork: true }],
    [
      quiet.replace('Ip6OutNoRoutes 0', 'Ip6OutNoRoutes                   	1'),
      { leftObjects: false, leftProcesses: false, usedNetwork: true },
    ],
    [quiet.replace('left 0', 'left 2'), { leftObjects: false, leftProcesses: true, usedNetwork: false }],
    [quiet.replace('objects 0', 'objects 1'), { leftObjects: true, leftProcesses: false, usedNetwork: false }],
    // No report, or an incomplete one.
    ['', undefined],
    [quiet.replace('left 0\n', ''), undefined],
    ['left 0\n', undefined],
  ])('%j', (text, report) => {
    expect(readTrialReport(text)).toEqual(report)
  })
})

test('an unknown argument ends the trial, since the command could write what the argument makes writable', () => {
  const { cwd, home } = openProject()
  expect(() => trialMounts(['--bind-fd', '5', cwd], [cwd], home)).toThrow('A command cannot be tried with --bind-fd')
})

describe.skipIf(means === undefined)('A trial (needs bubblewrap and overlays)', () => {
  test('sees changes of content, permissions, times, kind and names, also in replaced folders', async () => {
    const project = openProject()
    const { cwd } = project
    mkdirSync(join(cwd, 'd/e'), { recursive: true })
    writeFileSync(join(cwd, 'd/e/f'), 'text')
    writeFileSync(join(cwd, 'g'), 'text')
    symlinkSync('g', join(cwd, 'l'))
    mkdirSync(join(cwd, 'p/__pycache__'), { recursive: true })
    chmodSync(join(cwd, 'g'), 0o644)
    utimesSync(join(cwd, 'g'), 1_000, 1_000)
    const lines: readonly (readonly [line: string, path: string | undefined])[] = [
      ['printf texT > g; touch -d @1000 g', 'g'],
      ['chmod u+x g', 'g'],
      ['touch g', 'g'],
      ['rm g; mkdir g', 'g'],
      ['ln -sfn d l', 'l'],
      ['mv d/e/f d/f', 'd/e/f'],
      ['rm -r d; mkdir -p d/e; touch d/e/f', 'd/e/f'],
      ['rm -r d/e; mkdir d/e', 'd/e'],
      ['chmod 700 d/e', 'd/e'],
      ['mkdir __pycache__ && echo x > __pycache__/a.pyc', undefined],
      // Removing it was the intention.
      ['rm -r p/__pycache__', 'p/__pycache__'],
      ['echo x > p/__pycache__/a.pyc', undefined],
      ['echo x > d/e/temporary; rm d/e/temporary', undefined],
      ['exec 5<>g; cat <&5', undefined],
    ]
    for (const [line, path] of lines) {
      const { why } = await tryLine(project, line)
      expect([line, why]).toEqual([line, path === undefined ? undefined : `it writes ${join(cwd, path)}`])
    }
  })

  test('sees attributes of files and folders, times of folders that were set, and replaced folders with the same times', async () => {
    const project = openProject()
    const { cwd, home } = project
    mkdirSync(join(cwd, 'd'))
    mkdirSync(join(cwd, 'e'))
    for (const path of ['a', 'd/f', 'd/g']) writeFileSync(join(cwd, path), 'text')
    const python = (code: string): string => `python3 -c "import os; ${code}"`
    const set = (path: string): string => `os.setxattr(os.path.expanduser('${path}'), 'user.x', b'1')`
    const lines: readonly (readonly [line: string, path: string])[] = [
      [python(set('a')), join(cwd, 'a')],
      [python(set('d')), join(cwd, 'd')],
      [python(set('.')), cwd],
      [python(set('~')), home],
      ['chmod 700 ~', home],
      [python("os.utime('e', (1, 1))"), join(cwd, 'e')],
      [python("os.utime('.', (1, 1))"), cwd],
      ['cp -a d saved; rm saved/g; touch -r d saved; rm -r d; mv saved d', join(cwd, 'd')],
    ]
    for (const [line, path] of lines)
      expect([line, (await tryLine(project, line)).why]).toEqual([line, `it writes ${path}`])
    expect(await tryLine(project, 'exec 5<>a; touch d/h; rm d/h; chmod 600 a; chmod 644 a')).toMatchObject({
      why: undefined,
    })
  })

  test('does not settle a command next to a file with the id of a running process', async () => {
    const project = openProject()
    const path = join(project.cwd, 'tmp/pids/server.pid')
    mkdirSync(join(project.cwd, 'tmp/pids'), { recursive: true })
    const victim = spawn('sleep', ['60'])
    onTestFinished(() => void victim.kill())
    writeFileSync(path, `${victim.pid}\n`)
    const line = 'kill $(cat tmp/pids/server.pid) 2>/dev/null || true'
    expect(await tryLine(project, line)).toMatchObject({
      why: `it may concern the process that ${path} names, which it does not see`,
    })
    expect(victim.exitCode).toBeNull()
    // No process can have this id.
    writeFileSync(path, '99999999\n')
    expect(await tryLine(project, line)).toMatchObject({ why: undefined })
  })

  test('sees objects that remain in memory', async () => {
    const project = openProject()
    const code = 'import ctypes; print(ctypes.CDLL(None).shmget(4660, 4096, 0o1600) >= 0)'
    expect(await tryLine(project, `python3 -c "${code}"`)).toEqual({
      output: 'True\n',
      exitCode: 0,
      why: 'it left shared memory or semaphores behind',
    })
    expect(await tryLine(project, 'echo x > /dev/shm/file')).toMatchObject({ why: 'it writes /dev/shm/file' })
    expect(await tryLine(project, 'echo x > /dev/shm/file; rm /dev/shm/file')).toMatchObject({ why: undefined })
    expect(await tryLine(project, 'echo x > /dev/null; echo x > /dev/full')).toMatchObject({ exitCode: 1 })
  })

  test('reads the caches of tools, and discards what is written to them', async () => {
    const project = openProject()
    const pip = join(project.home, '.cache/pip')
    mkdirSync(pip, { recursive: true })
    writeFileSync(join(pip, 'known'), 'wheel\n')
    mkdirSync(join(project.home, '.cache/private'))
    const line = 'cat ~/.cache/pip/known; echo new > ~/.cache/pip/new; rm ~/.cache/pip/known; ls ~/.cache'
    expect(await tryLine(project, line)).toEqual({ output: 'wheel\npip\n', exitCode: 0, why: undefined })
    expect(readdirSync(pip)).toEqual(['known'])
    // Programs find a folder for caches even if the person has none.
    expect(await tryLine(project, 'touch ~/.cache/made')).toMatchObject({ exitCode: 0, why: undefined })
    expect(readdirSync(join(project.home, '.cache'))).toEqual(['pip', 'private'])
  })

  test('sees writes to the home, to /tmp and next to mounts', async () => {
    const project = openProject()
    expect(await tryLine(project, 'echo x > ~/file')).toMatchObject({ why: `it writes ${project.home}/file` })
    expect(await tryLine(project, 'echo x > /tmp/file')).toMatchObject({ why: 'it writes /tmp/file' })
    expect(await tryLine(project, 'echo x > /file')).toMatchObject({ why: 'it writes /file' })
    expect(await tryLine(project, 'echo x > /run/file')).toMatchObject({ why: 'it writes /run/file' })
    expect(await tryLine(project, 'f=$(mktemp); rm "$f"; ls ~ /tmp >/dev/null')).toMatchObject({ why: undefined })
  })

  test('reaches its own servers and none outside', async () => {
    const project = openProject()
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const outside = `exec 7<>/dev/tcp/127.0.0.1/${port}`
    expect(await tryLine(project, `(${outside}) 2>/dev/null; true`)).toMatchObject({ why: 'it needs the network' })
    const own = `import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); print('met')`
    expect(await tryLine(project, `python3 -c "${own}"`)).toEqual({ output: 'met\n', exitCode: 0, why: undefined })
  })

  test('connects to no socket of a program that listens in the project', async () => {
    const project = openProject()
    const path = join(project.cwd, 'socket')
    let reached = 0
    const server = createServer(() => (reached += 1)).listen(path)
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const client = `import socket; s = socket.socket(socket.AF_UNIX); s.connect('${path}')`
    await tryLine(project, `python3 -c "${client}"`)
    expect(reached).toBe(0)
  })
})
