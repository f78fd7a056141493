// Holds R-SERV-12 of docs/spec: how long a run waits for services, in settings.
import { array, assert, constantFrom, option, property, tuple } from 'fast-check'
import { expect, test } from 'vitest'
import { parseWaitMs } from '@halting/core/adapters'
import type { DefaultLimits } from '../../src/settings/fields.ts'
import { mergeLimits } from '../../src/settings/limits.ts'
import type { EffectiveFile } from '../../src/settings/effective-file.ts'
import type { SettingsLevel } from '../../src/settings/places.ts'
import { loadSettings } from '../../src/settings/settings.ts'

const file = (level: SettingsLevel, waitForLimits: string): EffectiveFile => ({
  file: { level, name: level, projectDirectory: '/', content: {}, json: '' },
  fields: { waitForLimits, others: [] },
})
const day: DefaultLimits = { waitForLimits: { value: 86_400_000, written: '24h', from: 'the default' } }

test.each([
  ['8h', 28_800_000],
  ['1h30m', 5_400_000],
  ['none', 0],
  ['744h', 31 * 86_400_000],
  ['745h', undefined],
  ['0s', undefined],
  ['8', undefined],
  ['-1h', undefined],
  ['', undefined],
  ['None', undefined],
])('%j is %s', (text, expected) => expect(parseWaitMs(text)).toBe(expected))

test("the person's value applies; a project lowers it, and raising it is reported", () => {
  const { settings, origins, ignored, warnings } = mergeLimits([file('project', '9h'), file('user', '8h')], day)
  expect(settings).toEqual({ waitForLimits: 28_800_000 })
  expect(origins).toEqual([{ setting: 'waitForLimits', value: '8h', from: 'user' }])
  expect(ignored.map(({ text }) => text)).toEqual(['"9h"'])
  expect(warnings).toEqual([
    'waitForLimits in project ("9h") is ignored: a project cannot lengthen waits (8h, from user).',
  ])
  expect(mergeLimits([file('local', 'none'), file('user', '8h')]).settings).toEqual({ waitForLimits: 0 })
})

test('a project lowers the default of a frontend, and is ignored silently if the frontend does not wait', () => {
  expect(mergeLimits([file('project', '1h')], day).settings).toEqual({ waitForLimits: 3_600_000 })
  const { settings, ignored, warnings } = mergeLimits([file('project', '1h')])
  expect([settings, ignored.length, warnings]).toEqual([{}, 1, []])
})

test("nothing exceeds an administrator's value", () => {
  const { settings, warnings } = mergeLimits([file('managed', '1h'), file('user', '8h')], day)
  expect(settings).toEqual({ waitForLimits: 3_600_000, managedWaitForLimits: 3_600_000 })
  expect(warnings).toHaveLength(1)
})

test('a value that is not a duration stops the program', async () => {
  const given = (waitForLimits: unknown) =>
    loadSettings({ cwd: '/', home: '/nowhere', env: {}, given: JSON.stringify({ waitForLimits }), sources: [] })
  await expect(given('40 days')).rejects.toThrow(
    /waitForLimits must be a duration of at most 31 days \(744h\), such as 8h, or none \(received "40 days"\)/,
  )
  await expect(given(8)).rejects.toThrow(/waitForLimits must be/)
  expect((await given('8h')).settings).toEqual({ waitForLimits: 28_800_000 })
})

const levels: readonly SettingsLevel[] = ['managed', 'flag', 'local', 'project', 'user']

test("a project can only lower the value, and an administrator's is never exceeded", () => {
  const given = array(tuple(constantFrom(...levels), constantFrom('none', '1h', '2h', '3h')), { maxLength: 6 })
  assert(
    property(given, option(constantFrom(day)), (said, defaults) => {
      const files = said
        .toSorted(([one], [other]) => levels.indexOf(one) - levels.indexOf(other))
        .map(([level, text]) => file(level, text))
      const waitOf = (some: readonly EffectiveFile[]): number =>
        mergeLimits(some, defaults ?? {}).settings.waitForLimits ?? defaults?.waitForLimits?.value ?? 0
      const ofOthers = files.filter(({ file: { level } }) => level !== 'project' && level !== 'local')
      expect(waitOf(files)).toBeLessThanOrEqual(waitOf(ofOthers))
      const [managed] = files.filter(({ file: { level } }) => level === 'managed')
      expect(waitOf(files)).toBeLessThanOrEqual(parseWaitMs(managed?.fields.waitForLimits ?? '744h') ?? 0)
    }),
  )
})
