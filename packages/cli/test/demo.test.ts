import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { here, installProgram, run } from './support/program.ts'

installProgram()

const example = fileURLToPath(new URL('../examples/fix-the-bug/', import.meta.url))
const check = (folder: string) => spawnSync(process.execPath, ['check.mjs'], { cwd: folder, encoding: 'utf8' })

test('has its bug on line 42, which its check finds', () => {
  const { status, stdout } = check(example)
  expect(readFileSync(join(example, 'config.mjs'), 'utf8').split('\n')[41]).toBe(
    '  return Math.max(delay, longestDelayMs)',
  )
  expect({ status, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({ status: 1, last: '6 of 7 hold, 1 errors' })
})

test('fixes the bug in a copy, and shows every step, the diff and the ending', async () => {
  const { status, stdout, stderr } = await run(['demo'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const expected = [
    'The model is scripted',
    'I will read the config file first.',
    '● Read config.mjs',
    '● Edit config.mjs',
    '  ✓ 1 line added, 1 removed',
    '● Bash node check.mjs',
    '  ✓ 7 of 7 hold, 0 errors (8 lines)',
    'Fixed! The bug was in config.mjs:42',
    '-  return Math.max(delay, longestDelayMs)',
    '+  return Math.min(delay, longestDelayMs)',
    'Why it stopped',
    'reason     completed',
    'turns      4 turns, 4 requests, 3 tool results',
    'exit code  0',
  ]
  const places = expected.map((text) => stdout.indexOf(text))
  expect(expected.filter((_, index) => places[index] === -1)).toEqual([])
  expect(places.toSorted((a, b) => a - b)).toEqual(places)
  expect(stdout).not.toContain('\u001B')
})

test('leaves the example unchanged, and removes its copy', async () => {
  const before = readFileSync(join(example, 'config.mjs'), 'utf8')
  await run(['demo'])
  expect(readFileSync(join(example, 'config.mjs'), 'utf8')).toBe(before)
  expect(readdirSync(here()).filter((name) => name.startsWith('halting-demo-'))).toEqual([])
})

test('keeps the folder with --keep, where the check passes', async () => {
  const { stdout } = await run(['demo', '--keep'])
  const [, folder = ''] = /\nFolder: (.+)\n$/.exec(stdout) ?? []
  const { status, stdout: said } = check(folder)
  expect({ status, last: said.trimEnd().split('\n').at(-1) }).toEqual({ status: 0, last: '7 of 7 hold, 0 errors' })
})

test('works in any directory', async () => {
  expect((await run(['demo'], { cwd: '/' })).status).toBe(0)
})
