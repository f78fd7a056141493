// The Node versions that a release is tested on: the oldest that package.json supports, and the newest with long-term support.
// npm has their binaries as packages, one per platform. They are stored in .tmp/nodes.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './packages.mjs'

const systems = { linux: 'linux', darwin: 'darwin', win32: 'win' }
const platformPackage = `node-${systems[process.platform] ?? process.platform}-${process.arch}`
const store = fileURLToPath(new URL('.tmp/nodes/', root))
const patienceMs = 300_000

/** Each as `{ title, bin }`, or as `{ title, why }` if it cannot be installed. If none can be installed, the Node that runs this. `bin` is the folder of `node`. */
export function nodesToTry() {
  const wanted = [attempt('the oldest Node', oldest), attempt('the newest LTS', newestLts)]
  const own = { title: `this Node, ${process.version}`, bin: dirname(process.execPath) }
  return wanted.every(({ bin }) => bin === undefined) ? [...wanted, own] : wanted
}

/** Only the newest with long-term support, for programs of others that need one. */
export function newestNode() {
  return attempt('the newest LTS', newestLts)
}

/** The newest with long-term support that is installed here already. Uses no registry. */
export function installedNode() {
  return attempt('the newest LTS here', () => {
    const versions = existsSync(store) ? readdirSync(store) : []
    for (const version of versions.toSorted((a, b) => Number(b.split('.')[0]) - Number(a.split('.')[0]))) {
      const node = installed(version)
      if (node.isLts) return node
    }
    throw new Error('npm run deep -- stores brings one')
  })
}

function attempt(title, find) {
  try {
    const { version, bin } = find()
    return { title: `${title}, ${version}`, bin }
  } catch (error) {
    const [why] = String(error.stderr || error.message)
      .trim()
      .split('\n')
    return { title, why: `${platformPackage} cannot be had (${why})` }
  }
}

function oldest() {
  const { engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  const [version] = /\d+\.\d+/.exec(engines.node)
  return installed(`${version}.0`)
}

/** Only the binary itself says whether its line has long-term support. Odd lines never have it. */
function newestLts() {
  const versions = JSON.parse(npm('view', platformPackage, 'versions', '--json'))
  const newest = new Map()
  for (const version of versions)
    if (/^\d+\.\d+\.\d+$/.test(version)) newest.set(Number(version.split('.')[0]), version)
  const even = [...newest].filter(([major]) => major % 2 === 0).toSorted(([a], [b]) => b - a)
  for (const [, version] of even.slice(0, 3)) {
    const node = installed(version)
    if (node.isLts) return node
  }
  throw new Error('no version has long-term support')
}

function installed(version) {
  const folder = join(store, version)
  const bin = join(folder, 'node_modules', platformPackage, 'bin')
  if (!existsSync(bin)) {
    mkdirSync(folder, { recursive: true })
    // A root of its own: npm would search the parent folders for one.
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    npm(
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      `${platformPackage}@${version}`,
    )
  }
  const [actualVersion, lts] = JSON.parse(
    execFileSync(join(bin, 'node'), ['-p', 'JSON.stringify([process.version, process.release.lts ?? ""])'], {
      encoding: 'utf8',
    }),
  )
  return { version: actualVersion, bin, isLts: lts !== '' }
}

function npm(...args) {
  return execFileSync('npm', args, {
    cwd: fileURLToPath(root),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
  })
}
