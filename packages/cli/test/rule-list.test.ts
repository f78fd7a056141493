// Holds rules of docs/spec: R-TERM-67a.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPermissions } from '@halting/policy'
import type { PermissionUpdate } from '@halting/core/adapters'
import { expect, onTestFinished, test } from 'vitest'
import { listRules, removeRule } from '../src/permissions/rule-list.ts'

const learned: readonly PermissionUpdate[] = [
  {
    type: 'addRules',
    behavior: 'allow',
    rules: [{ toolName: 'Bash', ruleContent: 'make' }],
    destination: 'session',
  },
]

/** A session as the list sees it, with rules of every origin. */
function session(own: object, local: object) {
  const root = mkdtempSync(join(tmpdir(), 'halting-rules-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [home, cwd] = [join(root, 'home'), join(root, 'project')]
  mkdirSync(join(home, '.halting'), { recursive: true })
  mkdirSync(join(cwd, '.claude'), { recursive: true })
  const files = { own: join(home, '.halting/settings.json'), local: join(cwd, '.claude/settings.local.json') }
  writeFileSync(files.own, JSON.stringify(own, undefined, 2))
  writeFileSync(files.local, JSON.stringify(local, undefined, 2))
  const env = { HOME: home }
  const flags = { trust: true, allowedTools: ['Edit'], settings: '{"permissions":{"ask":["Bash(git push *)"]}}' }
  const permissions = createPermissions({
    cwd,
    env,
    allow: ['Bash(npm test *)', 'Bash(npm test *)', 'Edit'],
    deny: ['Read(./.env)'],
    ask: ['Bash(git push *)'],
  })
  const live = {
    run: { choices: flags, env },
    session: { snapshot: { cwd } },
    toolbox: { permissions },
    journal: { ended: [{ spent: { settings: { permissionUpdates: learned } } }] },
  }
  // True: everything that the list reads is there.
  return { live: live as unknown as Parameters<typeof listRules>[0], permissions, files }
}

const own = { model: 'x', permissions: { allow: ['Bash(npm test *)'], deny: ['Read(./.env)'] } }

test('lists rules as written, in order of precedence, with their sources', async () => {
  const { live } = session(own, { permissions: { allow: ['Bash(npm test *)', 'Bash(new)'] } })
  const rows = (await listRules(live)).map(({ behavior, rule, place, isInForce }) => [behavior, rule, place, isInForce])
  expect(rows).toEqual([
    ['deny', 'Read(./.env)', '~/.halting/settings.json', true],
    ['ask', 'Bash(git push *)', '--settings', true],
    ['allow', 'Bash(npm test *)', '.claude/settings.local.json', true],
    ['allow', 'Bash(new)', '.claude/settings.local.json', false],
    ['allow', 'Bash(npm test *)', '~/.halting/settings.json', true],
    ['allow', 'Edit', '--allowedTools', true],
    ['allow', 'Bash(make)', 'this session', true],
  ])
})

test('removes a rule from its file; the rule still applies as long as another file contains it', async () => {
  const { live, permissions, files } = session(own, { permissions: { allow: ['Bash(npm test *)'] } })
  const allows = (): boolean => permissions.explain('npm test x').behavior === 'allow'
  const listed = async () => (await listRules(live)).filter(({ rule }) => rule === 'Bash(npm test *)')
  const [first] = await listed()
  expect(await removeRule(first!, live)).toBe(
    'Removed allow Bash(npm test *) from .claude/settings.local.json. It still applies because of ~/.halting/settings.json.',
  )
  expect([JSON.parse(readFileSync(files.local, 'utf8')), allows()]).toEqual([{ permissions: { allow: [] } }, true])
  const [second] = await listed()
  expect(await removeRule(second!, live)).toBe(
    'Removed allow Bash(npm test *) from ~/.halting/settings.json. Such calls now ask.',
  )
  expect([JSON.parse(readFileSync(files.own, 'utf8')), allows()]).toEqual([
    { model: 'x', permissions: { allow: [], deny: ['Read(./.env)'] } },
    false,
  ])
  expect(await listed()).toEqual([])
  expect(await removeRule(second!, live)).toContain('no longer contains Bash(npm test *)')
})

test('keeps a deny rule until the next session, says why those of flags stay, and removes one of the session', async () => {
  const { live, permissions, files } = session(own, {})
  const says = await Promise.all(
    (await listRules(live)).filter(({ rule }) => !rule.startsWith('Bash(npm')).map((each) => removeRule(each, live)),
  )
  expect(says).toEqual([
    'Removed deny Read(./.env) from ~/.halting/settings.json. It still applies to this session, but not to the next.',
    'Bash(git push *) cannot be removed: it comes from the flag --settings.',
    'Edit cannot be removed: it comes from the flag --allowedTools; start without it.',
    'Removed allow Bash(make) from this session. Such calls now ask. It applies again when this session is resumed.',
  ])
  expect(readFileSync(files.own, 'utf8')).not.toContain('.env')
  expect(permissions.rules({ learned }).map(({ rule }) => rule)).not.toContain('Bash(make)')
})
