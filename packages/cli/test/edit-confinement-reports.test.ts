// Holds R-EFRONT-3 and R-EFRONT-3a of docs/spec.md: what `doctor`, `config` and `permissions` report of the confinement in acceptEdits.
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { allMeans } from '../../policy/test/confine/support.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

/** A person with a project, and with no program on their path but these. */
function person(): {
  readonly home: string
  readonly project: string
  readonly bin: string
  readonly halting: (
    args: readonly string[],
    at?: { readonly cwd?: string; readonly path?: string },
  ) => ReturnType<typeof run>
} {
  const root = realpathSync(mkdtempSync(join(here(), 'reports-')))
  const [home, project, bin] = ['home', 'project', 'bin'].map((name) => join(root, name)) as [string, string, string]
  for (const folder of [join(home, '.halting'), project, bin]) mkdirSync(folder, { recursive: true })
  return {
    home,
    project,
    bin,
    halting: (args, { cwd = project, path = process.env['PATH'] ?? '' } = {}) =>
      run(args, { cwd, env: { HOME: home, PATH: path } }),
  }
}

function jsonOf({ stdout }: Awaited<ReturnType<typeof run>>): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(stdout)
  return isJsonObject(value) ? value : {}
}

function findingOf(report: Readonly<Record<string, unknown>>): unknown {
  const { findings } = report
  return Array.isArray(findings)
    ? findings.find((one) => isJsonObject(one) && one['what'] === 'acceptEdits')
    : undefined
}

const canConfine = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

describe.skipIf(process.platform !== 'linux')('On Linux', () => {
  test('doctor says what to install where bubblewrap is missing, and where it may not make namespaces', async () => {
    const { halting, bin } = person()
    expect(findingOf(jsonOf(await halting(['doctor', '--json'], { path: bin })))).toEqual({
      what: 'acceptEdits',
      state: 'note',
      says: 'in acceptEdits, commands without a rule ask: bubblewrap is missing',
      todo: expect.stringContaining('apt install bubblewrap'),
    })
    const fails = (says: string): void =>
      writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\necho "bwrap: ${says}" >&2\nexit 1\n`, { mode: 0o755 })
    fails('No permissions to create new namespace')
    expect(findingOf(jsonOf(await halting(['doctor', '--json'], { path: bin })))).toMatchObject({
      state: 'note',
      says: expect.stringContaining('ask: bubblewrap is not allowed to make namespaces'),
      todo: expect.stringContaining('user namespaces'),
    })
    expect((await halting(['config'], { path: bin })).stdout).toContain('bubblewrap is not allowed to make namespaces')
    fails("Can't mount proc on /newroot/proc: Operation not permitted")
    expect(findingOf(jsonOf(await halting(['doctor', '--json'], { path: bin })))).toMatchObject({
      state: 'note',
      todo: expect.stringContaining('systempaths=unconfined'),
    })
    fails('it fell')
    expect(findingOf(jsonOf(await halting(['doctor', '--json'], { path: bin })))).toMatchObject({
      state: 'note',
      says: 'in acceptEdits, commands without a rule ask: commands cannot be confined to this folder (bwrap: it fell)',
      todo: expect.stringContaining('to see what fails here'),
    })
  })

  test('doctor and permissions say what to do where the workspace is the home folder', async () => {
    const { halting, home } = person()
    expect(findingOf(jsonOf(await halting(['doctor', '--json'], { cwd: home })))).toMatchObject({
      state: 'note',
      todo: 'Start halting in a folder below your home folder.',
    })
    const flags = ['--permission-mode', 'acceptEdits']
    const { stdout, status } = await halting(['permissions', 'npm test', ...flags], { cwd: home })
    expect([status, stdout.split('\n')[1]]).toEqual([
      1,
      expect.stringMatching(/^Commands are not confined to the workspace: .* Start halting in a folder below/),
    ])
  })
})

test.each([
  ['{"sandbox":{"autoAllowBashIfSandboxed":false}}', 'sandbox.autoAllowBashIfSandboxed is false'],
  ['{"confineJudged":"off"}', 'confineJudged is off'],
])('with %s doctor and config report a choice, and permissions why it asks', async (settings, why) => {
  const { halting, home } = person()
  writeFileSync(join(home, '.halting/settings.json'), settings)
  const says = `in acceptEdits, commands without a rule ask: ${why}`
  expect(findingOf(jsonOf(await halting(['doctor', '--json'])))).toEqual({ what: 'acceptEdits', state: 'good', says })
  const report = await halting(['config', '--json'])
  expect([jsonOf(report)['editConfinement'], report.stderr]).toEqual([says, ''])
  const flags = ['--permission-mode', 'acceptEdits']
  expect((await halting(['permissions', 'npm test', ...flags])).stdout.split('\n')[1]).toBe(
    `Commands are not confined to the workspace: ${why}.`,
  )
  expect((await halting(['permissions', 'npm test'])).stdout).not.toContain('confined to the workspace')
})

test('with the sandbox on there is one line for both (spec R-EFRONT-1a)', async () => {
  const { halting, home } = person()
  writeFileSync(join(home, '.halting/settings.json'), '{"sandbox":{"enabled":true}}')
  expect((await halting(['config'])).stdout).toMatch(/\nConfinement\n {2}All commands run in the sandbox\n$/)
  expect(findingOf(jsonOf(await halting(['doctor', '--json'])))).toBeUndefined()
})

describe.skipIf(!canConfine)('Where commands can be confined to the workspace (needs bubblewrap)', () => {
  test('config says whether hosts are asked, and the key alone turns on no sandbox', async () => {
    const { halting, home } = person()
    const byDefault = await halting(['config'])
    expect(byDefault.stdout).toContain('run confined to the workspace by bubblewrap; hosts and editors are asked')
    writeFileSync(join(home, '.halting/settings.json'), '{"sandbox":{"autoAllowBashIfSandboxed":true}}')
    const { stdout, stderr } = await halting(['config'])
    expect([stderr, stdout]).toEqual(['', expect.stringMatching(/run confined to the workspace by bubblewrap\n/)])
    expect(stdout).not.toContain('All commands run in the sandbox')
  })

  test('permissions says that a command runs confined to the workspace, in acceptEdits alone', async () => {
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
