import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { core, sources } from './vitest.build.ts'

/** Tests run the sources, never a dist that may be older than they are. */
const fromSources = Object.entries(sources).map(([name, replacement]) => exactly(name, replacement))

/** Core as JavaScript, made from the sources when the tests begin. */
const withBuiltCore = [
  exactly('@halting/core', `${core}/index.js`),
  { find: /^@halting\/core\/(steps|adapters|testing)$/, replacement: `${core}/$1/index.js` },
  ...fromSources,
]

/** What a test of core looks into, too. */
const ofCore = [{ find: /^(?:\.\.\/)+src\/(.*)\.ts$/, replacement: `${core}/$1.js` }, ...withBuiltCore]

/** Each file in a module graph of its own, as the deep checks want it. What files leave to each other is then seen in one of the two. */
const isDeep = process.env['HALTING_DEEP'] === '1'

export default defineConfig({
  test: {
    // Every core: left to itself, Vitest keeps one of two idle.
    maxWorkers: '100%',
    globalSetup: './vitest.build.ts',
    reporters: ['default', 'json'],
    outputFile: { json: '.tmp/vitest.json' },
    projects: [
      project('core', ['packages/core/test/**/*.test.ts'], { alias: ofCore }),
      project('models', ['packages/models/test/**/*.test.ts'], { alias: withBuiltCore }),
      project('agent', ['packages/agent/test/**/*.test.ts'], { alias: withBuiltCore, changesProcess: true }),
      project('cli', ['packages/cli/test/**/*.test.ts'], { alias: withBuiltCore }),
    ],
  },
})

interface ProjectOptions {
  readonly alias: readonly { readonly find: RegExp; readonly replacement: string }[]
  /** Its tests change what belongs to a whole process, such as its folder: threads may not. */
  readonly changesProcess?: boolean
}

function project(name: string, include: string[], options: ProjectOptions): TestProjectInlineConfiguration {
  const { alias, changesProcess = false } = options
  return {
    resolve: { alias: [...alias] },
    test: {
      name,
      include,
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
