// Holds rules of docs/spec: R-PROV-1 to R-PROV-29. Models behind provider packages of the AI SDK, in the real program.
import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { here, installProgram, run, type RunOptions } from './support/program.ts'
import { installPackage, type PackageText, tinyProvider } from '../../agent/test/support/provider-packages.ts'

installProgram()

/** A user with a home and a project, and packages in the folder of the settings. */
function person(
  settings: object = {},
  packages: Readonly<Record<string, PackageText>> = { tiny: { source: tinyProvider } },
) {
  const folder = mkdtempSync(join(here(), 'person-'))
  const [home, cwd] = [join(folder, 'home'), join(folder, 'work')]
  const own = join(home, '.halting')
  for (const each of [own, cwd]) mkdirSync(each, { recursive: true })
  writeFileSync(join(own, 'settings.json'), JSON.stringify(settings))
  for (const [name, text] of Object.entries(packages)) installPackage(own, name, text)
  return {
    own,
    cwd,
    home,
    run: (args: readonly string[], options: RunOptions = {}) =>
      run(args, { cwd, ...options, env: { HOME: home, ...options.env } }),
  }
}

const said = (stdout: string): unknown => JSON.parse(stdout)

describe('a model behind a package', () => {
  test('answers by its name, with the options of its package', async () => {
    const { run: halting } = person({
      aiSdk: { packages: { tiny: { options: { apiKey: '${TINY_KEY}', region: '${TINY_REGION:-eu}' } } } },
    })
    const { stdout, stderr } = await halting(['-p', 'hi', '--model', 'ai-sdk:tiny/a/b:c'], {
      env: { TINY_KEY: 'not-a-secret' },
    })
    expect(stderr).toContain('no price is known for ai-sdk:tiny/a/b:c')
    expect(said(stdout)).toEqual({
      modelId: 'a/b:c',
      options: { apiKey: 'not-a-secret', region: 'eu' },
      region: null,
      more: expect.anything() as unknown,
    })
  })

  test('answers by an alias, which is used for prices and the journal', async () => {
    const { run: halting } = person({
      env: { TINY_REGION: 'by the settings' },
      aiSdk: {
        models: {
          mine: {
            package: 'tiny',
            model: 'm1',
            options: { region: 'x' },
            providerOptions: { tiny: { deep: true } },
            contextWindow: 50_000,
            maxOutputTokens: 4_000,
            price: { input: 1, output: 2 },
          },
        },
      },
    })
    const { stdout, status } = await halting(['-p', 'hi', '--model', 'mine', '--output-format', 'json'])
    expect(status).toBe(0)
    const result = JSON.parse(stdout) as { result: string; total_cost_usd: number; modelUsage: object }
    expect(said(result.result)).toMatchObject({
      modelId: 'm1',
      options: { region: 'x' },
      region: 'by the settings',
      more: { tiny: { deep: true } },
    })
    expect(result.total_cost_usd).toBeCloseTo(20e-6, 12)
    expect(Object.keys(result.modelUsage)).toEqual(['mine'])
    const listed = await halting(['models', 'mine'])
    expect(listed.stdout).toMatch(/ {2}mine +50k {2}\$1 \/ \$2, ai-sdk:tiny\/m1\n/)
    const checked = await halting(['check', '--model', 'mine', '--max-turns', '2'])
    expect(checked.stdout).toContain('mine')
    expect(checked.status).toBe(0)
    const looked = await halting(['doctor', '--model', 'mine'])
    expect(looked.stdout).toMatch(/ok +package +installed and loadable/)
    expect(looked.stdout).toMatch(/-- +key +found by the package, in options of aiSdk or in the variables/)
  })

  test('comes from the settings, the environment, or a fallback', async () => {
    const { run: halting } = person({ model: 'ai-sdk:tiny/one', smallModel: 'ai-sdk:tiny/two' })
    expect(said((await halting(['-p', 'hi'])).stdout)).toMatchObject({ modelId: 'one' })
    const named = await halting(['-p', 'hi', '--fallback-model', 'ai-sdk:tiny/other'], {
      env: { ANTHROPIC_MODEL: 'ai-sdk:tiny/three' },
    })
    expect(said(named.stdout)).toMatchObject({ modelId: 'three' })
    expect(named.stderr).not.toContain('effort')
    const { stderr } = await halting(['-p', 'hi', '--effort', 'high'])
    expect(stderr).toContain(
      '--effort has no effect on ai-sdk:tiny/one, which uses a provider package. Set its effort in providerOptions of aiSdk',
    )
  })

  test('is found in a named folder, relative to its settings file, and through a link', async () => {
    const {
      own,
      cwd,
      run: halting,
    } = person({ aiSdk: { folder: './providers', models: { mine: { package: '@my/tiny', model: 'm' } } } }, {})
    const elsewhere = join(own, 'elsewhere')
    const at = installPackage(elsewhere, '@my/real', { source: tinyProvider })
    mkdirSync(join(own, 'providers/node_modules/@my'), { recursive: true })
    symlinkSync(at, join(own, 'providers/node_modules/@my/tiny'))
    expect(said((await halting(['-p', 'hi', '--model', 'mine'])).stdout)).toMatchObject({ modelId: 'm' })
    // The working directory is not searched.
    installPackage(cwd, 'local', { source: tinyProvider })
    expect(await halting(['-p', 'hi', '--model', 'ai-sdk:local/m'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('The package local is not installed on ') as string,
    })
    const byFolder = { aiSdk: { models: { here: { package: 'local', model: 'm', folder: cwd } } } }
    const given = await halting(['-p', 'hi', '--model', 'here', '--settings', JSON.stringify(byFolder)])
    expect(said(given.stdout)).toMatchObject({ modelId: 'm' })
  })
})

test.each([
  ['ai-sdk:@ai-sdk/nowhere/m', /The package @ai-sdk\/nowhere is not installed .*npm install -g @ai-sdk\/nowhere/],
  ['ai-sdk:broken/m', /broken 1\.2\.3 in .* cannot be loaded: broken inside/],
])('says at the start how to fix an unusable model: %s', async (model, says) => {
  const { run: halting } = person(
    {},
    {
      broken: { source: "throw new Error('broken inside')" },
    },
  )
  const { status, stderr, stdout } = await halting(['-p', 'hi', '--model', model])
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(says)
  expect(stderr).not.toContain('    at ')
})

test('loads no package of an untrusted folder, and says so', async () => {
  const { cwd, home, run: halting } = person({ aiSdk: { models: { mine: { package: 'tiny', model: 'm' } } } })
  const canary = join(home, 'canary')
  const source = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(canary)}, '')\n${tinyProvider}`
  for (const folder of [cwd, join(cwd, '.halting')]) installPackage(folder, 'evil', { source })
  const settings = { model: 'ai-sdk:evil/m', aiSdk: { models: { mine: { package: 'evil', model: 'm', folder: '.' } } } }
  writeFileSync(join(cwd, '.halting/settings.json'), JSON.stringify(settings))
  const agents = join(cwd, '.claude/agents')
  mkdirSync(agents, { recursive: true })
  writeFileSync(join(agents, 'spy.md'), '---\nname: spy\ndescription: d\nmodel: ai-sdk:evil/m\n---\nx')
  for (const more of [[], ['--trust']]) {
    const { stdout, stderr } = await halting(['-p', 'hi', '--model', 'mine', ...more])
    expect(said(stdout)).toMatchObject({ modelId: 'm' })
    expect(stderr).toMatch(/aiSdk in .* is ignored/)
    expect(stderr).toContain('model')
  }
  expect(existsSync(canary)).toBe(false)
  const shown = await halting(['config'])
  expect(shown.stdout).toContain('aiSdk.models.mine = ai-sdk:tiny/m')
  expect(shown.stdout).toContain('aiSdk: (set)')
})
