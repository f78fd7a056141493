// Holds R-SEARCH-22 of docs/spec: the person, an administrator and a trusted project can choose who searches the web.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'

async function load(files: { readonly own?: object; readonly shared?: object; readonly managed?: object }, trustedBy: false | 'flag' = false) {
  const root = mkdtempSync(join(tmpdir(), 'halting-search-settings-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const owner = { cwd: join(root, 'project'), home: join(root, 'home'), env: {}, managedFolders: [join(root, 'managed')] }
  const paths = { own: 'home/.halting/settings.json', shared: 'project/.halting/settings.json', managed: 'managed/managed-settings.json' }
  mkdirSync(owner.cwd, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, paths[name as keyof typeof paths])
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(content))
  }
  const offers = (await projectOffers(owner)).map(({ setting, text }) => `${setting}: ${text}`)
  const { settings, warnings } = await loadSettings({ ...owner, trustedBy, nearest: () => undefined })
  return { webSearch: settings.webSearch, warnings: warnings.length, offers }
} // prettier-ignore

const server = { webSearch: { mcp: 'search/web/find' } }

test('a person chooses who searches, and an administrator can choose for them', async () => {
  expect(await load({ own: server })).toEqual({ webSearch: server.webSearch, warnings: 0, offers: [] })
  expect((await load({ own: server, managed: { webSearch: 'off' } })).webSearch).toBe('off')
})

test('a project chooses if its folder is trusted, and its choice is part of the question', async () => {
  const offers = ['webSearch: {"mcp":"search/web/find"}']
  expect(await load({ shared: server })).toMatchObject({ webSearch: undefined, offers })
  expect(await load({ shared: server }, 'flag')).toMatchObject({ webSearch: server.webSearch })
})

test.each([
  'on',
  true,
  { mcp: 'search' },
  { mcp: '/web' },
  { mcp: 'search/' },
  { mcp: 'search/web', by: 'me' },
  {},
  ['off'],
])('%j is refused, with the valid values', async (webSearch) => {
  await expect(load({ own: { webSearch } })).rejects.toThrow(
    'webSearch must be auto, service, off, or {"mcp": "server/tool"}',
  )
})
