import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type BuildOptions } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { withoutBareImports } from './scripts/without-bare-imports.mjs'

// What the tests load as it is shipped, in one file each: core, where a test does not look into it, and the program. They are bundled from the sources
// of this moment. Vitest gives each source file as a module of getters, in which the loop runs several times slower.

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

export const bundledCore: string = join(folder, 'core')

/** Where what a package is imported by lies in the sources. */
export const sources: { readonly [name: string]: string } = {
  '@halting/core/steps': source('core/src/steps/index.ts'),
  '@halting/core/adapters': source('core/src/adapters/index.ts'),
  '@halting/core/testing': source('core/src/testing/index.ts'),
  '@halting/core': source('core/src/index.ts'),
  '@halting/models/scripted': source('models/src/scripted/index.ts'),
  '@halting/models/ai-sdk': source('models/src/ai-sdk/index.ts'),
  '@halting/models': source('models/src/index.ts'),
  '@halting/agent/foreign': source('agent/src/session/foreign/index.ts'),
  '@halting/agent': source('agent/src/index.ts'),
}

const common = {
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  logLevel: 'warning',
} satisfies BuildOptions

async function bundleCore(): Promise<void> {
  const entries = ['index', 'steps/index', 'adapters/index', 'testing/index']
  await build({
    ...common,
    entryPoints: Object.fromEntries(entries.map((entry) => [entry, source(`core/src/${entry}.ts`)])),
    outdir: bundledCore,
    platform: 'neutral',
    sourcemap: 'inline',
  })
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
    external: ['@vscode/ripgrep'],
    alias: sources,
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  })
  for (const { path, contents } of withoutBareImports(outputFiles)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, contents)
  }
  return home
}

export async function setup(project: TestProject): Promise<() => void> {
  removeLeftOvers()
  mkdirSync(folder, { recursive: true })
  await bundleCore()
  project.provide('program', await bundleProgram())
  project.onTestsRerun(async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await bundleCore()
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
