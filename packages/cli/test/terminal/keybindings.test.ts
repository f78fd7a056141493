// Key bindings of the interactive program (spec R-TERM-63): each key has one action, and mistakes in a person's file are reported.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Action, actionNames, actions } from '../../src/terminal/keys/actions.ts'
import { parseKey, keyLabel } from '../../src/terminal/keys/key-names.ts'
import { isKeyOf, keyTable } from '../../src/terminal/keys/key-table.ts'
import { bindingsOf, type Keybindings, readKeybindings } from '../../src/terminal/keys/keybindings.ts'

const read = (given: unknown): Keybindings => bindingsOf(given, 'keys.json')

function actionsByKey({ keysOf }: Keybindings): ReadonlyMap<string, readonly Action[]> {
  const owners = new Map<string, Action[]>()
  for (const action of actionNames)
    for (const key of keysOf[action]) owners.set(key, [...(owners.get(key) ?? []), action])
  return owners
}

test('the default keys are valid, and each has one action', () => {
  const defaults = read(undefined)
  expect(defaults.warnings).toEqual([])
  for (const action of actionNames)
    for (const key of actions[action].keys) expect(parseKey(key)).toEqual({ kind: 'key', key })
  expect([...actionsByKey(defaults).values()].filter((all) => all.length > 1)).toEqual([])
})

test('any file is accepted, and each key has one action', () => {
  const key = fc.oneof(
    fc.constantFrom('ctrl+b', 'ctrl+t', 'alt+q', 'f2', 'tab', 'enter', 'CTRL+B', 'x', '', 'hyper+q', 'shift+ctrl+p'),
    fc.string(),
  )
  const value = fc.oneof(key, fc.array(key), fc.constant(7), fc.constant(null))
  const name = fc.oneof(fc.constantFrom(...actionNames), fc.string())
  fc.assert(
    fc.property(fc.dictionary(name, value), (file) => {
      const all = actionsByKey(read(file))
      expect([...all.values()].filter((owners) => owners.length > 1)).toEqual([])
    }),
    { examples: [[{ send: ['__proto__'] }], [{ send: 'constructor' }]] },
  )
})

describe('a file', () => {
  test('assigns keys to an action, and removes them from others', () => {
    const { keysOf, warnings } = read({ tasks: 'ctrl+t', queue: ['alt+q', 'F2'] })
    expect([keysOf.tasks, keysOf.todos, keysOf.queue]).toEqual([['ctrl+t'], [], ['alt+q', 'f2']])
    expect(warnings).toEqual(['keys.json: todos has no key now: Ctrl+T is assigned to another action.'])
  })

  test('removes keys with an empty list, without a warning', () => {
    expect(read({ suspend: [] })).toMatchObject({ keysOf: { suspend: [] }, warnings: [] })
  })

  test.each([
    ['an unknown action', { queu: 'f2' }, 'keys.json: unknown action "queu". Did you mean queue?'],
    ['an unknown key', { queue: 'ctrl+foo' }, 'keys.json: ignored "ctrl+foo" for queue: unknown key "foo".'],
    [
      'an unknown modifier',
      { queue: 'hyper+q' },
      'keys.json: ignored "hyper+q" for queue: unknown modifier hyper+ (modifiers: ctrl+, shift+, alt+, super+).',
    ],
    [
      'a letter',
      { queue: 'q' },
      'keys.json: ignored "q" for queue: "q" alone types a character and cannot be assigned.',
    ],
    [
      'a key that is another one for a terminal',
      { queue: 'ctrl+i' },
      'keys.json: ignored "ctrl+i" for queue: terminals send the same code for it as for tab.',
    ],
    ['no key at all', { queue: 7 }, 'keys.json: "queue" must be a key such as "ctrl+t", or a list of keys.'],
    ['no object', ['a'], 'keys.json: ignored, because it is not a JSON object such as {"queue": "alt+q"}.'],
  ])('with %s is reported, and the action keeps its keys', (_what, file, warning) => {
    const { keysOf, warnings } = read(file)
    expect([keysOf.queue, warnings]).toEqual([['alt+enter'], [warning]])
  })

  test('that assigns one key twice applies the first', () => {
    const { keysOf, warnings } = read({ todos: 'f5', tasks: ['f5', 'f6'] })
    expect([keysOf.todos, keysOf.tasks, warnings]).toEqual([
      ['f5'],
      ['f6'],
      ['keys.json: ignored F5 for tasks: it is already assigned to todos.'],
    ])
  })

  test('that is unreadable or not JSON is reported', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'halting-keys-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    expect((await readKeybindings(folder)).warnings).toEqual([])
    writeFileSync(join(folder, 'keybindings.json'), '{"queue": ')
    expect((await readKeybindings(folder)).warnings).toEqual([expect.stringContaining('not valid JSON')])
    writeFileSync(join(folder, 'keybindings.json'), '\uFEFF{"queue": "f9"}')
    expect((await readKeybindings(folder)).keysOf.queue).toEqual(['f9'])
  })

  test('that is not a regular file is reported, and not waited for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'halting-keys-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'keybindings.json')
    expect(spawnSync('mkfifo', [path]).status).toBe(0)
    expect((await readKeybindings(folder)).warnings).toEqual([expect.stringContaining('is not a regular file')])
  })
})

describe('terminal input', () => {
  const table = keyTable(read(undefined))
  test.each([
    ['\u001B\r', 'queue'],
    ['\u001B[1;3A', 'takeBack'],
    ['\u001B', 'interrupt'],
    ['\u0003', 'clear'],
    ['\u001B[Z', 'cycleMode'],
    ['\u001B[13;3u', 'queue'],
    ['\u001B[27;3;13~', 'queue'],
    ['?', 'showKeys'],
    ['\r', undefined],
    ['\n', undefined],
    ['a', undefined],
    ['漢', undefined],
  ])('%j is %s', (data, action) => {
    expect(table(data)).toBe(action)
  })

  test('a line feed starts a new line, and never sends', () => {
    const defaults = read(undefined)
    expect([isKeyOf(defaults, 'newLine', '\n'), isKeyOf(defaults, 'send', '\n')]).toEqual([true, false])
    expect(isKeyOf(defaults, 'send', '\r')).toBe(true)
  })
})

test('keys are shown by their usual names', () => {
  expect(['ctrl+shift+p', 'alt+up', 'escape', '?', 'pageUp', 'ctrl+-'].map(keyLabel)).toEqual([
    'Ctrl+Shift+P',
    'Alt+↑',
    'Esc',
    '?',
    'PgUp',
    'Ctrl+-',
  ])
})
