// The build of `@halting/models` for hosts without Node: browsers and runtimes of the edge.
import { fileURLToPath } from 'node:url'
import { root } from './packages.mjs'

const source = (path) => fileURLToPath(new URL(`packages/models/src/${path}.ts`, root))

/** Files that need Node, and the files that replace them. */
const replaced = new Map(
  ['http/node-transport', 'http/proxy', 'service/command-credentials'].map((path) => [
    source(path),
    source(`browser/${path.split('/').at(-1)}`),
  ]),
)

/** The entries for such hosts. */
export const browserEntries = ['index', 'ai-sdk/index']

/** Options of esbuild. A remaining import of a Node module is an error. */
export const forBrowsers = {
  platform: 'browser',
  target: 'es2022',
  format: 'esm',
  bundle: true,
  inject: [source('browser/host')],
  plugins: [
    {
      name: 'files-for-browsers',
      setup(build) {
        build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, importer }) => {
          const target = fileURLToPath(new URL(path, `file://${importer}`))
          return replaced.has(target) ? { path: replaced.get(target), sideEffects: false } : undefined
        })
      },
    },
  ],
}
