// Bundles each package into its dist: a package of a hundred small files takes five times as long to import as one file.
// What is loaded with import() becomes a chunk of its own and costs nothing until it is used. The types come from tsc.
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { noticesOf } from './notices.mjs'
import { browserEntries, forBrowsers } from './browser-bundle.mjs'
import { entriesOf, packages } from './packages.mjs'
import { pageBundle } from './page-bundle.mjs'
import { programBundle } from './program-bundle.mjs'
import { withoutBareImports } from './without-bare-imports.mjs'

/** Libraries: their dependencies stay imports. Entries that share code share it through chunks, so each class exists once. */
const libraries = packages
  .map((name) => [name, Object.fromEntries(entriesOf(name).map(({ path }) => [path, `src/${path}.ts`]))])
  .filter(([, entryPoints]) => Object.keys(entryPoints).length > 0)

/** Names of core and their sources, the longest first: an alias also applies to paths below it. */
const coreSources = Object.fromEntries(
  entriesOf('core')
    .toSorted((one, other) => other.specifier.length - one.specifier.length)
    .map(({ specifier, path }) => [
      specifier,
      fileURLToPath(new URL(`../packages/core/src/${path}.ts`, import.meta.url)),
    ]),
)

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url))

async function bundle(name, entryPoints, options) {
  const folder = fileURLToPath(new URL(`../packages/${name}/`, import.meta.url))
  const { outdir = 'dist' } = options
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints,
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
    ...options,
  })
  replace(join(folder, outdir, 'chunks'), withoutBareImports(outputFiles))
}

async function bundleProgram() {
  const dist = fileURLToPath(new URL('../packages/cli/dist/', import.meta.url))
  const { files, inputs } = await programBundle(dist)
  // A plugin bundles the parser of shell commands, so it is not among these inputs.
  writeFileSync(join(dist, 'notices.txt'), noticesOf([...inputs, join(modules, 'unbash', 'package.json')]))
  replace(join(dist, 'chunks'), files)
  // Left by a build from before there were scripts.
  rmSync(join(dist, 'main.js'), { force: true })
}

/** Writes new chunks first, then the entries that import them, and then removes the old chunks. A program that runs the package meanwhile finds it complete. */
function replace(chunks, files) {
  const isChunk = ({ path }) => dirname(path) === chunks
  for (const { path, contents } of files.toSorted((a, b) => Number(isChunk(b)) - Number(isChunk(a)))) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.new`, contents)
    renameSync(`${path}.new`, path)
  }
  mkdirSync(chunks, { recursive: true })
  const current = new Set(files.filter(isChunk).map(({ path }) => basename(path)))
  for (const file of readdirSync(chunks)) if (!current.has(file)) rmSync(join(chunks, file))
}

/**
 * The file that CommonJS loads for an entry: the same ES module, so that each class exists once. Node can `require()` it since 20.19; TypeScript with `module: node16` assumes
 * that no Node can, hence the ignored error.
 */
function writeCommonJsEntries(name, paths) {
  for (const path of paths) {
    const file = `./${basename(path)}.js`
    const entry = fileURLToPath(new URL(`../packages/${name}/dist/${path}`, import.meta.url))
    writeFileSync(`${entry}.cjs`, `'use strict'\nmodule.exports = require('${file}')\n`)
    writeFileSync(
      `${entry}.d.cts`,
      `// @ts-ignore: every Node that this package supports can require() an ES module.\nexport * from '${file}'\n`,
    )
  }
}

for (const [name, entryPoints] of libraries) {
  await bundle(name, entryPoints, {
    platform: name === 'core' ? 'neutral' : 'node',
    // The explorer uses internals of core: it imports the one core of its bundle, and is not published.
    ...(name === 'explorer' ? { alias: coreSources } : { packages: 'external' }),
  })
  writeCommonJsEntries(name, Object.keys(entryPoints))
}

await bundle('models', Object.fromEntries(browserEntries.map((path) => [path, `src/${path}.ts`])), {
  ...forBrowsers,
  packages: 'external',
  outdir: join('dist', 'browser'),
})

await bundleProgram()

const page = fileURLToPath(new URL('../packages/inspector/dist/page', import.meta.url))
const pageFiles = await pageBundle(page)
for (const folder of [page, fileURLToPath(new URL('../packages/cli/dist/inspector', import.meta.url))])
  for (const { path, contents } of pageFiles) {
    const target = join(folder, relative(page, path))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(`${target}.new`, contents)
    renameSync(`${target}.new`, target)
  }
