// Tests the long checks: `npm run deep` lists them, and suggests a name when there is no such check.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = new URL('../../../', import.meta.url)
const script = fileURLToPath(new URL('scripts/deep.mjs', root))
const deep = (...args: readonly string[]) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' })

test('lists the long checks without a name, with what each proves, takes and needs', () => {
  const { status, stdout } = deep()
  const names = [...stdout.matchAll(/^(\w+) +\S.*\n +takes \S.*\n +needs \S/gm)].map(([, name]) => name)
  expect({ status, names }).toEqual({
    status: 0,
    names: [
      'guard',
      'commands',
      'corpus',
      'confined',
      'tests',
      'kills',
      'stores',
      'goals',
      'budgets',
      'waits',
      'trouble',
      'explore',
      'paths',
      'mutations',
      'soak',
      'cluster',
      'startup',
      'packed',
      'types',
      'mcp',
      'editors',
      'providers',
    ],
  })
})

test('answers an unknown name with the nearest and with all names', () => {
  const { status, stderr, stdout } = deep('gaurd', '--lines=10')
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toMatch(/^Unknown check gaurd \(did you mean guard\?\)\. Checks: guard, .*, providers\n$/)
})

test('the files that the long checks run exist', () => {
  const named = readFileSync(script, 'utf8').match(/(?:packages|scripts)\/[\w./-]+\.(?:ts|mjs)/g) ?? []
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
})
