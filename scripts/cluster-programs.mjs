// Prepares what the programs for a cluster need: servers from npm, stored in a folder of .tmp, and bundles for a Node that the engine's SDK runs on.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { installPackages } from './install-packages.mjs'
import { root } from './packages.mjs'

const platform = `${process.platform}-${process.arch}`
/** Servers that npm has as packages, with the file to run of each. The first one is the engine. */
const servers = {
  restate: { name: `@restatedev/restate-server-${platform}`, version: '1.7.12', file: 'bin/restate-server' },
  'restate-cli': { name: '@restatedev/restate', version: '1.7.12', file: 'lib/index.js' },
  s3: { name: '@20minutes/s3rver', version: '4.0.4', file: 'lib/s3rver.js' },
}
const patienceMs = 600_000

/** Returns `{ program, version }`, or `{ why }` if it cannot be installed. */
export function serverOf(key) {
  const { name, version, file } = servers[key]
  const folder = fileURLToPath(new URL(`.tmp/${key}/${version}/`, root))
  const program = join(folder, 'node_modules', name, file)
  if (existsSync(program)) return { program, version }
  mkdirSync(folder, { recursive: true })
  const { why } = installPackages(folder, [`${name}@${version}`], { patienceMs })
  return why === undefined ? { program, version } : { why: `${name} cannot be had (${why})` }
}

/** `entryPoints` are relative to the root of the repository. Each becomes a file NAME.mjs in the folder. */
export async function bundleInto(folder, options) {
  await build({
    absWorkingDir: fileURLToPath(root),
    ...options,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    packages: 'external',
    logLevel: 'warning',
  })
}
