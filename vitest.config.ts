import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { entriesOf } from './scripts/packages.mjs'
import { core, explorer, sources } from './vitest.build.ts'

/** Tests run the sources, never a dist that may be older than they are. */
const fromSources = Object.entries(sources).map(([name, replacement]) => exactly(name, replacement))

/** Core and the explorer as JavaScript, made from the sources when the tests begin. */
const withBuiltCore = [
  exactly('@halting/explorer', `${explorer}/index.js`),
  ...entriesOf('core').map(({ specifier, path }) => exactly(specifier, `${core}/${path}.js`)),
  ...fromSources,
]

/** What a test of core looks into, too. */
const ofCore = [built(core), ...withBuiltCore]
const ofExplorer = [built(explorer), ...withBuiltCore]

const isDeep = ['1', 'all'].includes(process.env['HALTING_DEEP'] ?? '')

/** What takes long and has smaller tests beside it: the deep checks run it, and `HALTING_DEEP=1 npx vitest run FILE`. */
const onlyDeep = [
  'packages/explorer/test/twins.test.ts',
  'packages/core/test/steps/check-driver.test.ts',
  'packages/core/test/steps/lost-requests.test.ts',
  'packages/models/test/cached-share.test.ts',
  'packages/models/test/full-window.test.ts',
  'packages/models/test/hard-budget.test.ts',
  'packages/models/test/money-oracle.test.ts',
  'packages/models/test/openai-streams.test.ts',
  'packages/models/test/worst-cases.test.ts',
  'packages/policy/test/confine/corpus.test.ts',
  'packages/policy/test/confine/harm.test.ts',
  'packages/policy/test/confine/same-output.test.ts',
  'packages/policy/test/judge/bounds.test.ts',
  'packages/policy/test/judge/differential.test.ts',
  'packages/policy/test/judge/hostile-git.test.ts',
  'packages/policy/test/judge/hostile.test.ts',
  'packages/policy/test/permissions/million-files.test.ts',
  'packages/agent/test/checkpoints/property.test.ts',
  'packages/agent/test/checkpoints/special.test.ts',
  'packages/agent/test/edit/half-done.test.ts',
  'packages/agent/test/edit/harm.test.ts',
  'packages/agent/test/edit/many-folders.test.ts',
  'packages/agent/test/goals/goal-runs.test.ts',
  'packages/agent/test/judge/git-folder.test.ts',
  'packages/agent/test/mcp/held.test.ts',
  'packages/agent/test/mcp/hostile.test.ts',
  'packages/agent/test/mcp/live-servers.test.ts',
  'packages/agent/test/mcp/real-servers.test.ts',
  'packages/agent/test/million-files.test.ts',
  'packages/agent/test/sandbox/escapes.test.ts',
  'packages/analysis/test/foreign/long-lines.test.ts',
  'packages/agent/test/schema-oracle.test.ts',
  'packages/journal/test/check-driver.test.ts',
  'packages/journal/test/disk-failures.test.ts',
  'packages/journal/test/format/false-folds.test.ts',
  'packages/journal/test/long-lines.test.ts',
  'packages/journal/test/format/replay-from-lines.test.ts',
  'packages/telemetry/test/long-run.test.ts',
  'packages/inspector/test/page/compare/compare-view.test.ts',
  'packages/inspector/test/page/exported.test.ts',
  'packages/inspector/test/page/large.test.ts',
  'packages/inspector/test/page/picture/pictures.test.ts',
  'packages/inspector/test/page/plots/plots-browser.test.ts',
  'packages/inspector/test/page/readable.test.ts',
  'packages/inspector/test/page/session.test.ts',
  'packages/inspector/test/page/sessions/sessions-view.test.ts',
  'packages/cli/test/acp/ends.test.ts',
  'packages/cli/test/acp/stdio.test.ts',
  'packages/cli/test/after.test.ts',
  'packages/cli/test/approved-edits.test.ts',
  'packages/cli/test/background.test.ts',
  'packages/cli/test/cluster/hostile-answers.test.ts',
  'packages/cli/test/cluster/program.test.ts',
  'packages/cli/test/cluster/replays.test.ts',
  'packages/cli/test/cluster/terminal.test.ts',
  'packages/cli/test/commands.test.ts',
  'packages/cli/test/endings.test.ts',
  'packages/cli/test/export.test.ts',
  'packages/cli/test/folders-apart.test.ts',
  'packages/cli/test/foreign.test.ts',
  'packages/cli/test/formats.test.ts',
  'packages/cli/test/full-window.test.ts',
  'packages/cli/test/given-files.test.ts',
  'packages/cli/test/hooks.test.ts',
  'packages/cli/test/host/many-runs.test.ts',
  'packages/cli/test/host/protocol.test.ts',
  'packages/cli/test/host/sdk-callbacks.test.ts',
  'packages/cli/test/host/sdk-hooks.test.ts',
  'packages/cli/test/host/sdk-options.test.ts',
  'packages/cli/test/host/sdk-queries.test.ts',
  'packages/cli/test/host/sdk-servers.test.ts',
  'packages/cli/test/host/sdk-wishes.test.ts',
  'packages/cli/test/inert.test.ts',
  'packages/cli/test/inspect/calibrated-page.test.ts',
  'packages/cli/test/inspect/command-line.test.ts',
  'packages/cli/test/inspect/program.test.ts',
  'packages/cli/test/inspect/real-files.test.ts',
  'packages/cli/test/inspect/what-if-page.test.ts',
  'packages/cli/test/instructions.test.ts',
  'packages/cli/test/known-keys.test.ts',
  'packages/cli/test/loop/loop-kills.test.ts',
  'packages/cli/test/loop/loop.test.ts',
  'packages/cli/test/mcp-login.test.ts',
  'packages/cli/test/mcp-runs.test.ts',
  'packages/cli/test/mcp-scopes.test.ts',
  'packages/cli/test/memory-command.test.ts',
  'packages/cli/test/memory-runs.test.ts',
  'packages/cli/test/permissions.test.ts',
  'packages/cli/test/plugins.test.ts',
  'packages/cli/test/report/many.test.ts',
  'packages/cli/test/report/report.test.ts',
  'packages/cli/test/rewound-calls.test.ts',
  'packages/cli/test/secrets.test.ts',
  'packages/cli/test/session-agreement.test.ts',
  'packages/cli/test/set-back.test.ts',
  'packages/cli/test/sessions.test.ts',
  'packages/cli/test/setup.test.ts',
  'packages/cli/test/stdin.test.ts',
  'packages/cli/test/stopping-bench.test.ts',
  'packages/cli/test/telemetry-faces.test.ts',
  'packages/cli/test/telemetry-private.test.ts',
  'packages/cli/test/telemetry-variables.test.ts',
  'packages/cli/test/terminal-guide.test.ts',
  'packages/cli/test/terminal/app-features.test.ts',
  'packages/cli/test/terminal/app.test.ts',
  'packages/cli/test/terminal/complaints.test.ts',
  'packages/cli/test/terminal/goals.test.ts',
  'packages/cli/test/terminal/loop.test.ts',
  'packages/cli/test/terminal/program.test.ts',
  'packages/cli/test/terminal/real-terminal.test.ts',
  'packages/cli/test/terminal/status-line-app.test.ts',
  'packages/cli/test/trust-corpus.test.ts',
  'packages/cli/test/trouble/troubled-sessions.test.ts',
  'packages/cli/test/trust.test.ts',
  'packages/cli/test/undo.test.ts',
  'packages/cli/test/what-if-ledger.test.ts',
  'packages/cli/test/what-if-live.test.ts',
  'packages/cli/test/write-new-signals.test.ts',
  'packages/cli/test/grade.test.ts',
  'packages/cli/test/verify/print.test.ts',
  'packages/cli/test/what-if-may-lose.test.ts',
  'packages/agent/test/edit/equality.test.ts',
  'packages/cli/test/edit-frontends.test.ts',
  'packages/policy/test/edit-questions/writing.test.ts',
  'packages/policy/test/edit/caches.test.ts',
  'packages/cli/test/edit-confinement-reports.test.ts',
  'packages/agent/test/trial/bash.test.ts',
  'packages/cli/test/tried-commands.test.ts',
  'packages/policy/test/edit/temporary.test.ts',
  'packages/core/test/context/long-session.test.ts',
  'packages/cli/test/goals/goals.test.ts',
  'packages/cli/test/budget.test.ts',
  'packages/cli/test/stopping-goals.test.ts',
  'packages/cli/test/session-store.test.ts',
  'packages/agent/test/apply-patch.test.ts',
  'packages/journal/test/kills.test.ts',
  'packages/restate/test/same-records.test.ts',
  'packages/models/test/faults.test.ts',
  'packages/agent/test/hostile-files.test.ts',
  'packages/agent/test/confine/edit.test.ts',
  'packages/core/test/context/flowchart.test.ts',
  'packages/store-postgres/test/postgres-store.test.ts',
  'packages/agent/test/judge/git-settings.test.ts',
  'packages/policy/test/judge/protected.test.ts',
  'packages/cli/test/examples.test.ts',
  'packages/cli/test/waits/print.test.ts',
  'packages/cli/test/settings.test.ts',
  'packages/core/test/steps/check-session-store.test.ts',
  'packages/policy/test/edit/protected.test.ts',
  'packages/agent/test/checks/verified-runs.test.ts',
  'packages/agent/test/wait.test.ts',
  'packages/agent/test/goals/command-goal.test.ts',
  'packages/cli/test/web-search.test.ts',
  'packages/cli/test/tool-profiles.test.ts',
  'packages/cli/test/goals/past-runs.test.ts',
  'packages/cli/test/host/requests.test.ts',
  'packages/cli/test/config.test.ts',
  'packages/journal/test/goals/random-goals.test.ts',
  'packages/cli/test/run-limit.test.ts',
]

/**
 * `.ci/run` takes every other one of these, by the second of its commit: those of one change are watched by the next. `npm run deep -- tests` takes all of them.
 */
const half = process.env['HALTING_HALF']
const ofOtherHalf = half === undefined ? [] : onlyDeep.filter((_, at) => at % 2 !== Number(half) % 2)

/** The deep checks do the whole of these beside the tests: `npm run explore`. */
const neverDeep = [
  'packages/explorer/test/explore-*.test.ts',
  // Takes six minutes, most of it of agents that are to be ended: `npm run deep -- tests`.
  ...(process.env['HALTING_DEEP'] === 'all' ? [] : ['packages/cli/test/stopping-bench.test.ts']),
]

export default defineConfig({
  test: {
    // More than cores, since many tests wait for a process. As a share Vitest takes no more than there are.
    maxWorkers: 2 * availableParallelism(),
    globalSetup: './vitest.build.ts',
    reporters: ['default', 'json'],
    outputFile: { json: '.tmp/vitest.json' },
    projects: [
      project('core', ['packages/core/test/**/*.test.ts'], { alias: ofCore }),
      project('explorer', ['packages/explorer/test/**/*.test.ts'], { alias: ofExplorer }),
      project('models', ['packages/models/test/**/*.test.ts'], { alias: withBuiltCore }),
      project('journal', ['packages/journal/test/**/*.test.ts'], { alias: withBuiltCore, changesProcess: true }),
      // They share a harness with the tests of core.
      project('store-sqlite', ['packages/store-sqlite/test/**/*.test.ts'], { alias: fromSources }),
      project('store-postgres', ['packages/store-postgres/test/**/*.test.ts'], { alias: fromSources }),
      project('telemetry', ['packages/telemetry/test/**/*.test.ts'], { alias: withBuiltCore }),
      project('policy', ['packages/policy/test/**/*.test.ts'], { alias: withBuiltCore, changesProcess: true }),
      project('agent', ['packages/agent/test/**/*.test.ts'], { alias: withBuiltCore, changesProcess: true }),
      // They share helpers with the tests of core, which import its sources: a core built from them would be another one.
      project('analysis', ['packages/analysis/test/**/*.test.ts'], { alias: fromSources }),
      project('cli', ['packages/cli/test/**/*.test.ts'], { alias: withBuiltCore }),
      project('inspector', ['packages/inspector/test/**/*.test.ts'], { alias: withBuiltCore }),
      project('restate', ['packages/restate/test/**/*.test.ts'], { alias: withBuiltCore }),
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
  // Long enough for a machine that is busy: it ends what would take for ever.
  const longest = isDeep ? 120_000 : 30_000
  return {
    resolve: { alias: [...alias] },
    test: {
      name,
      include,
      exclude: isDeep ? [...neverDeep, ...ofOtherHalf] : onlyDeep,
      setupFiles: './vitest.setup.ts',
      testTimeout: longest,
      hookTimeout: longest,
      pool: changesProcess ? 'forks' : 'threads',
      // To load the modules for each file anew takes as long as its tests.
      isolate: false,
      server: { deps: { external: [/\/under-test-\d+\//] } },
    },
  }
}

/** A package's own sources, where they were made to. */
function built(folder: string): { readonly find: RegExp; readonly replacement: string } {
  return { find: /^(?:\.\.\/)+src\/(.*)\.ts$/, replacement: `${folder}/$1.js` }
}

function exactly(name: string, replacement: string): { readonly find: RegExp; readonly replacement: string } {
  return { find: new RegExp(`^${name}$`), replacement }
}
