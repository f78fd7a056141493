// Holds rules of docs/spec: R-PROV-3 to R-PROV-21. Which packages are loaded, from where, and what is said of those that cannot be.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '@halting/policy/settings'
import type { ModelReply } from '@halting/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkModelName } from '../../src/open-session/model-names.ts'
import { AiSdkModels, priceOverridesOf, signInVariables } from '../../src/providers/ai-sdk-models.ts'
import { withEnvironment } from '../../src/providers/scoped-environment.ts'
import { installPackage, type PackageText, tinyProvider } from '../support/provider-packages.ts'

interface Person {
  readonly settings?: object
  readonly packages?: Readonly<Record<string, PackageText>>
  readonly env?: Readonly<Record<string, string>>
  readonly managed?: object
}

/** The models of a user with these settings, and with packages in the folder of the settings. */
async function person({
  settings = {},
  packages = { tiny: { source: tinyProvider } },
  env: own = {},
  managed,
}: Person = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'halting-providers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [home, cwd, managedFolder] = ['home', 'work', 'managed'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const config = join(home, '.halting')
  for (const each of [config, cwd, managedFolder]) mkdirSync(each, { recursive: true })
  writeFileSync(join(config, 'settings.json'), JSON.stringify(settings))
  if (managed !== undefined) writeFileSync(join(managedFolder, 'managed-settings.json'), JSON.stringify(managed))
  for (const [name, text] of Object.entries(packages)) installPackage(config, name, text)
  const env = { HOME: home, ...own }
  const loaded = await loadSettings({ cwd, home, env, managedFolders: [managedFolder] })
  const models = new AiSdkModels({ settings: loaded.settings, env: { ...env, ...loaded.settings.env }, cwd })
  return { home, cwd, config, env, loaded, models }
}

const request = {
  system: '',
  messages: [{ role: 'user' as const, content: 'hi' }],
  tools: [],
  maxOutputTokens: 10,
  idempotencyKey: 'k',
}

async function answerOf(models: AiSdkModels, name: string): Promise<unknown> {
  const reply: ModelReply = await models
    .model(name)
    .call(request, { signal: new AbortController().signal, emit: () => undefined })
  const [block] = reply.message['content'] as readonly { readonly text: string }[]
  return JSON.parse(block?.text ?? 'null')
}

describe('an unusable configuration is reported with advice', () => {
  const cases: Readonly<
    Record<
      string,
      {
        readonly packages?: Readonly<Record<string, PackageText>>
        readonly settings?: object
        readonly model?: string
        readonly says: RegExp
      }
    >
  > = {
    'a package that is not there': {
      packages: {},
      model: 'ai-sdk:@ai-sdk/nowhere/m',
      says: /The package @ai-sdk\/nowhere is not installed .*npm install -g @ai-sdk\/nowhere/,
    },
    'a package for a newer Node': {
      packages: { tiny: { source: 'this is not even JavaScript', manifest: { engines: { node: '>=99' } } } },
      says: /tiny 1\.2\.3 needs Node 99; this is \d+\.\d+\.\d+\. .*npm install --prefix \S+ tiny@x\.$/,
    },
    'no factory': {
      packages: { tiny: { source: 'export const nothing = 1' } },
      says: /tiny 1\.2\.3 is not a provider package of the AI SDK: it exports no function create/,
    },
    'several factories': {
      packages: { tiny: { source: 'export const createA = () => 1\nexport const createB = () => 2' } },
      says: /has several factories: createA, createB\. Set "factory"/,
    },
    'a factory that is not there': {
      settings: { aiSdk: { packages: { tiny: { factory: 'createX' } } } },
      says: /has no function createX\. It exports createTiny/,
    },
    'a factory that throws': {
      packages: { tiny: { source: "export const createTiny = () => { throw new Error('no region') }" } },
      says: /tiny 1\.2\.3 cannot be set up by createTiny: no region/,
    },
    'a model of an older version': {
      packages: {
        tiny: { source: "export const createTiny = () => () => ({ specificationVersion: 'v2', doStream() {} })" },
      },
      says: /models of version v2 of the AI SDK; this program supports v3 and v4\. Install a newer one: npm install --prefix \S+ tiny@x\.$/,
    },
    'a package that is no provider': {
      packages: { tiny: { source: 'export const createTiny = () => 7' } },
      says: /what createTiny returns has no language model/,
    },
    'a package that throws when it is loaded': {
      packages: { tiny: { source: "throw new Error('broken inside')" } },
      says: /tiny 1\.2\.3 in .* cannot be loaded: broken inside/,
    },
    'a provider without this model': {
      packages: {
        tiny: { source: "export const createTiny = () => ({ languageModel(m) { throw new Error('no ' + m) } })" },
      },
      says: /tiny 1\.2\.3 cannot give its model "m": no m/,
    },
    'an entry that it does not export': {
      settings: { aiSdk: { packages: { tiny: { entry: 'inner' } } } },
      says: /tiny 1\.2\.3 in .* has no entry "inner"/,
    },
    'exports that lead out of it': {
      packages: { tiny: { source: tinyProvider, manifest: { exports: './../other/index.js' } } },
      says: /has nothing that can be imported/,
    },
    'options that are not an object': {
      settings: { aiSdk: { packages: { tiny: { options: 'x' } } } },
      says: /settings\.json:1: aiSdk\.packages\.tiny\.options must be an object \(received a string\)/,
    },
    'a variable that is not set': {
      settings: { aiSdk: { packages: { tiny: { options: { apiKey: '${NOWHERE_KEY}' } } } } },
      says: /the variable NOWHERE_KEY in the options of ai-sdk:tiny\/m is not set/,
    },
    'a name without a model': { model: 'ai-sdk:tiny', says: /"ai-sdk:tiny" does not name a model/ },
    'a key in the place of a name': {
      model: 'ai-sdk:sk-ant-api03-0123456789abcdef0123456789abcdef',
      says: /^(?!.*0123456789)The model name looks like an API key, so it is not shown here/,
    },
    'a path': { model: 'ai-sdk:../tiny/m', says: /paths and URLs are not accepted/ },
    'a package by a path in the settings': {
      settings: { aiSdk: { models: { mine: { package: '../tiny', model: 'm' } } } },
      says: /aiSdk\.models\.mine\.package must be the name of an npm package/,
    },
    'a key that nobody knows': {
      settings: { aiSdk: { models: { mine: { package: 'tiny', model: 'm', apiKey: 'x' } } } },
      says: /aiSdk\.models\.mine must be an object with only package, model/,
    },
    'an alias with the name of another model': {
      settings: { aiSdk: { models: { 'gpt-5': { package: 'tiny', model: 'm' } } } },
      model: 'gpt-5',
      says: /aiSdk\.models\.gpt-5 in .* has the name of another model/,
    },
    'a price that is not one': {
      settings: { aiSdk: { models: { mine: { package: 'tiny', model: 'm', price: { input: 'free' } } } } },
      model: 'mine',
      says: /The price of mine/,
    },
    'an alias that is nearly one': {
      settings: { aiSdk: { models: { 'my-bedrock': { package: 'tiny', model: 'm' } } } },
      model: 'my-bedrok',
      says: /Did you mean my-bedrock\?/,
    },
  }
  test.each(Object.entries(cases))('%s', async (_name, { packages, settings, model = 'ai-sdk:tiny/m', says }) => {
    const opened = (async () => {
      const { models, loaded, env } = await person({ ...(settings && { settings }), ...(packages && { packages }) })
      checkModelName(model, env, loaded.settings)
      priceOverridesOf(loaded.settings)
      await models.load(model)
    })()
    await expect(opened).rejects.toThrow(says)
    await expect(opened).rejects.toMatchObject({ code: 'configuration' })
  })
})

test('a package is loaded with the first request, and its problems are errors of that request', async () => {
  const { models, config } = await person({ packages: {} })
  installPackage(config, 'late', { source: "globalThis.loadedLate = true; throw new Error('broken inside')" })
  const model = models.model('ai-sdk:late/m')
  expect('loadedLate' in globalThis).toBe(false)
  await expect(
    model.call(request, { signal: new AbortController().signal, emit: () => undefined }),
  ).rejects.toMatchObject({
    kind: 'invalid_request',
    retryable: false,
    billed: 'nothing',
    message: expect.stringContaining('cannot be loaded: broken inside') as string,
  })
  expect('loadedLate' in globalThis).toBe(true)
})

test('only its provider sees the environment of a session, even in parallel', async () => {
  const one = await person({ settings: { env: { TINY_REGION: 'one' } } })
  const two = await person({ settings: { env: { TINY_REGION: 'two' } } })
  const none = await person()
  const answers = await Promise.all([one, two, none, one].map(async ({ models }) => answerOf(models, 'ai-sdk:tiny/m')))
  expect(answers).toMatchObject([{ region: 'one' }, { region: 'two' }, { region: null }, { region: 'one' }])
  expect(process.env['TINY_REGION']).toBe(undefined)
  expect(process.env['PATH']).not.toBe(undefined)
})

test('events of a reply are emitted outside the scope of its provider', async () => {
  const { models } = await person({ settings: { env: { TINY_REGION: 'one' } } })
  const regions = new Set<unknown>()
  const emit = (): unknown => regions.add(process.env['TINY_REGION'])
  await models.model('ai-sdk:tiny/m').call(request, { signal: new AbortController().signal, emit })
  const other = await person({ settings: { env: { TINY_REGION: 'two' } } })
  await withEnvironment({ ...other.env, TINY_REGION: 'outer' }, () =>
    models.model('ai-sdk:tiny/m').call(request, { signal: new AbortController().signal, emit }),
  )
  expect([...regions]).toEqual([undefined, 'outer'])
})

test('sizes, prices and options of an alias override those of its package', async () => {
  const { models, loaded } = await person({
    settings: {
      aiSdk: {
        packages: { tiny: { options: { region: 'r', name: 'n' }, providerOptions: { tiny: { a: 1 } } } },
        models: {
          mine: {
            package: 'tiny',
            model: 'm',
            options: { region: 'x' },
            contextWindow: 9_000,
            maxOutputTokens: 900,
            maxServerToolUses: 3,
            price: { input: 1, output: 2 },
          },
        },
      },
    },
  })
  const sizes = {
    id: 'mine',
    contextWindow: 9_000,
    maxOutputTokens: 900,
    defaultOutputTokens: 900,
    maxServerToolUses: 3,
  }
  expect(models.model('mine')).toMatchObject(sizes)
  expect(await answerOf(models, 'mine')).toMatchObject({
    options: { region: 'x', name: 'n' },
    more: { tiny: { a: 1 } },
  })
  expect(models.model('mine')).toMatchObject(sizes)
  expect(priceOverridesOf(loaded.settings)).toEqual({ mine: { input: 1, output: 2 } })
  expect(models.model('ai-sdk:tiny/m')).toMatchObject({
    id: 'ai-sdk:tiny/m',
    contextWindow: 128_000,
    maxOutputTokens: 16_384,
  })
})

describe('an administrator', () => {
  const own = { aiSdk: { models: { mine: { package: 'tiny', model: 'm' } } } }

  test('fixes an alias, and its package settings', async () => {
    const { models, config } = await person({
      settings: own,
      packages: {},
      managed: {
        aiSdk: { folder: '../home/.halting', models: { mine: { package: 'tiny', model: 'theirs' } } },
      },
    })
    installPackage(config, 'tiny', { source: tinyProvider })
    expect(await answerOf(models, 'mine')).toMatchObject({ modelId: 'theirs' })
  })

  test('restricts packages to those that their settings name', async () => {
    const { models, loaded, config } = await person({
      settings: own,
      packages: { tiny: { source: tinyProvider }, named: { source: tinyProvider } },
      managed: { allowManagedProvidersOnly: true, aiSdk: { folder: '../home/.halting', packages: { named: {} } } },
    })
    expect(config).not.toBe('')
    expect(loaded.warnings.join()).toContain('AI SDK providers in another file are ignored')
    expect(models.has('mine')).toBe(false)
    expect(() => models.model('ai-sdk:tiny/m')).toThrow(
      "tiny is not loaded: the administrator's settings set allowManagedProvidersOnly, and their aiSdk does not list it",
    )
    expect(await answerOf(models, 'ai-sdk:named/m')).toMatchObject({ modelId: 'm' })
  })

  test('is the only one who can', async () => {
    const { models, loaded } = await person({ settings: { ...own, allowManagedProvidersOnly: true } })
    expect(loaded.warnings.join()).toContain('allowManagedProvidersOnly in')
    expect(models.has('mine')).toBe(true)
  })
})

test('commands get neither keys of options nor secrets of clouds that a model signs in with', async () => {
  const { loaded } = await person({
    settings: {
      aiSdk: {
        models: { mine: { package: 'tiny', model: 'm', options: { apiKey: '${MY_KEY}', region: '${MY_REGION}' } } },
      },
    },
  })
  expect(signInVariables(loaded.settings, ['claude-sonnet-5-5'])).toEqual(['MY_KEY'])
  expect(signInVariables(loaded.settings, ['mine'])).toEqual([
    'MY_KEY',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'AZURE_CLIENT_SECRET',
    'GOOGLE_PRIVATE_KEY',
  ])
  const inAddress = { baseURL: 'https://${USER_NAME}:${PASS}@${HOST}/${PATH_OF}?key=${QUERY}', organization: '${ORG}' }
  const byok = { gateway: { byok: [{ apiKey: '${OWN_KEY}' }] } }
  const addressed = await person({
    settings: { aiSdk: { packages: { tiny: { options: inAddress, providerOptions: byok } } } },
  })
  expect(signInVariables(addressed.loaded.settings, [])).toEqual(['USER_NAME', 'PASS', 'QUERY', 'OWN_KEY'])
  expect(signInVariables({}, ['ai-sdk:tiny/m'])).toContain('AWS_SECRET_ACCESS_KEY')
})

test('a CommonJS package is loaded too, with the factory named after the package', async () => {
  const common = tinyProvider.replace(
    'export function createTiny',
    'exports.createTiny = createTiny; function createTiny',
  )
  const { models } = await person({
    settings: {
      aiSdk: {
        models: {
          other: { package: 'tiny-esm', model: 'm', factory: 'createOther' },
          inner: { package: 'tiny-esm', entry: 'inner', model: 'm' },
        },
      },
    },
    packages: {
      tiny: { source: common, manifest: { type: 'commonjs', exports: undefined, main: 'index.js' } },
      'tiny-esm': {
        source: `${tinyProvider}
export const createTinyEsm = (options) => createTiny({ ...options, by: 'name' })
export const createOther = (options) => createTiny({ ...options, by: 'other' })`,
        manifest: {
          exports: {
            '.': { require: './absent.cjs', node: { import: './index.js' } },
            './*': { import: './index.js' },
          },
        },
      },
    },
  })
  expect(await answerOf(models, 'ai-sdk:tiny/m')).toMatchObject({ modelId: 'm' })
  expect(await answerOf(models, 'ai-sdk:tiny-esm/m')).toMatchObject({ options: { by: 'name' } })
  expect(await answerOf(models, 'other')).toMatchObject({ options: { by: 'other' } })
  expect(await answerOf(models, 'inner')).toMatchObject({ options: { by: 'name' } })
})
