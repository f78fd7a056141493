// Data of processes in /proc is not read without a rule, in any folder (spec R-RULE-7d), and data of the machine is (R-RULE-10a).
import { createPermissions } from '../../src/permissions/permissions.ts'
import { Dir, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { judged } from './support.ts'

test.each([
  'cat /proc/self/environ',
  'cat /proc/1/environ',
  'cat /proc/*/environ',
  'head -c 100 /proc/thread-self/environ',
  'cat proc/1/environ',
  'cat /proc/../proc/1/environ',
  'tr "\\0" "\\n" < /proc/1/environ',
  'cat /proc/$PPID/environ',
  'p=1; cat /proc/$p/environ',
  'cd /proc/1 && cat environ',
  'strings /proc/1/mem',
  'ls /proc/1/fd',
  'cat /proc/self/maps',
  'grep -r KEY /proc',
  'grep -r KEY /',
  'rg KEY /',
])('%s asks, even if the session runs in /', (command) => {
  expect(judged(command, { cwd: '/' })).toBe('ask')
  expect(judged(command, { cwd: '/', mode: 'acceptEdits' })).toBe('ask')
})

test.each([
  'cat /proc/*/no-such-file',
  'cat /proc/[0-9]*/no-such-file',
  'cat /proc/?????????/no-such-file',
  'cat /proc/s*/no-such-file',
  'cat /pro?/*/no-such-file',
  'cat /*/*/no-such-file',
  'cat proc/1*9/no-such-file',
  'cd /proc && cat */no-such-file',
])('%s asks, as a process with that file may start meanwhile', (command) => {
  expect(judged(command, { cwd: '/' })).toBe('ask')
})

test('a rule allows a pattern that may name processes', () => {
  expect(judged('cat /proc/*/no-such-file', { cwd: '/', allow: ['Read(//proc/*/no-such-file)'] })).toBe('allow')
})

test('a pattern asks if this process cannot list its folder', () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'a.txt'), '')
  expect(judged('cat *.txt', { cwd })).toBe('allow')
  const list = vi.spyOn(Dir.prototype, 'readSync').mockImplementation(() => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'scandir' })
  })
  onTestFinished(() => list.mockRestore())
  expect(judged('cat *.txt', { cwd })).toBe('ask')
})

test.each(['cat /proc/cpuinfo', 'cat /proc/meminfo', 'cat /proc/cpu*', 'cat /proc/meminf?'])(
  '%s shows information about the machine, and runs',
  (command) => {
    expect(judged(command, { cwd: '/' })).toBe('allow')
  },
)

test('file tools can read the same files', () => {
  const permissions = createPermissions({ cwd: '/' })
  const behavior = (name: string, input: object): unknown =>
    permissions.decide({
      call: { type: 'tool_use', id: 'c', name, input },
      tool: { name, description: '', inputSchema: {}, readOnly: true, execute: () => '' },
      readOnly: true,
    })
  const asks = expect.objectContaining({ behavior: 'ask' })
  expect([
    behavior('Read', { file_path: '/proc/self/environ' }),
    behavior('Read', { file_path: '/proc/1/environ' }),
    behavior('Grep', { pattern: 'KEY', path: '/proc/1' }),
    behavior('Grep', { pattern: 'KEY', path: '/proc' }),
    behavior('Grep', { pattern: 'KEY', path: '/' }),
    behavior('Grep', { pattern: 'KEY' }),
    behavior('Read', { file_path: '/etc/hosts' }),
  ]).toEqual([asks, asks, asks, asks, asks, asks, { behavior: 'allow' }])
})

const publicReads = [
  'cat /etc/os-release',
  'head -3 /proc/meminfo',
  'grep -c processor /proc/cpuinfo',
  'cat < /proc/version',
]

test.each(publicReads)('%s runs in any folder, unless a rule denies it', (command) => {
  const cwd = temporaryFolder()
  expect([judged(command, { cwd }), judged(command, { cwd, mode: 'dontAsk' })]).toEqual(['allow', 'allow'])
  expect(judged(command, { cwd, deny: ['Read(//etc/**)', 'Read(//usr/lib/**)', 'Read(//proc/**)'] })).toBe('deny')
})

test.each([
  'cat /etc/passwd',
  'cat /etc/shadow',
  'cat /etc/hosts',
  'cat /etc/os-release /etc/passwd',
  'cat /etc/os-release/../passwd',
  'cat /etc/os*',
  'cat /etc/*-release',
  'ls /etc',
  'grep -r NAME /etc',
  'find /etc -name os-release -exec cat {} +',
  'cat /proc/cmdline',
  'cat /proc/mounts',
  'cat /proc/cpu*',
  'cat /proc/version/../self/environ',
  'cat /proc/sys/kernel/random/boot_id',
  'cat version',
  'cat passwd',
  'cp /etc/os-release x',
  'echo x > /etc/os-release',
  'echo x >> /proc/version',
  'rm /etc/timezone',
  'mv x /etc/shells',
])('%s asks', (command) => {
  const cwd = temporaryFolder()
  symlinkSync('/etc/passwd', join(cwd, 'passwd'))
  symlinkSync('/proc/self/environ', join(cwd, 'version'))
  expect(judged(command, { cwd })).toBe('ask')
  expect(judged(command, { cwd, mode: 'acceptEdits' })).toBe('ask')
})
