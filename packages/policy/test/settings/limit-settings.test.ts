// Holds R-LIM-1, R-LIM-2 and R-LIM-3 of docs/spec: limits in settings.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { array, assert, constantFrom, integer, option, property, tuple } from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { durationMs } from '@halting/core/adapters'
import type { DefaultLimits } from '../../src/settings/fields.ts'
import { mergeLimits } from '../../src/settings/limits.ts'
import type { LoadedSettings } from '../../src/settings/loaded-settings.ts'
import type { EffectiveFile } from '../../src/settings/effective-file.ts'
import type { SettingsLevel } from '../../src/settings/places.ts'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'

const own = '~/.halting/settings.json'
const shared = '.halting/settings.json'
const local = '.halting/settings.local.json'
const managed = 'managed/managed-settings.json'

/** Creates files in a project, in the person's folder and in that of an administrator, and loads the settings. */
async function load(
  files: Readonly<Record<string, object | string>>,
  options: { readonly defaultLimits?: DefaultLimits; readonly given?: string } = {},
): Promise<LoadedSettings & { readonly offers: number }> {
  const root = mkdtempSync(join(tmpdir(), 'halting-limit-settings-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const owner = {
    cwd: join(root, 'project'),
    home: join(root, 'home'),
    env: {},
    managedFolders: [join(root, 'managed')],
  }
  mkdirSync(owner.managedFolders[0] ?? '', { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    const inHome = name.startsWith('~/') ? join(owner.home, name.slice(2)) : join(owner.cwd, name)
    const path = name === managed ? join(root, managed) : inHome
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  }
  const nearest = (name: string, known: readonly string[]): string | undefined =>
    known.find((one) => one.toLowerCase() === name.toLowerCase())
  const offers = (await projectOffers(owner)).length
  return { ...(await loadSettings({ ...owner, ...options, trustedBy: false, nearest })), offers }
}

const limits = (given: object): object => ({ limits: given })

test('limits of the person apply, with their origin, and null removes one', async () => {
  const { settings, origins, warnings } = await load({
    [own]: limits({
      maxTurns: 60,
      maxRunUsd: null,
      maxBudgetUsd: 0.5,
      maxTokens: 200_000,
      maxDuration: '1h30m',
      maxToolCalls: 300,
    }),
  })
  expect(settings).toEqual({
    limits: {
      maxTurns: 60,
      maxRunUsd: null,
      maxBudgetUsd: 0.5,
      maxTokens: 200_000,
      maxDuration: 90 * 60_000,
      maxToolCalls: 300,
    },
  })
  expect(warnings).toEqual([])
  expect(origins.map(({ setting, value }) => [setting, value])).toContainEqual(['limits.maxDuration', '1h30m'])
})

test('a project lowers limits of the person without trust, and never raises or removes them', async () => {
  const { settings, ignored, warnings, offers } = await load({
    [own]: limits({ maxTurns: 60, maxRunUsd: 5, maxTokens: 1_000, maxDuration: '10m' }),
    [shared]: limits({ maxTurns: 20, maxRunUsd: 50, maxTokens: null, maxDuration: '90s', maxToolCalls: 7 }),
    [local]: limits({ maxTurns: 30, maxBudgetUsd: null }),
  })
  expect(settings).toEqual({
    limits: { maxTurns: 20, maxRunUsd: 5, maxTokens: 1_000, maxDuration: 90_000, maxToolCalls: 7 },
  })
  expect(ignored.map(({ setting, text }) => [setting, text])).toEqual([
    ['limits.maxRunUsd', '50'],
    ['limits.maxBudgetUsd', 'null'],
    ['limits.maxTokens', 'null'],
  ])
  expect(warnings).toHaveLength(3)
  expect(warnings[0]).toMatch(
    /^limits\.maxRunUsd in .*settings\.json \(50\) is ignored: a project cannot raise a limit \(5, from .*settings\.json\)\.$/,
  )
  expect(offers).toBe(0)
})

test('a project lowers a default and cannot raise it; a person can do both', async () => {
  const defaultLimits = { maxRunUsd: { value: 10, from: 'default of -p' } }
  const raised = await load({ [shared]: limits({ maxRunUsd: 11 }) }, { defaultLimits })
  expect(raised.settings).toEqual({})
  expect(raised.ignored.map(({ why }) => why)).toEqual(['a project cannot raise a limit (10, from default of -p)'])
  expect((await load({ [shared]: limits({ maxRunUsd: 11 }) })).settings).toEqual({ limits: { maxRunUsd: 11 } })
  expect((await load({ [shared]: limits({ maxRunUsd: 9 }) }, { defaultLimits })).settings).toEqual({
    limits: { maxRunUsd: 9 },
  })
  expect((await load({ [own]: limits({ maxRunUsd: 11 }) }, { defaultLimits })).settings).toEqual({
    limits: { maxRunUsd: 11 },
  })
})

test("nothing raises an administrator's limits, and lower values apply", async () => {
  const { settings, ignored } = await load({
    [managed]: limits({ maxTurns: 60, maxRunUsd: 5, maxTokens: 500 }),
    [own]: limits({ maxTurns: 100, maxRunUsd: 4, maxTokens: null }),
    [shared]: limits({ maxRunUsd: 3, maxTurns: 61 }),
  })
  expect(settings).toEqual({
    limits: { maxTurns: 60, maxRunUsd: 3, maxTokens: 500 },
    managedLimits: { maxTurns: 60, maxRunUsd: 5, maxTokens: 500 },
  })
  expect(ignored.map(({ setting, text }) => [setting, text])).toEqual([
    ['limits.maxTurns', '100'],
    ['limits.maxTurns', '61'],
    ['limits.maxTokens', 'null'],
  ])
})

test('--settings precedes the file of the person', async () => {
  const { settings } = await load(
    { [own]: limits({ maxTurns: 60, maxTokens: 500 }) },
    { given: JSON.stringify(limits({ maxTurns: 70 })) },
  )
  expect(settings.limits).toEqual({ maxTurns: 70, maxTokens: 500 })
})

test.each([
  [
    '{"limits": {"maxTurns": 0}}',
    /settings\.json:1: limits\.maxTurns must be a whole number of at least 1, or null .*0\)\.$/,
  ],
  ['{"limits": {"maxTurns": 1.5}}', /limits\.maxTurns must be a whole number/],
  [
    '{"limits": {"maxRunUsd": -1}}',
    /limits\.maxRunUsd must be a number of US dollars above 0, or null for no limit \(received -1\)\.$/,
  ],
  ['{"limits": {"maxBudgetUsd": 1e999}}', /limits\.maxBudgetUsd must be .* \(received Infinity\)\.$/],
  ['{"limits": {"maxTokens": "NaN"}}', /limits\.maxTokens must be a whole number/],
  ['{"limits": {"maxToolCalls": true}}', /limits\.maxToolCalls must be a whole number/],
  ['{"limits": {"maxDuration": 600}}', /limits\.maxDuration must be a duration of at most 24 days, such as 90s/],
  ['{"limits": {"maxDuration": "0s"}}', /limits\.maxDuration must be a duration/],
  ['{"limits": {"maxDuration": "999h"}}', /limits\.maxDuration must be a duration/],
  [
    '{\n"limits": {"maxturns": 5}}',
    /settings\.json:2: unknown setting limits\.maxturns\. Did you mean limits\.maxTurns\? Fix or remove it\.$/,
  ],
  ['{"limits": {"steps": 5}}', /unknown setting limits\.steps\. Limits: maxTurns, maxRunUsd, /],
  ['{"maxTurns": 5}', /unknown setting maxTurns\. Move maxTurns into limits: \{"limits": \{"maxTurns": …\}\}\.$/],
  ['{"Limits": {"maxTurns": 5}}', /unknown setting Limits\. Did you mean limits\? Fix or remove it\.$/],
  ['{"limits": 5}', /limits must be an object, such as \{"maxRunUsd": 5\} \(received 5\)\.$/],
])('%s stops the program, independent of its author', async (text, problem) => {
  await expect(load({ [own]: text })).rejects.toThrow(problem)
  await expect(load({ [shared]: text })).rejects.toThrow(/ignore project settings, use --setting-sources user/)
})

test('only the person can choose reminders', async () => {
  expect((await load({ [own]: { limitReminders: false } })).settings).toEqual({ limitReminders: false })
  const { settings, warnings } = await load({ [shared]: { limitReminders: false } })
  expect(settings).toEqual({})
  expect(warnings).toHaveLength(1)
})

test('the person and an administrator can choose what happens at a limit', async () => {
  expect((await load({ [own]: { onLimit: 'pause', pauseFor: '10m' } })).settings).toEqual({
    onLimit: 'pause',
    pauseFor: '10m',
  })
  expect((await load({ [own]: { onLimit: 'pause' }, [managed]: { onLimit: 'end' } })).settings.onLimit).toBe('end')
  const { settings, warnings } = await load({ [shared]: { onLimit: 'pause', pauseFor: '1h' } })
  expect([settings, warnings.length]).toEqual([{}, 2])
  for (const wrong of [{ onLimit: 'wait' }, { pauseFor: 'soon' }, { pauseFor: '0s' }, { pauseFor: 60 }])
    await expect(load({ [own]: wrong })).rejects.toThrow(/one of end, pause|a duration/)
})

const levels: readonly SettingsLevel[] = ['managed', 'flag', 'local', 'project', 'user']

test("a project can only lower limits, and an administrator's are never exceeded", () => {
  const value = option(integer({ min: 1, max: 9 }), { nil: null })
  const given = array(tuple(constantFrom(...levels), value), { maxLength: 6 })
  assert(
    property(given, option(integer({ min: 1, max: 9 }), { nil: undefined }), (said, byDefault) => {
      const files = said
        .toSorted(([one], [other]) => levels.indexOf(one) - levels.indexOf(other))
        .map(([level, maxTurns], at): EffectiveFile => ({
          file: { level, name: `${level} ${at}`, projectDirectory: '/', content: {}, json: '' },
          fields: { limits: { maxTurns }, others: [] },
        }))
      const defaults = byDefault === undefined ? {} : { maxTurns: { value: byDefault, from: 'default' } }
      const limitOf = (some: readonly EffectiveFile[]): number =>
        numberOf(mergeLimits(some, defaults).settings.limits?.maxTurns, byDefault)
      const ofProject = ({ file: { level } }: EffectiveFile): boolean => level === 'project' || level === 'local'
      expect(limitOf(files)).toBeLessThanOrEqual(limitOf(files.filter((file) => !ofProject(file))))
      const [first] = files.filter(({ file: { level } }) => level === 'managed')
      expect(limitOf(files)).toBeLessThanOrEqual(first?.fields.limits?.maxTurns ?? Infinity)
      // Every ignored value is reported.
      const { ignored, warnings } = mergeLimits(files, defaults)
      expect(warnings).toHaveLength(ignored.length)
    }),
  )
})

function numberOf(limit: number | null | undefined, byDefault: number | undefined): number {
  return limit === undefined ? (byDefault ?? Infinity) : (limit ?? Infinity)
}

test('a duration may have several parts', () => {
  expect(['1h30m', '90s', '1.5h', '10m 5s', 'm', '', '1h30'].map(durationMs)).toEqual([
    5_400_000,
    90_000,
    5_400_000,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('the person and an administrator can choose what follows an unverified change', async () => {
  expect((await load({ [own]: { verifyChanges: 'off' } })).settings).toEqual({ verifyChanges: 'off' })
  const both = await load({ [own]: { verifyChanges: 'off' }, [managed]: { verifyChanges: 'ask' } })
  expect(both.settings.verifyChanges).toBe('ask')
  for (const verifyChanges of ['ask', 'tell', 'off']) {
    const { settings, warnings } = await load({ [shared]: { verifyChanges } })
    expect([settings, warnings.length]).toEqual([{}, 1])
  }
  const { settings, warnings } = await load({ [own]: { verifyChanges: true } })
  expect(settings).toEqual({})
  expect(warnings.join('')).toContain('one of ask, tell, off')
})
