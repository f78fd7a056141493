import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { uptime } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { bothEnds, type Environment, isDirectory, isInside, realPath, statOf } from '../files/paths.ts'
import { type CachePlace, cachePlaces, cacheVariables } from './cache-places.ts'
import { markUsed, sweepCaches } from './cache-sweep.ts'
import type { EnteredCaches, ProjectCaches } from './edit-command.ts'
import { detectOverlays, type Overlay, overlayCommand, type OverlayMeans } from './overlay-launcher.ts'
import { isPerlVariable } from './perl-command.ts'
import { removeTree } from './remove-tree.ts'
import { findPerl } from './wall-means.ts'

/** Options of the caches of confined commands. */
export interface ToolCachesOptions {
  /** The folder with one folder per project; created when needed. */
  readonly folder: string
  /** The folder of the project. */
  readonly project: string
  /** The person's own folder. */
  readonly home: string
  /** The directories of the session. */
  readonly directories: readonly string[]
  /** The search path, for perl. */
  readonly path: string
  /** Path of bubblewrap. */
  readonly bubblewrap: string
}

/** How long found caches are reused before they are looked up again, in milliseconds. */
const freshMs = 10_000
const hourMs = 3_600_000
const mountTimeoutMs = 5_000
const noCaches: EnteredCaches = { mounts: [], env: {} }

// Spec R-CACHE-2.
/**
 * The caches of tools for the confined commands of one project. Commands read the caches of the person. Their writes are stored per project, and
 * only confined commands of that project read them.
 *
 * C1: the caches of the person are never written.
 * C2: no two concurrent commands write to one upper folder: each takes its own slot.
 * C3: without overlays the same holds, but commands see less of the person's caches.
 */
export class ToolCaches implements ProjectCaches {
  readonly #options: ToolCachesOptions
  readonly #bootSeconds = Math.floor(Date.now() / 1_000 - uptime())
  readonly #madeFolders = new Set<string>()
  /** Folders over which no overlay can be mounted, for example because of their file system. */
  readonly #broken = new Set<string>()
  /** The folder of the project; undefined until it is created. */
  #folder: string | undefined
  #means: OverlayMeans | undefined
  #places: { readonly key: string; readonly places: readonly CachePlace[]; readonly atMs: number } | undefined
  #entered: { readonly places: readonly CachePlace[]; readonly key: string; readonly caches: EnteredCaches } | undefined
  #usedAtMs = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(options: ToolCachesOptions) {
    this.#options = options
  }

  /** Never throws: if caches do not work, the command runs without them. */
  enter(env: Environment): EnteredCaches {
    try {
      const folder = this.#prepared()
      if (folder === undefined) return noCaches
      const places = this.#placesFor(env)
      if (existsSync(join(folder, 'slots/failed'))) this.#findFailure(folder, places)
      const means = this.#overlays(folder)
      if (means.kind !== 'overlay') return this.#plain(folder, places)
      const perlVariables = Object.entries(env).filter(([name]) => isPerlVariable(name))
      const key = JSON.stringify(perlVariables)
      // The caches are prepared once, as long as their paths do not change.
      if (this.#entered?.places !== places || this.#entered.key !== key)
        this.#entered = { places, key, caches: this.#overlaid({ folder, perl: means.perl, env, places }) }
      return this.#entered.caches
    } catch {
      return noCaches
    }
  }

  /** What mounts the caches on this machine; detected once. */
  #overlays(folder: string): OverlayMeans {
    const { path, directories, bubblewrap } = this.#options
    const memory = join(dirname(folder), 'overlays.json')
    this.#means ??= detectOverlays({ path, writable: directories, bubblewrap, folder, memory })
    return this.#means
  }

  /** The folder of the project. Undefined if a command could reach it. */
  #prepared(): string | undefined {
    const { folder: parent, project, directories } = this.#options
    if (this.#folder === undefined) {
      const key = createHash('sha256').update(realPath(project)).digest('hex').slice(0, 16)
      const folder = join(parent, `${basename(project).replaceAll(/[^\w.-]/g, '_')}-${key}`.replace(/^[._]+/, ''))
      const ends = bothEnds(folder)
      const isReached = directories.flatMap(bothEnds).some((root) => ends.some((end) => isInside(end, root)))
      if (isReached) return undefined
      for (const name of ['slots', 'at', 'plain', 'empty'])
        mkdirSync(join(folder, name), { recursive: true, mode: 0o700 })
      this.#folder = realpathSync(folder)
    }
    if (performance.now() - this.#usedAtMs > hourMs || !existsSync(join(this.#folder, 'used'))) {
      this.#madeFolders.clear()
      this.#entered = undefined
      for (const name of ['slots', 'at', 'plain', 'empty'])
        mkdirSync(join(this.#folder, name), { recursive: true, mode: 0o700 })
      markUsed(this.#folder)
      this.#usedAtMs = performance.now()
      const means = this.#overlays(this.#folder)
      const perl = means.kind === 'overlay' ? means.perl : findPerl(this.#options.path, directories)
      if (perl !== undefined) sweepCaches(dirname(this.#folder), perl)
    }
    return this.#folder
  }

  #placesFor(env: Environment): readonly CachePlace[] {
    const key = JSON.stringify(cacheVariables.map((name) => env[name]))
    if (this.#places?.key !== key || performance.now() - this.#places.atMs > freshMs) {
      const { home, directories, folder } = this.#options
      const places = cachePlaces({ home, env, directories, folder })
      this.#places = { key, places, atMs: performance.now() }
    }
    return this.#places.places
  }

  #overlaid({ folder, perl, env, places }: OverlayRequest): EnteredCaches {
    const groups = this.#groupsOf(places)
    const overlays = groups.map((group) => this.#overlayOf(group, folder))
    const inner = { file: '', args: [], directory: '/', env }
    const slots = join(folder, 'slots')
    const command = overlayCommand(inner, overlays, { perl, slots, bootSeconds: this.#bootSeconds })
    if (command === undefined) return this.#plain(folder, places)
    const covered = groups.flatMap((group, index) =>
      group.places.map(({ path, real }) => ({
        path,
        source: join(overlays[index]?.at ?? '', below(group.lower, real)),
      })),
    )
    const others = places.filter(({ path }) => !covered.some((place) => place.path === path))
    return {
      // The launcher without the program to start, which the caller appends.
      launcher: { file: command.file, args: command.args.slice(0, -1) },
      mounts: [
        ...covered.flatMap(({ path, source }) => ['--bind', source, path]),
        ...this.#plain(folder, others).mounts,
      ],
      env: Object.fromEntries(Object.entries(command.env).filter(([name, value]) => env[name] !== value)),
    }
  }

  /** A single overlay of the home folder serves all caches in it, as each overlay costs time. The command sees only the caches in it. */
  #groupsOf(places: readonly CachePlace[]): readonly Group[] {
    const home = realPath(this.#options.home)
    const device = statOf(home)?.dev
    const isOfHome = ({ real, isThere }: CachePlace): boolean =>
      !this.#broken.has(home) && isInside(real, home) && (!isThere || statOf(real)?.dev === device)
    const inHome = places.filter(isOfHome)
    const others = places.filter((place) => !isOfHome(place) && !this.#broken.has(place.real))
    return [
      ...(inHome.length === 0 ? [] : [{ lower: home, isThere: true, places: inHome }]),
      ...others.map((place) => ({ lower: place.real, isThere: place.isThere, places: [place] })),
    ]
  }

  #overlayOf({ lower, isThere, places }: Group, folder: string): Overlay {
    const name = nameOf(lower)
    const each = (names: (place: CachePlace) => readonly string[] | undefined): readonly string[] =>
      places.flatMap((place) => names(place)?.map((path) => join(below(lower, place.real), path)) ?? [])
    return {
      lower: [isThere ? lower : join(folder, 'empty')],
      upper: `${name}.written`,
      work: `${name}.work`,
      at: this.#make(join(folder, 'at', name)),
      shown: each(({ shown }) => shown),
      hidden: each(({ hidden }) => hidden),
      folders: places.map(({ real }) => below(lower, real)).filter((path) => path !== ''),
    }
  }

  /**
   * Mounts without overlays: reads and writes of a folder cannot be separated, so some caches are writable and empty at
   * first, and the others are read-only.
   */
  #plain(folder: string, places: readonly CachePlace[]): EnteredCaches {
    const mounts = places.flatMap(({ path, real, isThere, parts }) => {
      if (parts === undefined) return isThere ? ['--ro-bind', real, path] : []
      const own = this.#make(join(folder, 'plain', nameOf(path)))
      const seen = parts.filter((part) => real !== undefined && isDirectory(join(real, part)) && isPlainPath(own, part))
      return ['--bind', own, path, ...seen.flatMap((part) => ['--ro-bind', join(real, part), join(path, part)])]
    })
    return { mounts, env: {} }
  }

  /** Finds the caches over which no overlay can be mounted; none if something else fails. */
  #findFailure(folder: string, places: readonly CachePlace[]): void {
    rmSync(join(folder, 'slots/failed'), { force: true })
    rmSync(join(dirname(folder), 'overlays.json'), { force: true })
    this.#failures += 1
    this.#madeFolders.clear()
    this.#entered = undefined
    this.#means = undefined
    const means = this.#overlays(folder)
    if (means.kind !== 'overlay') return
    const broken = this.#groupsOf(places).filter(
      ({ lower, isThere }) => isThere && !canMount(lower, folder, means.perl),
    )
    for (const { lower } of broken) this.#broken.add(lower)
    if (broken.length === 0 && this.#failures > 1) this.#means = { kind: 'none', why: 'mounting overlays failed twice' }
  }

  #make(folder: string): string {
    if (!this.#madeFolders.has(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#madeFolders.add(folder)
    return folder
  }
}

interface OverlayRequest {
  readonly folder: string
  readonly perl: string
  readonly env: Environment
  readonly places: readonly CachePlace[]
}

/** Caches that share an overlay. */
interface Group {
  readonly lower: string
  readonly isThere: boolean
  readonly places: readonly CachePlace[]
}

/** A path relative to a folder; empty for the folder itself. */
function below(folder: string, path: string): string {
  return path.slice(folder.length).replace(/^\//, '')
}

/** The unique folder name for a cache, made from its path. */
function nameOf(path: string): string {
  return `${basename(path)}-${createHash('sha256').update(path).digest('hex').slice(0, 12)}`
}

/** Whether the path to a part contains no link: commands write here. */
function isPlainPath(folder: string, part: string): boolean {
  const names = part.split('/')
  return names.every((_, index) => {
    const stats = lstatSync(join(folder, ...names.slice(0, index + 1)), { throwIfNoEntry: false })
    return stats === undefined || stats.isDirectory()
  })
}

function canMount(lower: string, folder: string, perl: string): boolean {
  const own = mkdtempSync(join(folder, 'try-'))
  try {
    const at = join(own, 'at')
    mkdirSync(at)
    const inner = { file: 'true', args: [], directory: '/', env: { PATH: '/usr/bin:/bin' } }
    const overlay = { lower: [lower], upper: join(own, 'upper'), work: join(own, 'work'), at }
    const command = overlayCommand(inner, [overlay], { perl })
    if (command === undefined) return false
    return (
      spawnSync(command.file, command.args, { env: command.env, timeout: mountTimeoutMs, stdio: 'ignore' }).status === 0
    )
  } finally {
    removeTree(own)
  }
}
