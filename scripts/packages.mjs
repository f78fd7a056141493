// The packages, lowest first, and how to list their sources.
import { readdirSync } from 'node:fs'

export const root = new URL('../', import.meta.url)

export const packages = ['core', 'models', 'agent', 'restate', 'inspector', 'cli']

/** Source files of one package, as paths from the root of the repository. */
export function sourceFiles(name) {
  const directory = `packages/${name}/src`
  return readdirSync(new URL(directory, root), { recursive: true })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `${directory}/${path.replaceAll('\\', '/')}`)
    .toSorted()
}

/** Prints the verdict of a check and ends the process with it. A check that saw nothing has failed. */
export function report(check, seen, problems) {
  for (const problem of problems) console.error(problem)
  if (seen === 0) console.error(`${check}: saw nothing to check`)
  else console.log(`${check}: ${seen} seen, ${problems.length} problems`)
  process.exit(seen > 0 && problems.length === 0 ? 0 : 1)
}
