// Holds R-RULE-7q of docs/spec for the sandbox: it protects the hooks and settings that git would read, however the settings are written.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gitPlacesIn } from '../../src/sandbox/git-places.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

function placesWith(config: string): { readonly readOnly: readonly string[]; readonly made: readonly string[] } {
  const root = temporaryFolder()
  for (const folder of ['.git/objects', '.git/refs', 'hooks', 'ho#oks'])
    mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'more'), '')
  writeFileSync(join(root, '.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(root, '.git/config'), config)
  const { readOnly, madeFiles: made } = gitPlacesIn(root, false)
  const inRoot = (path: string): string => path.slice(root.length + 1)
  return { readOnly: readOnly.map(({ path }) => inRoot(path)), made: made.map(({ path }) => inRoot(path)) }
}

test.each([
  ['[core]\n\thooksPath = ho"ok"s ; comment\n', 'hooks'],
  ['[core]\n\thooksPath = \\\n  hooks\n', 'hooks'],
  ['[CORE]HooksPath="ho""oks"\n', 'hooks'],
  ['[core]\n\thooksPath = "ho#oks"\n', 'ho#oks'],
  ['[core]\n\thooksPath = ho"#"oks # x\n', 'ho#oks'],
  ['[include]\n\tpath = "../mo""re"\n', 'more'],
  ['[includeIf "gitdir:/x]"]\n\tpath = ../more\n', 'more'],
])('%j: %s is read-only', (config, place) => {
  expect(placesWith(config).readOnly).toContain(place)
})

test.each([
  ['[other]\n\thooksPath = hooks\n', 'hooks'],
  ['[core]\n\tx = "\\nhooksPath = hooks"\n', 'hooks'],
])('%j: %s is not read-only', (config, place) => {
  expect(placesWith(config).readOnly).not.toContain(place)
})

test.each([
  ['[core]\n\tbare\n', false],
  ['[core]\n\tbare = t"ru"e\n', false],
  ['[core] worktree = x\n', false],
  ['[core]\n\tbare = false\n', true],
  ['[x]\n\tbare = true\n', true],
])('%j: a file is created for the common folder: %s', (config, isMade) => {
  expect(placesWith(config).made.includes('.git/commondir')).toBe(isMade)
})
