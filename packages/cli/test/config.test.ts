// Holds rules of docs/spec: R-TRUST-9, R-TRUST-9a: `halting config` reports the effective settings, tested with the real program.
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { here, installProgram, run } from './support/program.ts'

installProgram()

let [home, project] = ['', '']
beforeEach(() => {
  const root = realpathSync(mkdtempSync(join(here(), 'config-')))
  ;[home, project] = [join(root, 'home'), join(root, 'project')]
  for (const folder of [home, join(project, '.claude')]) mkdirSync(folder, { recursive: true })
})

function lay(path: string, content: unknown): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const halting = (...args: readonly string[]): ReturnType<typeof run> => run(args, { cwd: project, env: { HOME: home } })

const byDefault = [
  { setting: 'limits.maxRunUsd', value: 10, from: 'default of -p and the interactive program' },
  { setting: 'waitForLimits', value: 'none', from: 'default of -p; 24h in the interactive program and in editors' },
]

async function report(): Promise<{ readonly settings: readonly object[]; readonly ignored: readonly object[]; readonly text: string }> {
  const { stdout } = await halting('config', '--json')
  // True: it is the output of --json.
  return { ...(JSON.parse(stdout) as Awaited<ReturnType<typeof report>>), text: stdout + (await halting('config')).stdout }
} // prettier-ignore

test('does not report ignored settings as effective', async () => {
  const mine = lay(join(home, '.claude/settings.json'), {
    model: 'm\u001b]0;x\u0007',
    env: { HOME: '/elsewhere', LANG: 'C' },
    permissions: {
      defaultMode: 'bypassPermissions',
      disableBypassPermissionsMode: 'disable',
      additionalDirectories: ['gone'],
    },
    disableAllHooks: true,
    hooks: { Stop: [{ hooks: [{ type: 'command', command: 'true' }] }] },
  })
  const { settings, ignored } = await report()
  expect(settings).toEqual([
    { setting: 'env.LANG', value: '(set)', from: mine },
    { setting: 'permissions.disableBypassPermissionsMode', value: 'disable', from: mine },
    { setting: 'disableAllHooks', value: true, from: mine },
    ...byDefault,
  ])
  expect(ignored).toEqual([{ setting: 'hooks', text: 'Stop', from: mine, why: `disableAllHooks in ${mine}` }])
})

test('hides headers of hooks, whether they apply or not', async () => {
  const hook = { type: 'http', url: 'https://a.example/', headers: { authorization: 'Bearer }geheim' } }
  lay(join(home, '.claude/settings.json'), { hooks: { Stop: [{ hooks: [hook] }] } })
  lay(join(project, '.claude/settings.json'), { hooks: { PreToolUse: [{ hooks: [hook] }] } })
  const { text, settings, ignored } = await report()
  expect(text).not.toContain('geheim')
  expect([JSON.stringify(settings), JSON.stringify(ignored)]).toEqual([
    expect.stringContaining('"headers":{"authorization":"(set)"}'),
    expect.stringContaining('(set)'),
  ])
})

test.each([
  ['no JSON', '{"a":', 'is not valid JSON: Unexpected end of JSON input (line 1). Fix or delete it.'],
  ['no object', '[]', 'must contain one JSON object.'],
  ['a folder', undefined, 'cannot be read: it is not a regular file. Fix or delete it, or ignore project settings with --setting-sources user.'],
])('reports a file that stops the program, %s, as a problem, also as JSON', async (_what, text, problem) => {
  const path = join(project, '.claude/settings.json')
  if (text === undefined) mkdirSync(path)
  else lay(path, text)
  const json = await halting('config', '--json')
  expect([json.status, json.stderr, JSON.parse(json.stdout)]).toEqual([2, '', { problems: [expect.stringContaining(problem)] }])
  const plain = await halting('config')
  expect([plain.status, plain.stdout]).toEqual([2, expect.stringContaining(problem)])
  const without = await halting('config', '--setting-sources', 'user')
  expect(without.status).toBe(0)
}) // prettier-ignore

test('reports a model that looks like a key without repeating it, and runs with the default', async () => {
  lay(join(home, '.claude/settings.json'), { model: 'sk-ant-api03-geheimgeheimgeheimgeheim' })
  const { status, stdout } = await halting('config')
  expect([status, stdout]).toEqual([0, expect.stringContaining('model in the settings is ignored: ')])
  expect(stdout).not.toContain('geheim')
})

test('names allow rules that let any program run, also as JSON', async () => {
  const mine = lay(join(home, '.claude/settings.json'), {
    permissions: { allow: ['Bash(git *)', 'Bash(git status)'], deny: ['Bash(npm *)'] },
  })
  const { settings, text } = await report()
  const runsAnything = 'This rule lets git run any program (aliases, hooks, -c).'
  expect(settings).toEqual([
    { setting: 'permissions.allow', value: 'Bash(git *)', from: mine, runsAnything },
    { setting: 'permissions.allow', value: 'Bash(git status)', from: mine },
    { setting: 'permissions.deny', value: 'Bash(npm *)', from: mine },
    ...byDefault,
  ])
  expect(text).toContain(`permissions.allow = Bash(git *)  ${mine}\n    ${runsAnything}\n  permissions.allow`)
})
