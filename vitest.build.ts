import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, version } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { entriesOf, packages, sourceFiles } from './scripts/packages.mjs'
import { pageBundle } from './scripts/page-bundle.mjs'
import { currentProgram } from './scripts/program-bundle.mjs'
import { storeBuild, storedBuild } from './scripts/stored-build.mjs'

// What the tests load as JavaScript that Node itself loads: the packages, file by file, and the program, bundled. All are made from the sources of this moment.
// Vitest gives each source file as a module of getters, in which the loop runs several times slower, and asks its main thread for each in each worker.

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the program: `bin/halting.js` runs it. */
    readonly program: string
    /** A folder of caches, in which the program stores its compiled code: what one test compiled, the others take. In no working copy, where it would not count. */
    readonly codeCache: string
  }
}

const root = fileURLToPath(new URL('.', import.meta.url))
const begin = 'under-test-'
/** One for each run of Vitest in this checkout. Below it, ripgrep and the packages are found. */
const folder = join(root, '.tmp', `${begin}${process.pid}`)
const source = (path: string): string => join(root, 'packages', path)

/** Where what a package is imported by lies in the sources. What is longer comes first: an alias of esbuild counts for what is below it, too. */
export const sources: { readonly [name: string]: string } = Object.fromEntries(
  packages
    .flatMap((name) =>
      entriesOf(name).map(({ specifier, path }) => [specifier, source(`${name}/src/${path}.ts`)] as const),
    )
    .toSorted(([one], [other]) => other.length - one.length),
)

/** Each source file of each package as JavaScript, which Node loads by itself. */
async function buildPackages(): Promise<void> {
  await Promise.all(
    packages.map(async (name) => {
      const outdir = join(folder, name)
      for (const { path, text } of await compiled(name, outdir)) writeFile(path, withBuiltImports(text, dirname(path)))
      // Dependencies of this package alone.
      if (existsSync(source(`${name}/node_modules`)))
        symlinkSync(source(`${name}/node_modules`), join(outdir, 'node_modules'))
    }),
  )
}

/** Where the built entry of a package lies, by what it is imported by. */
const builtEntries = new Map(
  packages.flatMap((name) =>
    entriesOf(name).map(({ specifier, path }) => [specifier, join(folder, name, `${path}.js`)] as const),
  ),
)

function withBuiltImports(text: string, home: string): string {
  return text.replaceAll(/(from |import |import\()"([^"\n]+)"/g, (all, before: string, name: string) => {
    const entry = builtEntries.get(name)
    if (entry !== undefined) return `${before}"${relative(home, entry)}"`
    if (!name.startsWith('.')) return all
    // The explorer looks into the sources of core.
    return `${before}"${name.replace(/\.\.\/([^./]+)\/src\//, '$1/').replace(/\.ts$/, '.js')}"`
  })
}

/** What was built of a source file or an entry that is imported; the package of `../src` follows from the importing file's folder. */
export function builtFile(imported: string, importer: string | undefined): string | undefined {
  const entry = builtEntries.get(imported)
  if (entry !== undefined || !imported.startsWith('.') || importer === undefined) return entry
  const [, name, path] = /^([^/]+)\/src\/(.*)\.ts$/.exec(relative(source(''), join(dirname(importer), imported))) ?? []
  return name === undefined ? undefined : join(folder, name, `${path}.js`)
}

interface Compiled {
  readonly path: string
  readonly text: string
}

/** All of a package's sources as the last run compiled them, where they are the same. */
async function compiled(name: string, outdir: string): Promise<readonly Compiled[]> {
  const store = join(root, '.tmp', 'compiled', `${name}.json`)
  const startedAt = Date.now()
  const inputs = [
    ...sourceFiles(name).map((path) => join(root, path)),
    join(root, 'vitest.build.ts'),
    join(root, 'tsconfig.base.json'),
    source(`${name}/tsconfig.json`),
  ]
  // With the list of files: one more is compiled, too.
  const key = JSON.stringify([version, inputs])
  let files = storedBuild(store, key) as readonly Compiled[] | undefined
  if (files === undefined) {
    files = await compile(name)
    storeBuild(store, key, inputs, startedAt, files)
  }
  return files.map(({ path, text }) => ({ path: join(outdir, path), text }))
}

async function compile(name: string): Promise<readonly Compiled[]> {
  const { outputFiles } = await build({
    entryPoints: [source(`${name}/src/**/*.ts`)],
    outbase: source(`${name}/src`),
    outdir: root,
    format: 'esm',
    target: 'node20.19',
    write: false,
    logLevel: 'warning',
  })
  return outputFiles.map(({ path, text }) => ({ path: relative(root, path), text }))
}

function writeFile(path: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}

async function bundleProgram(): Promise<string> {
  const home = join(folder, 'program')
  for (const part of ['bin', 'package.json']) cpSync(source(`cli/${part}`), join(home, part), { recursive: true })
  symlinkSync(source('cli/examples'), join(home, 'examples'))
  const { files, sourcesOf } = await currentProgram(join(home, 'dist'))
  for (const { path, contents } of files) writeFile(path, contents)
  // For tests of what a start loads.
  writeFile(join(home, 'sources.json'), JSON.stringify(sourcesOf))
  for (const { path, contents } of await pageBundle(join(home, 'dist', 'inspector'))) writeFile(path, contents)
  return home
}

export async function setup(project: TestProject): Promise<() => void> {
  mkdirSync(folder, { recursive: true })
  removeLeftOvers()
  await buildPackages()
  project.provide('program', await bundleProgram())
  const codeCache = mkdtempSync(join(tmpdir(), 'halting-test-code-'))
  project.provide('codeCache', codeCache)
  project.onTestsRerun(async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await buildPackages()
    await bundleProgram()
  })
  return () => {
    for (const path of [folder, codeCache]) rmSync(path, { recursive: true, force: true })
  }
}

/** Of runs that were killed. */
function removeLeftOvers(): void {
  for (const name of readdirSync(join(root, '.tmp'))) {
    if (name.startsWith(begin) && !isRunning(Number(name.slice(begin.length))))
      rmSync(join(root, '.tmp', name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
