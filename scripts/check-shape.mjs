// Packs every package and checks what a user would get: which files, how large, whether it declares all that it imports, and whether tools find the types.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { browserKilobytes, browserSizes } from './browser-sizes.mjs'
import { pack } from './pack.mjs'
import { packedFiles } from './packed-files.mjs'
import { publishedPackages, report, root } from './packages.mjs'
import { undeclaredImports } from './undeclared-imports.mjs'

const cwd = fileURLToPath(root)

/** Runs a tool of node_modules. Returns whether it succeeded. Prints its output only if it failed. */
function isContent(tool, ...args) {
  try {
    execFileSync(join(cwd, 'node_modules', '.bin', tool), args, { cwd, stdio: 'pipe' })
    return true
  } catch (error) {
    console.error(String(error.stdout), String(error.stderr))
    return false
  }
}

/** Packed files that are not on the list, and types whose source is gone: `tsc -b` leaves them behind. */
function strangers(folder, files, { holds }) {
  const hasSource = (path) =>
    existsSync(join(cwd, 'packages', folder, path.replace(/^dist\/(.*)\.d\.ts$/, 'src/$1.ts')))
  return files.filter((path) => {
    const isListed = holds.some((pattern) => pattern.test(path))
    return !isListed || (path.endsWith('.d.ts') && !hasSource(path))
  })
}

function tooLarge({ size, unpackedSize }, { maxBytes }) {
  const excess = (kind, bytes, most) => (bytes > most ? [`${bytes} bytes ${kind}, and ${most} is the most`] : [])
  return [...excess('packed', size, maxBytes.packed), ...excess('unpacked', unpackedSize, maxBytes.unpacked)]
}

/** What npm would correct or refuse when the packages are published, in its words. A missing login is no problem here. */
function publishWarnings() {
  const workspaces = publishedPackages.map((name) => `--workspace=packages/${name}`)
  const { status, stderr } = spawnSync(
    'npm',
    ['publish', '--dry-run', '--offline', '--ignore-scripts', ...workspaces],
    {
      cwd,
      encoding: 'utf8',
    },
  )
  const lines = stderr
    .split('\n')
    .filter((line) => /^npm (?:warn|error)/.test(line) && !line.includes('to be logged in'))
  return status === 0 || lines.length > 0 ? lines : [`npm publish --dry-run: exit ${status}`]
}

const packed = pack()
const problems = packed.flatMap(({ name, tarball, files, ...sizes }) => {
  const listed = packedFiles[name]
  const folder = name === 'halting' ? 'cli' : name.replace('@halting/', '')
  return [
    ...(files.includes(listed.entry) ? [] : [`${name}: ${listed.entry} is not packed; run npm run build`]),
    ...strangers(folder, files, listed).map(
      (path) => `${name}: packs ${path}, which scripts/packed-files.mjs does not list`,
    ),
    ...undeclaredImports(folder, files),
    ...tooLarge(sizes, listed).map((excess) => `${name}: ${excess} by scripts/packed-files.mjs`),
    ...(isContent('publint', 'run', '--strict', tarball) ? [] : [`${name}: publint`]),
    // The program exports nothing, so it has no types to check.
    ...(name === 'halting' || isContent('attw', tarball) ? [] : [`${name}: attw`]),
  ]
})

const sizes = await browserSizes()
for (const [what, bytes] of Object.entries(sizes)) {
  console.log(`${(bytes / 1_000).toFixed(0)} kB by gzip for a page with ${what}`)
  const most = browserKilobytes[what] * 1_000
  if (bytes > most)
    problems.push(`a page with ${what}: ${bytes} bytes, and ${most} is the most by scripts/browser-sizes.mjs`)
}
problems.push(...publishWarnings())
if (packed.length !== publishedPackages.length)
  problems.push(`packed ${packed.length} of ${publishedPackages.length} packages`)
report('shape', packed.length, problems)
