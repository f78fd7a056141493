// Packs every package as npm would and looks at what a user would get. Nothing here needs the network.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packages, report, root } from './packages.mjs'

const cwd = fileURLToPath(root)
const destination = join(cwd, '.tmp', 'packed')
rmSync(destination, { recursive: true, force: true })
mkdirSync(destination, { recursive: true })

/** Packs all packages; returns what npm says of each. */
function pack() {
  const args = ['pack', '--json', '--offline', '--ignore-scripts', '--pack-destination', destination]
  const workspaces = packages.map((name) => `--workspace=packages/${name}`)
  const text = execFileSync('npm', [...args, ...workspaces], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return Object.values(JSON.parse(text))
}

/** Runs a tool of node_modules; returns whether it was content. Shows what it says only when it was not. */
function isContent(tool, ...args) {
  try {
    execFileSync(join(cwd, 'node_modules', '.bin', tool), args, { cwd, stdio: 'pipe' })
    return true
  } catch (error) {
    console.error(String(error.stdout), String(error.stderr))
    return false
  }
}

const packed = pack()
const problems = packed.flatMap(({ name, filename, files }) => {
  const tarball = join(destination, filename)
  const paths = files.map(({ path }) => path)
  const entry = name === 'halting' ? 'dist/main.js' : 'dist/index.js'
  return [
    ...(paths.includes(entry) ? [] : [`${name}: ${entry} is not packed; run npm run build`]),
    ...paths.filter((path) => /\.tsbuildinfo$|\.test\.ts$/.test(path)).map((path) => `${name}: packs ${path}`),
    ...(isContent('publint', 'run', '--strict', tarball) ? [] : [`${name}: publint`]),
    // The program exports nothing, so it has no types to get wrong.
    ...(name === 'halting' || isContent('attw', '--profile', 'esm-only', tarball) ? [] : [`${name}: attw`]),
  ]
})

if (packed.length !== packages.length) problems.push(`packed ${packed.length} of ${packages.length} packages`)
report('shape', packed.length, problems)
