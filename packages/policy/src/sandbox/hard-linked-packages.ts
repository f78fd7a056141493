import { lstatSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { exists } from './on-disk.ts'

/** Folders of packages whose files are hard links into a store outside: writing one would change the store. */
export interface LinkedPackages {
  readonly readOnly: readonly string[]
  /** Folders in these packages that tools write. */
  readonly writable: readonly string[]
}

/** Caches of tools in `node_modules`. */
const nestedCaches = ['.cache', '.vite', '.vite-temp', '.vitest', '.tmp', '.astro']

const linkedCache = new Map<string, { readonly changedMs: number; readonly found: LinkedPackages }>()
const noPackages: LinkedPackages = { readOnly: [], writable: [] }

/**
 * The package folders (`node_modules`, `.venv`) that pnpm, bun or uv filled with hard links to their store. Checking one
 * file is enough, as these tools link either all files or none.
 */
export function linkedPackages(folders: readonly string[]): LinkedPackages {
  const all = folders.map((folder) => {
    const changedMs = lstatSync(folder, { throwIfNoEntry: false })?.ctimeMs ?? 0
    const before = linkedCache.get(folder)
    if (before?.changedMs === changedMs) return before.found
    const found = /^\.?venv$/.test(basename(folder)) ? inEnvironment(folder) : inNodeModules(folder)
    linkedCache.set(folder, { changedMs, found })
    return found
  })
  return { readOnly: all.flatMap((one) => one.readOnly), writable: all.flatMap((one) => one.writable) }
}

function inNodeModules(folder: string): LinkedPackages {
  const store = join(folder, '.pnpm')
  if (exists(store)) {
    const packages = namesIn(store).flatMap((name) => packagesIn(join(store, name, 'node_modules')))
    return isLinked(packages, 'package.json') ? { readOnly: [store], writable: [] } : noPackages
  }
  if (!isLinked(packagesIn(folder), 'package.json')) return noPackages
  return { readOnly: [folder], writable: nestedCaches.map((name) => join(folder, name)).filter(exists) }
}

function inEnvironment(folder: string): LinkedPackages {
  const places = namesIn(join(folder, 'lib')).map((name) => join(folder, 'lib', name, 'site-packages'))
  return {
    readOnly: places.filter((place) =>
      isLinked(
        namesIn(place).flatMap((name) => (name.endsWith('.dist-info') ? [join(place, name)] : [])),
        'METADATA',
      ),
    ),
    writable: [],
  }
}

/** Packages that are folders themselves, not links to others. */
function packagesIn(folder: string): readonly string[] {
  return namesIn(folder).flatMap((name) => {
    if (name.startsWith('.')) return []
    return name.startsWith('@')
      ? namesIn(join(folder, name)).map((inner) => join(folder, name, inner))
      : [join(folder, name)]
  })
}

const maxLookedAt = 20

function isLinked(packages: readonly string[], file: string): boolean {
  return packages.slice(0, maxLookedAt).some((folder) => {
    try {
      return lstatSync(folder).isDirectory() && lstatSync(join(folder, file)).nlink > 1
    } catch {
      return false
    }
  })
}

const maxNames = 200

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).slice(0, maxNames)
  } catch {
    return []
  }
}
