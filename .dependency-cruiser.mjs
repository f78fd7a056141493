import { coreRooms } from './scripts/core-rooms.mjs'
import { packages as order } from './scripts/packages.mjs'

const coreInternals = 'packages/explorer/src/core-internals.ts'

/** What tests of lower packages may use: a record is right if what reads records finds in it what happened. */
const checksRecords = new Set(['analysis', 'explorer'])

/** A package may import from itself and from those before it. */
const downwardOnly = order.slice(0, -1).flatMap((name, index) => {
  const above = order.slice(index + 1)
  const rule = (folder, packages) => ({
    name: `${folder}-of-${name}-imports-downward`,
    severity: 'error',
    from: { path: `^packages/${name}/${folder}/` },
    to: { path: `^(?:node_modules/(?:@halting/)?|packages/)(?:${packages.join('|')})(?:/|$)` },
  })
  const forTests = above.filter((each) => !checksRecords.has(each))
  return [rule('src', above), ...(forTests.length > 0 ? [rule('test', forTests)] : [])]
})

/** So may a room of core. `index.ts` is above all of them. */
const roomsOfCore = coreRooms.slice(0, -1).map((room, index) => ({
  name: `${room}-of-core-imports-downward`,
  severity: 'error',
  from: { path: `^packages/core/src/${room}/` },
  to: { path: `^packages/core/src/(?:(?:${coreRooms.slice(index + 1).join('|')})/|index\\.ts$)` },
}))

export default {
  forbidden: [
    ...downwardOnly,
    ...roomsOfCore,
    {
      name: 'no-cycles',
      comment: 'A cycle of types alone is no cycle at run time, and is still two files that are one.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'core-stands-alone',
      comment: 'Core has no runtime dependency and no builtin of Node.',
      severity: 'error',
      from: { path: '^packages/core/src/' },
      to: { pathNot: '^packages/core/src/' },
    },
    {
      name: 'needs-core-alone',
      comment: 'Installing one of these installs core and nothing else of this project.',
      severity: 'error',
      from: { path: '^packages/(journal|telemetry|restate)/src/' },
      to: {
        path: '^(?:node_modules/@halting/|packages/)',
        pathNot: '^(?:node_modules/@halting/|packages/)(?:core|$1)/',
      },
    },
    {
      name: 'analysis-needs-no-agent',
      comment: 'A report over finished sessions loads no tool and no shell analysis.',
      severity: 'error',
      from: { path: '^packages/analysis/(?:src|test)/' },
      to: { path: '^(?:node_modules/(?:@halting/)?|packages/)(?:agent|policy)(?:/|$)' },
    },
    {
      name: 'src-knows-no-tests',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { path: '^packages/[^/]+/test/|\\.test\\.ts$|/vitest/' },
    },
    {
      name: 'only-the-public-entries',
      comment: 'One package reaches another by its name, never by a path into it.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/(?:src|test)/', pathNot: `^${coreInternals}$` },
      to: { path: '^packages/[^/]+/src/', pathNot: '^packages/$1/' },
    },
    {
      name: 'one-file-knows-core-inside',
      comment: 'The explorer compares what users never see: one file lists it.',
      severity: 'error',
      from: { path: '^packages/explorer/', pathNot: `^${coreInternals}$` },
      to: { path: '^packages/core/src/' },
    },
    {
      name: 'the-explorer-is-for-tests',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: '^packages/explorer/' },
      to: { path: '^(?:node_modules/@halting|packages)/explorer/' },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: '^packages/core/src/testing/' },
      to: { path: '^packages/core/src/testing/' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    // The parser reads no JSX: scripts/check-page-imports.mjs holds the page's.
    exclude: { path: '^packages/inspector/(?:src|test)/page/' },
    doNotFollow: { path: ['node_modules', '^packages/[^/]+/dist/'] },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
