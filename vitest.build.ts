import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type BuildOptions } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { lazyParser } from './scripts/lazy-parser.mjs'
import { lazyGraphemes } from './scripts/lazy-graphemes.mjs'
import { openTelemetryModules } from './scripts/open-telemetry-modules.mjs'
import { pageBundle } from './scripts/page-bundle.mjs'
import { withoutBareImports } from './scripts/without-bare-imports.mjs'

// What the tests load as JavaScript that Node itself loads: core, file by file, and the program, bundled. Both are made from the sources of this moment.
// Vitest gives each source file as a module of getters, in which the loop runs several times slower.

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the program: `bin/halting.js` runs it. */
    readonly program: string
  }
}

const root = fileURLToPath(new URL('.', import.meta.url))
const begin = 'under-test-'
/** One for each run of Vitest in this checkout. Below it, ripgrep and the packages are found. */
const folder = join(root, '.tmp', `${begin}${process.pid}`)
const source = (path: string): string => join(root, 'packages', path)

/** The sources of core, each file as `.js`. */
export const core: string = join(folder, 'core')

/** Where what a package is imported by lies in the sources. */
export const sources: { readonly [name: string]: string } = {
  '@halting/core/steps': source('core/src/steps/index.ts'),
  '@halting/core/adapters': source('core/src/adapters/index.ts'),
  '@halting/core/after': source('core/src/after/index.ts'),
  '@halting/core/testing': source('core/src/testing/index.ts'),
  '@halting/core': source('core/src/index.ts'),
  '@halting/models/scripted': source('models/src/scripted/index.ts'),
  '@halting/models/ai-sdk': source('models/src/ai-sdk/index.ts'),
  '@halting/models': source('models/src/index.ts'),
  '@halting/agent/sandbox': source('agent/src/sandbox/index.ts'),
  '@halting/agent/telemetry': source('agent/src/telemetry/index.ts'),
  '@halting/agent/session': source('agent/src/live-session/index.ts'),
  '@halting/agent/foreign': source('agent/src/session/foreign/index.ts'),
  '@halting/agent/after': source('agent/src/after/index.ts'),
  '@halting/agent/hooks': source('agent/src/hooks/index.ts'),
  '@halting/agent/mcp': source('agent/src/mcp/index.ts'),
  '@halting/agent/json-schema': source('agent/src/json-schema/index.ts'),
  '@halting/agent/memory': source('agent/src/memory/index.ts'),
  '@halting/agent/instructions': source('agent/src/instructions/index.ts'),
  '@halting/agent': source('agent/src/index.ts'),
  '@halting/inspector/changing-calls': source('inspector/src/changing-calls.ts'),
  '@halting/inspector/what-if-words': source('inspector/src/what-if-words.ts'),
  '@halting/inspector/figures': source('inspector/src/figures.ts'),
  '@halting/inspector/visible': source('inspector/src/visible.ts'),
  '@halting/inspector/open-entries': source('inspector/src/told/open-entries.ts'),
  '@halting/inspector': source('inspector/src/index.ts'),
  '@halting/restate/client': source('restate/src/client/index.ts'),
  '@halting/restate': source('restate/src/index.ts'),
}

const common = {
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  logLevel: 'warning',
} satisfies BuildOptions

async function buildCore(): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: [source('core/src/**/*.ts')],
    outbase: source('core/src'),
    outdir: core,
    format: 'esm',
    target: common.target,
    write: false,
    logLevel: 'warning',
  })
  for (const { path, text } of outputFiles)
    writeFile(path, text.replaceAll(/(from |import |import\()"(\.{1,2}\/[^"]+)\.ts"/g, '$1"$2.js"'))
}

function writeFile(path: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}

async function bundleProgram(): Promise<string> {
  const home = join(folder, 'program')
  for (const part of ['bin', 'package.json']) cpSync(source(`cli/${part}`), join(home, part), { recursive: true })
  symlinkSync(source('cli/examples'), join(home, 'examples'))
  const { outputFiles } = await build({
    ...common,
    write: false,
    absWorkingDir: source('cli'),
    entryPoints: { main: 'src/main.ts' },
    outdir: join(home, 'dist'),
    platform: 'node',
    external: ['@vscode/ripgrep', '@halting/restate'],
    plugins: [lazyParser(), lazyGraphemes(), openTelemetryModules()],
    alias: Object.fromEntries(Object.entries(sources).filter(([name]) => name !== '@halting/restate')),
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  })
  for (const { path, contents } of withoutBareImports(outputFiles)) writeFile(path, contents)
  for (const { path, contents } of await pageBundle(join(home, 'dist', 'inspector'))) writeFile(path, contents)
  return home
}

export async function setup(project: TestProject): Promise<() => void> {
  mkdirSync(folder, { recursive: true })
  removeLeftOvers()
  await buildCore()
  project.provide('program', await bundleProgram())
  project.onTestsRerun(async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await buildCore()
    await bundleProgram()
  })
  return () => rmSync(folder, { recursive: true, force: true })
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
