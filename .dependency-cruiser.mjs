import { packages as order } from './scripts/packages.mjs'

/** A package may import from itself and from those before it. */
const downwardOnly = order.slice(0, -1).map((name, index) => {
  const above = order.slice(index + 1).join('|')
  return {
    name: `${name}-imports-downward`,
    severity: 'error',
    from: { path: `^packages/${name}/(?:src|test)/` },
    to: { path: `^(?:node_modules/(?:@halting/)?|packages/)(?:${above})(?:/|$)` },
  }
})

export default {
  forbidden: [
    ...downwardOnly,
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
      comment: 'Whoever installs one of these gets core and nothing else of ours.',
      severity: 'error',
      from: { path: '^packages/(journal|telemetry|restate)/src/' },
      to: {
        path: '^(?:node_modules/@halting/|packages/)',
        pathNot: '^(?:node_modules/@halting/|packages/)(?:core|$1)/',
      },
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
      from: { path: '^packages/([^/]+)/(?:src|test)/' },
      to: { path: '^packages/[^/]+/src/', pathNot: '^packages/$1/' },
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
