import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigurationError } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { realPath } from '@halting/journal/files'
import { isInRange } from '../version-range.ts'

/** An installed package, and the file that an import of it loads. */
export interface FoundPackage {
  /** Name of the package. */
  readonly name: string
  /** Version of the package. */
  readonly version: string
  /** Folder of the package. */
  readonly folder: string
  /** The file that an import loads. */
  readonly file: string
  /** The command that replaces the package with the newest version for this Node. */
  readonly update: string
}

/** The package to find, and where to search. */
export interface PackageQuery {
  /** Name of the package. */
  readonly name: string
  /** A subpath of the package (default: its main entry). */
  readonly entry?: string | undefined
  /** Folders with their own packages, which precede globally installed ones. */
  readonly folders: readonly string[]
  /** Packages in this folder are not loaded, unless a folder is named. */
  readonly cwd: string
}

/**
 * Finds an installed package without loading it: in the folders, then in npm's global folder, then where this program
 * is installed.
 * @throws ConfigurationError if it is not installed, needs another Node, or has no such entry.
 */
export function findPackage(query: PackageQuery): FoundPackage {
  const { name, folders } = query
  const places = [...folders.flatMap(modulesIn), ...globalModules(query.cwd)]
  for (const modules of places) {
    const folder = join(modules, ...name.split('/'))
    const manifest = manifestOf(folder)
    if (manifest !== undefined) return checked(query, folder, manifest)
  }
  const [first] = folders
  const looked = folders.length === 0 ? '' : ` (also looked for in ${folders.join(', ')})`
  const here = first === undefined ? '' : `, or npm install --prefix ${first} ${name}`
  throw new ConfigurationError(
    `The package ${name} is not installed on ${hostname()}${looked}. Install it: npm install -g ${name}${here}.`,
  )
}

type Manifest = Readonly<Record<string, unknown>>

function manifestOf(folder: string): Manifest | undefined {
  let text: string
  try {
    text = readFileSync(join(folder, 'package.json'), 'utf8')
  } catch {
    return undefined
  }
  try {
    const manifest: unknown = JSON.parse(text)
    if (isJsonObject(manifest)) return manifest
  } catch {
    // Handled below.
  }
  throw new ConfigurationError(`${join(folder, 'package.json')} cannot be read. Install the package again.`)
}

function checked({ name, entry, folders }: PackageQuery, folder: string, manifest: Manifest): FoundPackage {
  const version = typeof manifest['version'] === 'string' ? manifest['version'] : ''
  const { engines } = manifest
  const range = isJsonObject(engines) && typeof engines['node'] === 'string' ? engines['node'] : '*'
  const { node } = process.versions
  const [inFolder] = folders.filter((each) => folder.startsWith(join(each, sep)))
  // With a range, npm selects a version for this Node. Without a range, npm would retain the version of the folder's
  // package.json.
  const update = `npm install ${inFolder === undefined ? '-g' : `--prefix ${inFolder}`} ${name}@x`
  if (!isInRange(range, node)) {
    const major = /^[^\d]*(\d+)(?:\.0)*$/.exec(range.trim())?.[1]
    throw new ConfigurationError(
      `${name} ${version} needs Node ${major ?? range}; this is ${node}. Start halting with such a Node, or install the package ` +
        `again with this one, for which npm chooses a matching version: ${update}.`,
    )
  }
  const target = entryOf(manifest, entry)
  const file = target === undefined ? undefined : resolve(folder, target)
  if (file === undefined || !isWithin(file, folder)) {
    const what = entry === undefined ? 'nothing that can be imported' : `no entry "${entry}"`
    throw new ConfigurationError(
      `${name} ${version} in ${folder} has ${what}.${entry === undefined ? ' Is it a provider package of the AI SDK?' : ' Set another "entry" in aiSdk of the settings, or none.'}`,
    )
  }
  return { name, version, folder, file, update }
}

function isWithin(file: string, folder: string): boolean {
  const path = relative(folder, file)
  return path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..'
}

/**
 * The file that an `import` of the package or a subpath loads, relative to its folder. Undefined if it has no such
 * export.
 */
function entryOf(manifest: Manifest, entry: string | undefined): string | undefined {
  const { exports, main } = manifest
  const subpath = entry === undefined ? '.' : `./${entry}`
  if (exports === undefined || exports === null) {
    if (entry !== undefined) return /\.[cm]?js$/.test(entry) ? subpath : `${subpath}.js`
    if (typeof main !== 'string' || main === '') return './index.js'
    return /\.[cm]?js$/.test(main) ? main : `${main}.js`
  }
  const isMap = isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith('.'))
  if (!isMap) return subpath === '.' ? targetOf(exports) : undefined
  if (Object.hasOwn(exports, subpath)) return targetOf(exports[subpath])
  // The longest pattern applies, as in Node.
  const patterns = Object.keys(exports)
    .filter((key) => key.includes('*'))
    .toSorted((one, other) => other.length - one.length)
  for (const pattern of patterns) {
    const [start = '', end = ''] = pattern.split('*')
    if (subpath.length < pattern.length || !subpath.startsWith(start) || !subpath.endsWith(end)) continue
    const match = subpath.slice(start.length, subpath.length - end.length)
    return targetOf(exports[pattern])?.replaceAll('*', match)
  }
  return undefined
}

const conditions: ReadonlySet<string> = new Set(['node', 'import', 'module-sync', 'default'])

/** The first matching condition of an `import` in this Node. */
function targetOf(target: unknown): string | undefined {
  if (typeof target === 'string') return target.startsWith('./') ? target : undefined
  if (Array.isArray(target)) {
    const [first] = target.map(targetOf).filter((found) => found !== undefined)
    return first
  }
  if (!isJsonObject(target)) return undefined
  for (const [condition, inner] of Object.entries(target)) {
    const found = conditions.has(condition) ? targetOf(inner) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** `npm install --prefix` creates the first folder, and `npm install -g` the second. */
function modulesIn(folder: string): readonly string[] {
  return [join(folder, 'node_modules'), join(folder, 'lib', 'node_modules')]
}

/** npm's global folder, NODE_PATH, and where this program is installed. */
function globalModules(cwd: string): readonly string[] {
  const bin = dirname(process.execPath)
  const ofNode =
    process.platform === 'win32' ? [join(bin, 'node_modules')] : [join(dirname(bin), 'lib', 'node_modules')]
  const ofNpm =
    process.platform === 'win32' && process.env['APPDATA'] ? [join(process.env['APPDATA'], 'npm', 'node_modules')] : []
  const separator = process.platform === 'win32' ? ';' : ':'
  // Package managers add the project's own folder to NODE_PATH.
  const named = (process.env['NODE_PATH'] ?? '')
    .split(separator)
    .filter((path) => isAbsolute(path) && !isBelow(path, cwd))
  return [...ofNode, ...ofNpm, ...named, ...modulesOfProgram(fileURLToPath(import.meta.url), cwd)]
}

/** Whether a path is below a folder, also through links. */
function isBelow(path: string, folder: string): boolean {
  const [inner, outer] = [realPath(path), realPath(folder)]
  return inner === outer || isWithin(inner, outer)
}

/**
 * Folders in which imports of this program find packages, up to the outermost folder that it is installed in: folders
 * above may belong to a project, such as a user's home.
 */
export function modulesOfProgram(program: string, cwd: string): readonly string[] {
  const around = modulesAround(dirname(program))
  const outermost = around.findLastIndex((modules) => isWithin(program, modules))
  return outermost === -1 ? around.filter((modules) => !isBelow(modules, cwd)) : around.slice(0, outermost + 1)
}

function modulesAround(folder: string): readonly string[] {
  const parent = dirname(folder)
  const here = join(folder, 'node_modules')
  return parent === folder ? [here] : [here, ...modulesAround(parent)]
}
