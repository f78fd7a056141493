// Bundles each package into its dist: a package of a hundred small files takes five times as long to import as one file.
// What is loaded with import() becomes a chunk of its own and costs nothing until it is used. The types come from tsc.
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { lazyParser } from './lazy-parser.mjs'
import { lazyGraphemes } from './lazy-graphemes.mjs'
import { noticesOf } from './notices.mjs'
import { openTelemetryModules } from './open-telemetry-modules.mjs'
import { browserEntries, forBrowsers } from './browser-bundle.mjs'
import { entriesOf, packages } from './packages.mjs'
import { pageBundle } from './page-bundle.mjs'
import { withoutBareImports } from './without-bare-imports.mjs'

/** Libraries: what they depend on stays an import. Entries that share code share it through chunks, so a class exists once. */
const libraries = packages
  .map((name) => [name, Object.fromEntries(entriesOf(name).map(({ path }) => [path, `src/${path}.ts`]))])
  .filter(([, entryPoints]) => Object.keys(entryPoints).length > 0)

/** Names of core and their sources, the longest first: an alias counts for what is below it, too. */
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
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints,
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
    ...options,
  })
  if (name === 'cli') {
    // The parser of shell commands is bundled by a plugin, and is no input of this.
    const inputs = [
      ...Object.keys(metafile.inputs).map((path) => join(folder, path)),
      join(modules, 'unbash', 'package.json'),
    ]
    writeFileSync(join(folder, 'dist', 'notices.txt'), noticesOf(inputs))
  }
  replace(join(folder, outdir, 'chunks'), withoutBareImports(outputFiles))
}

/** New chunks first, then the entries that import them, then the old chunks go: whoever runs the package meanwhile finds it whole. */
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
 * What CommonJS loads of an entry: the same ES module, so that each class exists once. Node can `require()` it since 20.19; TypeScript with `module: node16`
 * assumes that no Node can, hence the ignored error.
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
    // The explorer looks into core: it has the one core in its bundle, and is not published.
    ...(name === 'explorer' ? { alias: coreSources } : { packages: 'external' }),
  })
  writeCommonJsEntries(name, Object.keys(entryPoints))
}

await bundle('models', Object.fromEntries(browserEntries.map((path) => [path, `src/${path}.ts`])), {
  ...forBrowsers,
  packages: 'external',
  outdir: join('dist', 'browser'),
})

await bundle(
  'cli',
  { main: 'src/main.ts' },
  {
    platform: 'node',
    // Our packages have no side effects: an import that only makes a chunk load with another one may be left out.
    logOverride: { 'ignored-bare-import': 'silent' },
    // Finds its binary next to its own file.
    // Optional peers: one has binaries of its own, the other is for clusters alone.
    external: ['@vscode/ripgrep', 'sharp', '@halting/restate'],
    // Whoever only asks a cluster needs no package of it.
    alias: {
      '@halting/restate/client': fileURLToPath(new URL('../packages/restate/dist/client/index.js', import.meta.url)),
    },
    plugins: [lazyParser(), lazyGraphemes(), openTelemetryModules()],
    // CommonJS packages inside an ES module still call require().
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  },
)

for (const folder of ['packages/inspector/dist/page', 'packages/cli/dist/inspector'])
  for (const { path, contents } of await pageBundle(fileURLToPath(new URL(`../${folder}`, import.meta.url)))) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.new`, contents)
    renameSync(`${path}.new`, path)
  }
