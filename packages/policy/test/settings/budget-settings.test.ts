// Holds rules of docs/spec: R-STAND-20 and R-STAND-21: standing budgets in settings.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { LoadedSettings } from '../../src/settings/loaded-settings.ts'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'

const own = 'home/.halting/settings.json'
const shared = 'project/.halting/settings.json'
const local = 'project/.halting/settings.local.json'
const managed = 'managed/managed-settings.json'

async function load(files: Readonly<Record<string, object | string>>, trustedBy: string | false = false) {
  const root = mkdtempSync(join(tmpdir(), 'halting-budget-settings-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const owner = {
    cwd: join(root, 'project'),
    home: join(root, 'home'),
    env: {},
    managedFolders: [join(root, 'managed')],
  }
  for (const folder of ['project', 'home', 'managed']) mkdirSync(join(root, folder))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  const nearest = (name: string, known: readonly string[]): string | undefined =>
    known.find((one) => one.startsWith(name))
  const loaded: LoadedSettings = await loadSettings({ ...owner, trustedBy, nearest })
  return { ...loaded, root, offers: await projectOffers(owner) }
}

const day = { per: 'day', usd: 20 }

test('budgets of the person and of an administrator apply together, each with its file', async () => {
  const month = { per: 'month', usd: 0.5, model: 'claude-opus-*', folder: '~/work/x' }
  const { settings, origins, warnings, root } = await load({
    [own]: { budgets: [day, month] },
    [managed]: { budgets: [day] },
  })
  expect(settings.budgets).toEqual([
    { ...day, from: join(root, managed) },
    { ...day, from: join(root, own) },
    { ...month, from: join(root, own) },
  ])
  expect(origins.map(({ setting, from }) => [setting, from])).toEqual([
    ['budgets', join(root, managed)],
    ['budgets', join(root, own)],
    ['budgets', join(root, own)],
  ])
  expect(warnings).toEqual([])
})

test.each([shared, local])('budgets of a project are ignored and reported: %s', async (file) => {
  for (const trustedBy of [false, 'test'] as const) {
    const { settings, ignored, warnings, offers, root } = await load({ [file]: { budgets: [day] } }, trustedBy)
    expect(settings.budgets).toBeUndefined()
    const why = 'only your own settings and --settings can set it'
    expect(ignored).toEqual([
      { setting: 'budgets', text: '[{"per":"day","usd":20}]', from: join(root, file), why, forTrust: false },
    ])
    expect(warnings).toEqual([`budgets in ${join(root, file)} is ignored: ${why}.`])
    expect(offers).toEqual([])
  }
})

test('invalid budgets of a project do not stop the program', async () => {
  const { settings } = await load(
    { [shared]: { budgets: [{ per: 'week', usd: -1 }] }, [own]: { budgets: [day] } },
    'test',
  )
  expect(settings.budgets).toHaveLength(1)
})

const keys = 'an object with only per, usd, model and folder, such as {"per": "day", "usd": 20}'
const dollars = 'a number of US dollars above 0, and at most 1000000'

test.each([
  [
    '{"budgets": {"per": "day"}}',
    'budgets must be a list, such as [{"per": "day", "usd": 20}] (received {"per":"day"}).',
  ],
  ['{"budgets": [20]}', `budgets[0] must be ${keys} (received 20).`],
  ['{"budgets": [{"per": "day"}]}', `budgets[0].usd must be ${dollars} (it is missing).`],
  ['{"budgets": [{"per": "day", "usd": 0}]}', `budgets[0].usd must be ${dollars} (received 0).`],
  ['{"budgets": [{"per": "day", "usd": -5}]}', `budgets[0].usd must be ${dollars} (received -5).`],
  ['{"budgets": [{"per": "day", "usd": 1e999}]}', `budgets[0].usd must be ${dollars} (received Infinity).`],
  ['{"budgets": [{"per": "day", "usd": 1000001}]}', `budgets[0].usd must be ${dollars} (received 1000001).`],
  ['{"budgets": [{"per": "day", "usd": null}]}', `budgets[0].usd must be ${dollars} (received null).`],
  ['{"budgets": [{"per": "day", "usd": "20"}]}', `budgets[0].usd must be ${dollars} (received "20").`],
  [
    '{"budgets": [{"per": "day", "usd": 1}, {"per": "week", "usd": 1}]}',
    'budgets[1].per must be day or month (received "week").',
  ],
  ['{"budgets": [{"usd": 1}]}', 'budgets[0].per must be day or month (it is missing).'],
  [
    '{"budgets": [{"per": "day", "usd": 1, "model": " "}]}',
    'budgets[0].model must be the id of a model, such as claude-opus-* (received " ").',
  ],
  [
    '{"budgets": [{"per": "day", "usd": 1, "folder": "work"}]}',
    'budgets[0].folder must be a path that begins with / or ~/ (received "work").',
  ],
  [
    '{"budgets": [{"per": "day", "usd": 1, "folder": ""}]}',
    'budgets[0].folder must be a path that begins with / or ~/ (received "").',
  ],
  ['{"budgets": [{"per": "day", "usd": 1, "limit": 2}]}', `budgets[0] must be ${keys}. Remove "limit".`],
  ['{"budget": [{"per": "day", "usd": 1}]}', 'unknown setting budget. Did you mean budgets? Fix or remove it.'],
])('an invalid budget of the person stops the program, with file and field: %s', async (text, problem) => {
  const error: unknown = await load({ [own]: text }).catch((thrown: unknown) => thrown)
  expect(String(error)).toMatch(/home\/\.halting\/settings\.json:1: /)
  expect(String(error)).toContain(problem)
})
