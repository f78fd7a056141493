// The packages, lowest first, with their entries and sources. A package may import only from those before it.
import { readdirSync, readFileSync } from 'node:fs'

export const root = new URL('../', import.meta.url)

export const packages = [
  'core',
  'models',
  'journal',
  'store-sqlite',
  'store-postgres',
  'telemetry',
  'restate',
  'policy',
  'agent',
  'analysis',
  'explorer',
  'inspector',
  'cli',
]

/** The package.json of one package. */
export const manifestOf = (name) => JSON.parse(readFileSync(new URL(`packages/${name}/package.json`, root), 'utf8'))

/** Published packages. */
export const publishedPackages = packages.filter((name) => manifestOf(name).private !== true)

/**
 * The entries of a package, as its package.json exports them. `specifier` is the imported name; `path` is relative to `src` and `dist`, without an
 * extension: `entries/steps`.
 */
export function entriesOf(name) {
  const { name: id, exports = {} } = manifestOf(name)
  return Object.entries(exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([key, target]) => ({
      specifier: id + key.slice(1),
      path: /^\.\/dist\/(.*)\.js$/.exec((target.import ?? target).default)[1],
    }))
}

/** Source files of one package, as paths from the root of the repository. */
export function sourceFiles(name) {
  const directory = `packages/${name}/src`
  return readdirSync(new URL(directory, root), { recursive: true })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `${directory}/${path.replaceAll('\\', '/')}`)
    .toSorted()
}

/** Prints the verdict of a check and ends the process with it. A check that examined nothing has failed. */
export function report(check, seen, problems) {
  for (const problem of problems) console.error(problem)
  if (seen === 0) console.error(`${check}: saw nothing to check`)
  else console.log(`${check}: ${seen} seen, ${problems.length} problems`)
  process.exit(seen > 0 && problems.length === 0 ? 0 : 1)
}
