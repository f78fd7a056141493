// Holds rules of docs/spec: R-PROV-3, R-PROV-4, R-PROV-6, R-PROV-7, R-PROV-24 to R-PROV-26. Who may configure provider packages, and where they are
// searched.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseAiSdkName } from '../../src/settings/ai-sdk-name.ts'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'
import { changeTrust } from '../../src/trust/trust-store.ts'

function place() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-ai-sdk-')))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const [home, cwd, managed] = [join(root, 'home'), join(root, 'work'), join(root, 'managed')]
  for (const folder of [home, cwd, managed]) mkdirSync(folder)
  const write = (path: string, content: object): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify(content))
  }
  return { home, cwd, managed, env: {}, managedFolders: [managed], write }
}

const alias = (model: string, more: object = {}) => ({ package: 'tiny', model, ...more })

describe('a project', () => {
  test('cannot configure packages, trusted or not, and its values are not shown', async () => {
    const { write, ...owner } = place()
    write(join(owner.cwd, '.halting/settings.json'), {
      aiSdk: { models: { evil: alias('m', { options: { apiKey: 'hidden-key-1' } }) } },
    })
    for (const trustedBy of [undefined, '--trust']) {
      const { settings, warnings, ignored } = await loadSettings({ ...owner, trustedBy })
      expect(settings.aiSdk).toBe(undefined)
      expect(warnings.join()).toMatch(/aiSdk in .* is ignored: only your own settings/)
      expect(warnings.join()).not.toContain('hidden-key-1')
      expect(ignored).toMatchObject([{ setting: 'aiSdk', forTrust: false }])
    }
    expect(await projectOffers(owner)).toEqual([])
  })

  test.each([
    ['a model', { model: 'ai-sdk:tiny/m' }, 'model'],
    ['a hook', { hooks: { Stop: [{ hooks: [{ type: 'prompt', prompt: 'ok?', model: 'ai-sdk:tiny/m' }] }] } }, 'hooks'],
  ] as const)('can set %s behind a package only if trust has named it', async (_what, content, setting) => {
    const { write, ...owner } = place()
    write(join(owner.cwd, '.halting/settings.json'), content)
    expect((await loadSettings(owner)).settings[setting]).toBe(undefined)
    const once = await loadSettings({ ...owner, trustedBy: '--trust' })
    expect(once.settings[setting]).toBe(undefined)
    expect(once.ignored).toMatchObject([{ setting, onlyByName: true }])
    const offers = await projectOffers(owner)
    await changeTrust(owner, (records) => {
      records.set(owner.cwd, { trusted: true, since: '2026-01-01', offers: offers.map(({ id }) => id) })
    })
    expect((await loadSettings(owner)).settings[setting]).toBeDefined()
  })

  test('may use an alias of the person like any other model', async () => {
    const { write, ...owner } = place()
    write(join(owner.cwd, '.halting/settings.json'), { model: 'mine' })
    expect((await loadSettings({ ...owner, trustedBy: '--trust' })).settings.model).toBe('mine')
  })
})

describe('settings of several files', () => {
  test('take each alias and package from the file with the highest precedence, with the folder of that file', async () => {
    const { write, ...owner } = place()
    write(join(owner.managed, 'managed-settings.json'), { aiSdk: { folder: 'lib', models: { one: alias('theirs') } } })
    write(join(owner.home, '.halting/settings.json'), {
      aiSdk: {
        folder: '~/own',
        models: { one: alias('mine'), two: alias('mine', { folder: 'two' }) },
        packages: { p: {} },
      },
    })
    write(join(owner.home, '.claude/settings.json'), { aiSdk: { models: { three: alias('other') } } })
    const given = JSON.stringify({
      aiSdk: { models: { four: alias('typed'), five: alias('typed', { folder: '/opt/five' }) } },
    })
    const { settings, origins } = await loadSettings({ ...owner, given })
    const at = (name: string) => [settings.aiSdk?.models[name]?.model, settings.aiSdk?.models[name]?.folders]
    expect(at('one')).toEqual(['theirs', [join(owner.managed, 'lib')]])
    expect(at('two')).toEqual(['mine', [join(owner.home, '.halting/two')]])
    expect(at('three')).toEqual(['other', [join(owner.home, '.claude')]])
    expect(at('four')).toEqual(['typed', []])
    expect(at('five')).toEqual(['typed', ['/opt/five']])
    expect(settings.aiSdk?.packages['p']?.folders[0]).toMatch(/\/own$/)
    expect(origins).toContainEqual(
      expect.objectContaining({ setting: 'aiSdk.models.one', value: 'ai-sdk:tiny/theirs' }),
    )
  })

  test('resolve folders of --settings FILE relative to the file, and have no default folder', async () => {
    const { write, ...owner } = place()
    write(join(owner.cwd, 'conf/s.json'), {
      aiSdk: { models: { four: alias('typed'), five: alias('typed', { folder: 'five' }) } },
    })
    const { settings } = await loadSettings({ ...owner, given: 'conf/s.json' })
    expect(settings.aiSdk?.models['four']?.folders).toEqual([])
    expect(settings.aiSdk?.models['five']?.folders).toEqual([join(owner.cwd, 'conf/five')])
  })

  test('are limited to those of an administrator by allowManagedProvidersOnly', async () => {
    const { write, ...owner } = place()
    write(join(owner.managed, 'managed-settings.json'), { allowManagedProvidersOnly: true })
    write(join(owner.home, '.halting/settings.json'), { aiSdk: { models: { one: alias('mine') } } })
    const { settings, ignored } = await loadSettings(owner)
    expect(settings.aiSdk).toMatchObject({
      models: {},
      packages: {},
      folders: [],
      onlyNamedBy: expect.any(String) as string,
    })
    expect(ignored).toMatchObject([{ setting: 'aiSdk', text: 'one', forTrust: false }])
  })
})

describe('an invalid value', () => {
  const secret = 'a-secret-of-nobody'
  test.each([
    [{ model: {} }, /aiSdk must be an object with only folder, packages and models\. Remove "model"\.$/],
    [
      { models: { b: alias('m', { options: { apiKey: secret }, contextwindow: 5 }) } },
      /aiSdk\.models\.b must be an object with only package, .* and price\. Remove "contextwindow"\.$/,
    ],
    [
      { models: { 'a b': alias('m', { options: { apiKey: secret } }) } },
      /aiSdk\.models.* must be .* \(received an object\)\.$/,
    ],
    [
      { models: { b: alias('m', { options: secret }) } },
      /aiSdk\.models\.b\.options must be an object \(received a string\)\.$/,
    ],
    [
      { packages: { tiny: { providerOptions: { tiny: [secret] } } } },
      /aiSdk\.packages\.tiny\.providerOptions\.tiny must be an object \(received a list\)\.$/,
    ],
    [{ models: { b: { model: 'm' } } }, /aiSdk\.models\.b\.package must be .* \(it is missing\)\.$/],
    [{ models: { b: { package: './x', model: 'm' } } }, /aiSdk\.models\.b\.package must be .* \(received "\.\/x"\)\.$/],
  ])('is reported with its location, and without text that may be a key: %j', async (aiSdk, says) => {
    const { write, ...owner } = place()
    write(join(owner.home, '.halting/settings.json'), { aiSdk })
    const failed = await loadSettings(owner).then(
      () => 'nothing is wrong',
      (thrown: unknown) => String(thrown),
    )
    expect(failed).toMatch(says)
    expect(failed).not.toContain(secret)
  })
})
test.each(['node_modules', '../tiny', 'https://example.com/tiny.tgz', `a${'b'.repeat(214)}`])(
  'is refused if it is a package that no model name may contain: %s',
  async (name) => {
    for (const aiSdk of [{ packages: { [name]: {} } }, { models: { mine: { package: name, model: 'm' } } }]) {
      const { write, ...owner } = place()
      write(join(owner.home, '.halting/settings.json'), { aiSdk })
      await expect(loadSettings(owner)).rejects.toThrow('the name of an npm package')
    }
    expect(() => parseAiSdkName(`ai-sdk:${name}/m`)).toThrow('does not name a package')
  },
)
