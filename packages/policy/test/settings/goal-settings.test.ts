// Holds R-GOAL-40 of docs/spec: goals and protected files in settings.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { durationMs } from '@halting/core/adapters'
import type { LoadedSettings } from '../../src/settings/loaded-settings.ts'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'

/** Creates files in a project and in the person's folder, and loads the settings. */
async function load(
  files: Readonly<Record<string, object>>,
  trustedBy: string | false = false,
): Promise<LoadedSettings & { readonly offers: readonly string[] }> {
  const root = mkdtempSync(join(tmpdir(), 'halting-goal-settings-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const owner = { cwd: join(root, 'project'), home: join(root, 'home'), env: {} }
  for (const [name, content] of Object.entries(files)) {
    const path = name.startsWith('~/') ? join(owner.home, name.slice(2)) : join(owner.cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(content))
  }
  const offers = await projectOffers(owner)
  return {
    ...(await loadSettings({ ...owner, trustedBy })),
    offers: offers.map(({ setting, text }) => `${setting} ${text}`),
  }
}

const ofProject = { until: ['npm test', 'npm run lint'], untilTries: 3, untilTimeout: '5m', protect: ['tests/**'] }

test('goals of the person apply', async () => {
  const { settings } = await load({ '~/.halting/settings.json': ofProject })
  expect(settings).toEqual(ofProject)
})

test('goals of the project apply if its folder is trusted, and are reported as ignored otherwise', async () => {
  const files = { '.halting/settings.json': ofProject }
  const { settings, ignored, offers } = await load(files)
  expect(settings).toEqual({})
  expect(ignored.map(({ setting, text }) => `${setting} ${text}`)).toEqual(offers)
  expect(offers.toSorted()).toEqual([
    'protect tests/**',
    'until npm run lint',
    'until npm test',
    'untilTimeout 5m',
    'untilTries 3',
  ])
  expect((await load(files, '--trust')).settings).toEqual(ofProject)
})

test("the commands of the file with the highest precedence apply, and every file's protected files are protected", async () => {
  const files = {
    '~/.halting/settings.json': { until: ['make'], untilTries: 9, protect: ['docs/**', 'tests/**'] },
    '.halting/settings.json': ofProject,
    '.halting/settings.local.json': { until: ['npm run check'] },
  }
  const { settings } = await load(files, '--trust')
  expect(settings).toEqual({
    until: ['npm run check'],
    untilTries: 3,
    untilTimeout: '5m',
    protect: ['tests/**', 'docs/**'],
  })
})

const wrong: readonly object[] = [
  { until: 'npm test' },
  { until: [''] },
  { untilTries: 0 },
  { untilTries: 1001 },
  { untilTries: 1.5 },
  { untilTimeout: 600 },
  { untilTimeout: 'soon' },
  { untilTimeout: '0s' },
  { protect: [1] },
]
test.each(wrong)('%j stops the program, with the expected value', async (setting) => {
  await expect(load({ '~/.halting/settings.json': setting })).rejects.toThrow(Object.keys(setting)[0])
})

test('durations need a unit', () => {
  expect(['500ms', '90s', '10m', '1.5h', ' 2s '].map(durationMs)).toEqual([500, 90_000, 600_000, 5_400_000, 2_000])
  expect(['10', 's', '1d', '-1s', '1e3s', ''].map(durationMs)).toEqual(Array.from({ length: 6 }, () => undefined))
})
