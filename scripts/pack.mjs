// Packs every published package as npm would, into .tmp/packed. Uses no network.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publishedPackages, root } from './packages.mjs'

const cwd = fileURLToPath(root)

/** Returns the name of each package, its tarball, its files, and its size in bytes, packed and unpacked. */
export function pack() {
  const destination = join(cwd, '.tmp', 'packed')
  rmSync(destination, { recursive: true, force: true })
  mkdirSync(destination, { recursive: true })
  const args = ['pack', '--json', '--offline', '--ignore-scripts', '--pack-destination', destination]
  const workspaces = publishedPackages.map((name) => `--workspace=packages/${name}`)
  const text = execFileSync('npm', [...args, ...workspaces], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return Object.values(JSON.parse(text)).map(({ name, filename, files, size, unpackedSize }) => ({
    name,
    tarball: join(destination, filename),
    files: files.map(({ path }) => path),
    size,
    unpackedSize,
  }))
}
