// Node and a library for SQLite: those of this machine, and those that a deep check installs.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { installedNode, newestNode } from '../../../../scripts/node-binaries.mjs'
import { sources } from '../../../../vitest.build.ts'
import { isDeep, isWhole } from '../../../core/test/support/deep.ts'

/** An engine that the store is tested on. */
export interface Engine {
  readonly title: string
  /** Why it is not available; then there is nothing to run. */
  readonly why?: string
  readonly node: string
  /** The test program, bundled next to the library. */
  readonly program: string
}

const missing = (title: string, why: string): Engine => ({ title, why, node: '', program: '' })

const path = (relative: string): string => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url))

/** Every known engine, including those that are not available here. */
export async function enginesToTry(): Promise<readonly Engine[]> {
  return [await builtIn(), await betterSqlite()]
}

async function builtIn(): Promise<Engine> {
  if (process.getBuiltinModule('node:sqlite') !== undefined)
    return {
      title: `node:sqlite of Node ${process.versions.node}`,
      node: process.execPath,
      program: await bundled('.tmp/store-sqlite'),
    }
  const { title, bin, why = '' } = isDeep ? newestNode() : installedNode()
  if (bin === undefined) return missing(`node:sqlite of ${title}`, why)
  return { title: `node:sqlite of ${title}`, node: join(bin, 'node'), program: await bundled('.tmp/store-sqlite') }
}

/** Its installation compiles it, so it is not part of the workspace. */
async function betterSqlite(): Promise<Engine> {
  const title = `better-sqlite3 on Node ${process.versions.node}`
  const folder = path('.tmp/better-sqlite3')
  const binary = join(folder, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node')
  if (!existsSync(binary)) {
    if (!isWhole) return missing(title, 'npm run deep -- stores installs it')
    try {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'package.json'), '{ "private": true, "allowScripts": { "better-sqlite3": true } }\n')
      execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', 'better-sqlite3@12'], {
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 600_000,
      })
    } catch (error) {
      return missing(title, `it cannot be installed (${String(error).split('\n')[0]})`)
    }
    if (!existsSync(binary)) return missing(title, 'npm did not compile it')
  }
  return { title, node: process.execPath, program: await bundled('.tmp/better-sqlite3') }
}

async function bundled(folder: string): Promise<string> {
  const outfile = join(path(folder), `program-${process.pid}.mjs`)
  await build({
    entryPoints: [path('packages/store-sqlite/test/support/program.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    alias: sources,
    logLevel: 'warning',
  })
  return outfile
}
