import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { bundledCore, sources } from './vitest.bundles.ts'

/** Tests run the sources, never a dist that may be older than they are. */
const fromSources = Object.entries(sources).map(([name, replacement]) => exactly(name, replacement))

/** Core as one file, bundled from the sources when the tests begin; for tests that do not look into it. */
const withBundledCore = [
  exactly('@halting/core', `${bundledCore}/index.js`),
  { find: /^@halting\/core\/(steps|adapters|testing)$/, replacement: `${bundledCore}/$1/index.js` },
  ...fromSources,
]

const explorer = 'packages/core/test/explorer/explore-*.test.ts'
/** Each file in a module graph of its own, as the deep checks want it. What files leave to each other is then seen in one of the two. */
const isDeep = process.env['HALTING_DEEP'] === '1'

export default defineConfig({
  test: {
    // Every core: left to itself, Vitest keeps one of two idle.
    maxWorkers: '100%',
    globalSetup: './vitest.bundles.ts',
    reporters: ['default', 'json'],
    outputFile: { json: '.tmp/vitest.json' },
    projects: [
      project('explorer', [explorer], { alias: withBundledCore }),
      project('core', ['packages/core/test/**/*.test.ts'], { alias: fromSources, exclude: [explorer] }),
      project('models', ['packages/models/test/**/*.test.ts'], { alias: withBundledCore }),
      project('agent', ['packages/agent/test/**/*.test.ts'], { alias: withBundledCore, changesProcess: true }),
      project('cli', ['packages/cli/test/**/*.test.ts'], { alias: withBundledCore }),
    ],
  },
})

interface ProjectOptions {
  readonly alias: readonly { readonly find: RegExp; readonly replacement: string }[]
  readonly exclude?: string[]
  /** Its tests change what belongs to a whole process, such as its folder: threads may not. */
  readonly changesProcess?: boolean
}

function project(name: string, include: string[], options: ProjectOptions): TestProjectInlineConfiguration {
  const { alias, exclude = [], changesProcess = false } = options
  return {
    resolve: { alias: [...alias] },
    test: {
      name,
      include,
      exclude,
      testTimeout: 30_000,
      pool: changesProcess ? 'forks' : 'threads',
      isolate: isDeep,
      server: { deps: { external: [/\/under-test-\d+\//] } },
    },
  }
}

function exactly(name: string, replacement: string): { readonly find: RegExp; readonly replacement: string } {
  return { find: new RegExp(`^${name}$`), replacement }
}
