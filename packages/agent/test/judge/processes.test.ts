// What the kernel tells of processes is not read without a rule, wherever the agent works (spec R-RULE-7d).
import { createPermissions } from '@halting/agent'
import { expect, test } from 'vitest'
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
])('%s asks, also where the session works in /', (command) => {
  expect(judged(command, { cwd: '/' })).toBe('ask')
  expect(judged(command, { cwd: '/', mode: 'acceptEdits' })).toBe('ask')
})

test.each(['cat /proc/cpuinfo', 'cat /proc/meminfo'])('%s tells of the machine, and runs there', (command) => {
  expect(judged(command, { cwd: '/' })).toBe('allow')
})

test('so do the tools for files', () => {
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
