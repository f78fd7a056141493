// Holds R-SERV-12 and R-SERV-13 of docs/spec: how long runs wait for services, by flags, settings and the defaults of frontends.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { settingsOf, type WaitDefault } from '@halting/agent/session-settings'
import { describe, expect, onTestFinished, test } from 'vitest'
import { flagsWithOpening, openingFromFlags, parseOpening } from '../src/cluster/session-opening.ts'
import type { Flags } from '../src/flags/flags.ts'
import { waitOfPeople } from '../src/flags/run-limit.ts'
import { flagOf } from '../src/flags/session-ports.ts'
import { here, installProgram, run, runHere } from './support/program.ts'

installProgram()

const hour = 3_600_000

interface WaitSettings {
  readonly own?: object
  readonly project?: object
  readonly flags?: Flags
  readonly waitDefault?: WaitDefault
  readonly choicesOnlyLower?: boolean
}

async function waitOf({ own = {}, project = {}, flags = {}, ...options }: WaitSettings) {
  const home = mkdtempSync(join(tmpdir(), 'halting-wait-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const cwd = join(home, 'project')
  for (const [folder, settings] of [
    [home, own],
    [cwd, project],
  ] as const) {
    mkdirSync(join(folder, '.halting'), { recursive: true })
    writeFileSync(join(folder, '.halting', 'settings.json'), JSON.stringify(settings))
  }
  const ports = { cwd, env: { HOME: home }, nameOf: flagOf, wordNotice: () => '', trustedBy: undefined }
  const { choices, waitSource, warnings } = await settingsOf(flags, ports, options)
  return { ms: choices.waitForLimits, by: waitSource, warnings }
}

describe("the source of a run's wait limit", () => {
  const wait = (waitForLimits: string) => ({ waitForLimits })
  test.each<readonly [string, WaitSettings, number | undefined, string | undefined]>([
    ['nobody', {}, undefined, undefined],
    ['the default of a frontend', { waitDefault: waitOfPeople }, 24 * hour, 'default'],
    ['the person, in a file', { own: wait('8h'), waitDefault: waitOfPeople }, 8 * hour, 'settings'],
    ['the person, in a file: not at all', { own: wait('none'), waitDefault: waitOfPeople }, 0, 'settings'],
    ['a flag before files', { own: wait('8h'), flags: { waitForLimits: 9 * hour } }, 9 * hour, 'choice'],
    ['a project that lowers', { own: wait('8h'), project: wait('1h') }, hour, 'settings'],
    ['a project that lowers a default', { project: wait('1h'), waitDefault: waitOfPeople }, hour, 'settings'],
    ['not a project that raises', { project: wait('1h') }, undefined, undefined],
    [
      'who opens a session elsewhere, up to what its settings say',
      { own: wait('1h'), flags: { waitForLimits: hour / 2 }, choicesOnlyLower: true },
      hour / 2,
      'choice',
    ],
  ])('%s', async (_who, said, ms, by) => expect(await waitOf(said)).toEqual({ ms, by, warnings: [] }))

  test('ignores a higher limit for a session that is opened elsewhere, and says so', async () => {
    const said = { own: { waitForLimits: '1h' }, flags: { waitForLimits: 2 * hour }, choicesOnlyLower: true }
    const { ms, warnings } = await waitOf(said)
    expect([ms, warnings]).toEqual([hour, [expect.stringMatching(/^--wait-for-limits is ignored: .*3600 s/)]])
  })
})

test("applies the opening's limit to a cluster session, up to that of its worker", () => {
  const opening = parseOpening({ ...openingFromFlags({ waitForLimits: 2 * hour }) })
  expect(flagsWithOpening({}, opening).waitForLimits).toBe(2 * hour)
  expect(flagsWithOpening({ waitForLimits: hour }, opening).waitForLimits).toBe(hour)
  expect(flagsWithOpening({ waitForLimits: hour }, parseOpening({})).waitForLimits).toBe(hour)
  expect(flagsWithOpening({ waitForLimits: hour }, openingFromFlags({ waitForLimits: 0 })).waitForLimits).toBe(0)
  for (const wrong of [-1, '8h', 32 * 24 * hour, null])
    expect(() => parseOpening({ waitForLimitsMs: wrong })).toThrow(
      'waitForLimitsMs in the session options must be a number',
    )
})

test('is named by check and config, and refused if invalid', async () => {
  const options = { cwd: here(), env: { HOME: here() } }
  const checked = await run(['check', '--wait-for-limits', '8h', '--model', 'claude-sonnet-4-5'], options)
  expect(checked.stdout).toContain('--wait-for-limits (8 h) bounds them by the wall clock')
  const json = await runHere(['check', '--json', '--wait-for-limits', '90s', '--model', 'claude-sonnet-4-5'], options)
  expect(JSON.parse(json.stdout)).toMatchObject({ waitForLimitsMs: 90_000 })
  const shown = await runHere(['config', '--json'], options)
  expect((JSON.parse(shown.stdout) as { settings: unknown[] }).settings).toContainEqual({
    setting: 'waitForLimits',
    value: 'none',
    from: 'default of -p; 24h in the interactive program and in editors',
  })
  const refused = await run(['-p', 'x', '--wait-for-limits', '40d'], options)
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringContaining('such as 90s or 8h (at most 744h), or none'),
  ])
})
