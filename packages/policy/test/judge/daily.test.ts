// Holds R-RULE-1d and R-RULE-7 of docs/spec from the other side: commands of daily use do not ask under the rules that people would write.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { PermissionMode } from '../../src/permissions/rule-book.ts'
import { judged } from './support.ts'
import { makeWorld, removeWorld } from './world.ts'

const world = makeWorld()
// A project without links to the outside.
for (const name of [
  'link',
  'tree-out',
  'out.txt',
  'src/out.ts',
  'chain',
  'chain2',
  'up',
  'dangling',
  'odd',
  'kept',
  'a=',
  'x:',
  'to-env',
  'to-secret',
])
  rmSync(join(world.project, name), { recursive: true })
const outerHome = process.env['HOME']
afterAll(() => {
  removeWorld(world)
  process.env['HOME'] = outerHome
})

interface Row {
  readonly command: string
  readonly mode: PermissionMode
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

function rows(): readonly Row[] {
  let [mode, allow, deny]: [PermissionMode, readonly string[], readonly string[]] = ['default', [], []]
  const rules = (line: string, name: string): readonly string[] =>
    new RegExp(`${name}=([^|]*)`).exec(line)?.[1]?.trim().split(';') ?? []
  const found: Row[] = []
  for (const line of readFileSync(new URL('corpus/friction.txt', import.meta.url), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('//')) continue
    if (line.startsWith('== ')) {
      mode = /mode=acceptEdits/.test(line) ? 'acceptEdits' : 'default'
      allow = rules(line, 'allow')
      deny = rules(line, 'deny')
    } else found.push({ command: line.replaceAll('⏎', '\n'), mode, allow, deny })
  }
  return found
}

test('commands of daily use do not ask', () => {
  process.env['HOME'] = world.home
  const all = rows()
  const asked = all.filter(({ command, ...rules }) => judged(command, { cwd: world.project, ...rules }) !== 'allow')
  console.log(`${all.length - asked.length} of ${all.length} run without asking`)
  expect(asked.map(({ command }) => command)).toEqual([])
  expect(all.length).toBeGreaterThanOrEqual(250)
})
