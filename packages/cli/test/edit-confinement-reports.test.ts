// Holds R-EFRONT-3 and R-EFRONT-3a of docs/spec: what `doctor`, `config` and `permissions` report of the confinement in acceptEdits.
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Settings } from '@halting/policy/settings'
import { describe, expect, test } from 'vitest'
import { allMeans } from '../../policy/test/confine/support.ts'
import { programFindings } from '../src/doctor/programs.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

interface Person {
  readonly home: string
  readonly project: string
  /** An empty folder for programs. */
  readonly bin: string
  readonly halting: (args: readonly string[], at?: { readonly cwd?: string }) => ReturnType<typeof run>
}

function person(): Person {
  const root = realpathSync(mkdtempSync(join(here(), 'reports-')))
  const [home, project, bin] = ['home', 'project', 'bin'].map((name) => join(root, name)) as [string, string, string]
  for (const folder of [join(home, '.halting'), project, bin]) mkdirSync(folder, { recursive: true })
  return { home, project, bin, halting: (args, { cwd = project } = {}) => run(args, { cwd, env: { HOME: home } }) }
}

function jsonOf({ stdout }: Awaited<ReturnType<typeof run>>): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(stdout)
  return isJsonObject(value) ? value : {}
}

const canConfine = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

/** The findings of `halting doctor` about this, in this process. */
async function finding(
  at: Person,
  more: { readonly cwd?: string; readonly settings?: Settings } = {},
): Promise<unknown> {
  const patient = { flags: {}, env: { PATH: at.bin, HOME: at.home }, cwd: more.cwd ?? at.project, home: at.home }
  const findings = await programFindings(patient, more.settings ?? {})
  return findings.find(({ what }) => what === 'acceptEdits')
}

describe.skipIf(process.platform !== 'linux')('On Linux', () => {
  const asks = 'in acceptEdits, commands without a rule ask: '

  test('doctor says what to install if bubblewrap is missing', async () => {
    expect(await finding(person())).toEqual({
      what: 'acceptEdits',
      state: 'note',
      says: `${asks}bubblewrap is missing`,
      todo: expect.stringContaining('apt install bubblewrap'),
    })
  })

  test.each([
    ['No permissions to create new namespace', 'bubblewrap is not allowed to make namespaces', 'user namespaces'],
    [
      "Can't mount proc on /newroot/proc: Operation not permitted",
      'bubblewrap cannot give commands a /proc of their own here',
      'systempaths=unconfined',
    ],
    ['it fell', 'commands cannot be confined to this folder (bwrap: it fell)', 'to see what fails here'],
  ])('doctor says what to do if bubblewrap says %s', async (says, why, todo) => {
    const at = person()
    writeFileSync(join(at.bin, 'bwrap'), `#!/bin/sh\necho "bwrap: ${says}" >&2\nexit 1\n`, { mode: 0o755 })
    expect(await finding(at)).toMatchObject({
      state: 'note',
      says: expect.stringContaining(asks + why),
      todo: expect.stringContaining(todo),
    })
  })

  test('doctor and permissions say what to do if the workspace is the home directory', async () => {
    const at = person()
    expect(await finding(at, { cwd: at.home })).toMatchObject({
      state: 'note',
      todo: 'Start halting in a folder below your home folder.',
    })
    const flags = ['--permission-mode', 'acceptEdits']
    const { stdout, status } = await at.halting(['permissions', 'npm test', ...flags], { cwd: at.home })
    expect([status, stdout.split('\n')[1]]).toEqual([
      1,
      expect.stringMatching(/^Commands are not confined to the workspace: .* Start halting in a folder below/),
    ])
  })
})

test.each([
  ['{"sandbox":{"autoAllowBashIfSandboxed":false}}', 'sandbox.autoAllowBashIfSandboxed is false'],
  ['{"confineJudged":"off"}', 'confineJudged is off'],
])('doctor and config report a choice with %s, and permissions says why it asks', async (text, why) => {
  const at = person()
  const { halting, home } = at
  writeFileSync(join(home, '.halting/settings.json'), text)
  const says = `in acceptEdits, commands without a rule ask: ${why}`
  const settings = JSON.parse(text) as JsonObject
  const { sandbox, ...others } = settings
  const merged = { ...others, ...(isJsonObject(sandbox) && { sandbox: [sandbox] }) }
  expect(await finding(at, { settings: merged })).toEqual({ what: 'acceptEdits', state: 'good', says })
  const report = await halting(['config', '--json'])
  expect([jsonOf(report)['editConfinement'], report.stderr]).toEqual([says, ''])
  const flags = ['--permission-mode', 'acceptEdits']
  expect((await halting(['permissions', 'npm test', ...flags])).stdout.split('\n')[1]).toBe(
    `Commands are not confined to the workspace: ${why}.`,
  )
  expect((await halting(['permissions', 'npm test'])).stdout).not.toContain('confined to the workspace')
})

test('reports both in one line with the sandbox on (spec R-EFRONT-1a)', async () => {
  const at = person()
  const { halting, home } = at
  writeFileSync(join(home, '.halting/settings.json'), '{"sandbox":{"enabled":true}}')
  expect((await halting(['config'])).stdout).toMatch(/\nConfinement\n {2}All commands run in the sandbox\n$/)
  expect(await finding(at, { settings: { sandbox: [{ enabled: true }] } })).toBeUndefined()
})

describe.skipIf(!canConfine)('Where commands can be confined to the workspace (needs bubblewrap)', () => {
  test('config says whether hosts are asked, and the setting alone turns on no sandbox', async () => {
    const { halting, home } = person()
    const byDefault = await halting(['config'])
    expect(byDefault.stdout).toContain('run confined to the workspace by bubblewrap; hosts and editors are asked')
    writeFileSync(join(home, '.halting/settings.json'), '{"sandbox":{"autoAllowBashIfSandboxed":true}}')
    const { stdout, stderr } = await halting(['config'])
    expect([stderr, stdout]).toEqual(['', expect.stringMatching(/run confined to the workspace by bubblewrap\n/)])
    expect(stdout).not.toContain('All commands run in the sandbox')
  })

  test('permissions says that a command runs confined to the workspace, only in acceptEdits', async () => {
    const { halting } = person()
    const flags = ['--permission-mode', 'acceptEdits']
    const { stdout, status } = await halting(['permissions', 'npm test', ...flags])
    expect([status, stdout.split('\n').slice(0, 2)]).toEqual([
      0,
      [
        'Allowed (acceptEdits).',
        'It runs confined: it changes only the directories of the session and /tmp, and has no network.',
      ],
    ])
    const kindOf = async (...args: readonly string[]): Promise<unknown> =>
      jsonOf(await halting(['permissions', ...args, '--json']))['confinement']
    expect(await kindOf('npm test', ...flags)).toBe('edit')
    expect(await kindOf('npm test')).toBe(null)
    expect(await kindOf('npm test', ...flags, '--allowedTools', 'Bash(npm test)')).toBe(null)
    expect(await kindOf('cat a.txt', ...flags)).toBe('read')
  })
})
