// Holds R-PROF-1 of docs/spec: who may choose the tool profile, and in which order.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'

interface Files {
  readonly own?: unknown
  readonly shared?: unknown
  readonly managed?: unknown
}

const paths = {
  own: 'home/.halting/settings.json',
  shared: 'project/.halting/settings.json',
  managed: 'managed/managed-settings.json',
}

async function profileOf(
  files: Files,
  { chosen, trustedBy = false }: { readonly chosen?: string; readonly trustedBy?: string | false } = {},
): Promise<readonly unknown[]> {
  const root = mkdtempSync(join(tmpdir(), 'halting-profile-settings-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const owner = {
    cwd: join(root, 'project'),
    home: join(root, 'home'),
    env: {},
    managedFolders: [join(root, 'managed')],
  }
  mkdirSync(owner.cwd, { recursive: true })
  for (const name of ['own', 'shared', 'managed'] as const) {
    if (files[name] === undefined) continue
    const path = join(root, paths[name])
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify({ toolProfile: files[name] }))
  }
  const given = chosen === undefined ? {} : { chosen: { name: '--tool-profile', content: { toolProfile: chosen } } }
  const { settings, origins } = await loadSettings({ ...owner, ...given, trustedBy })
  const offers = (await projectOffers(owner)).map(({ setting, text }) => `${setting}: ${text}`)
  return [
    settings.toolProfile,
    origins.find(({ setting }) => setting === 'toolProfile')?.from.slice(root.length),
    ...offers,
  ]
}

test('the person chooses, the flag precedes the file, and an administrator precedes both', async () => {
  expect(await profileOf({})).toEqual([undefined, undefined])
  expect(await profileOf({ own: 'small' })).toEqual(['small', `/${paths.own}`])
  expect((await profileOf({ own: 'small' }, { chosen: 'codex' }))[0]).toBe('codex')
  expect((await profileOf({ own: 'small' }, { chosen: 'default' }))[0]).toBe('default')
  expect((await profileOf({ managed: 'default', own: 'small' }, { chosen: 'codex' }))[0]).toBe('default')
})

test('a project chooses if its folder is trusted', async () => {
  expect(await profileOf({ shared: 'codex' })).toEqual([undefined, undefined, 'toolProfile: codex'])
  expect((await profileOf({ shared: 'codex' }, { trustedBy: 'flag' }))[0]).toBe('codex')
})

test.each(['Codex', '', true, null, ['small']])('%j is refused, with the valid names', async (own) => {
  await expect(profileOf({ own })).rejects.toThrow('toolProfile must be one of default, codex, small')
})
