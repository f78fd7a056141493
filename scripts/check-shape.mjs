// Packs every package and looks at what a user would get: which files, how large, whether it declares all that it imports, and whether tools find the types.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pack } from './pack.mjs'
import { packedFiles } from './packed-files.mjs'
import { publishedPackages, report, root } from './packages.mjs'
import { undeclaredImports } from './undeclared-imports.mjs'

const cwd = fileURLToPath(root)

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

/** What is packed and not on the list, and types whose source is gone: `tsc -b` leaves them behind. */
function strangers(files, { holds }) {
  const sourceOf = (path) => path.replace(/^dist\/(.*)\.d\.ts(?:\.map)?$/, 'src/$1.ts')
  return files.filter((path) => {
    const isListed = holds.some((pattern) => pattern.test(path))
    return !isListed || (/\.d\.ts(?:\.map)?$/.test(path) && !files.includes(sourceOf(path)))
  })
}

function tooLarge({ size, unpackedSize }, { mostBytes }) {
  const told = (kind, bytes, most) => (bytes > most ? [`${bytes} bytes ${kind}, and ${most} is the most`] : [])
  return [...told('packed', size, mostBytes.packed), ...told('unpacked', unpackedSize, mostBytes.unpacked)]
}

const packed = pack()
const problems = packed.flatMap(({ name, tarball, files, ...sizes }) => {
  const listed = packedFiles[name]
  return [
    ...(files.includes(listed.entry) ? [] : [`${name}: ${listed.entry} is not packed; run npm run build`]),
    ...strangers(files, listed).map((path) => `${name}: packs ${path}, which scripts/packed-files.mjs does not list`),
    ...undeclaredImports(name === 'halting' ? 'cli' : name.replace('@halting/', ''), files),
    ...tooLarge(sizes, listed).map((told) => `${name}: ${told} by scripts/packed-files.mjs`),
    ...(isContent('publint', 'run', '--strict', tarball) ? [] : [`${name}: publint`]),
    // The program exports nothing, so it has no types to get wrong.
    ...(name === 'halting' || isContent('attw', '--profile', 'esm-only', tarball) ? [] : [`${name}: attw`]),
  ]
})

if (packed.length !== publishedPackages.length)
  problems.push(`packed ${packed.length} of ${publishedPackages.length} packages`)
report('shape', packed.length, problems)
