import { cpSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { bothEnds, type Environment, isDirectory, isInside, outermost, realPath } from '../files/paths.ts'
import { leadsOutside } from './outside-links.ts'
import { exists } from './on-disk.ts'
import { readablePlaces, rootEntries } from './readable-places.ts'

/** What a command sees besides the directories of the session. */
export interface VisiblePlaces {
  /** Links in the root, such as `/bin`, with their targets. */
  readonly links: readonly (readonly [path: string, target: string])[]
  /** System folders, read-only, from the outside in. */
  readonly system: readonly string[]
  /** Files and small folders of `/etc`. They are copied once, as each mount costs time for every command. */
  readonly copied: readonly string[]
  /** Tools of the person and the files that these read, read-only, from the outside in. */
  readonly tools: readonly string[]
  /** Credentials and private keys inside of these, which are not readable. */
  readonly secrets: readonly { readonly path: string; readonly isFolder: boolean }[]
}

/** Installations of tools in a home folder, completely except for `secretsOfTools`. */
const toolFolders = (
  '.pyenv .rustup .nvm .volta .asdf .sdkman .rbenv .goenv .nodenv .jenv .plenv .phpenv .tfenv .fnm .bun .deno .dotnet .ghcup .opam .elan .juliaup ' +
  '.foundry .swiftly .rvm .luarocks .jabba .proto .moon .wasmtime .wasmer .nix-profile .local/bin .local/lib .local/pipx .local/state/nix ' +
  '.local/share/mise .local/share/rtx .local/share/fnm .local/share/uv .local/share/pipx .local/share/nvm .local/share/pnpm .local/share/virtualenvs ' +
  '.local/share/gem .local/share/JetBrains/Toolbox/apps .cargo/bin .cargo/env .gem/ruby .composer/vendor .config/composer/vendor .yarn/bin ' +
  '.config/yarn/global .npm-global .krew/bin .pub-cache/bin .cabal/bin .cabal/packages .cabal/store .stack/programs .stack/snapshots go/bin sdk ' +
  '.config/mise .tool-versions .asdfrc .terminfo .nvmrc .node-version .python-version .ruby-version miniconda3 anaconda3 miniforge3 mambaforge flutter ' +
  'Android/Sdk'
).split(' ')

/** Secrets in such installations: keys of wallets and of developers, passwords of registries. */
const secretsOfTools = (
  '.foundry/keystores .dotnet/corefx/cryptography .wasmer/wasmer.toml .luarocks/upload_config.lua .local/share/uv/credentials ' +
  '.local/share/gem/credentials .npm-global/etc/npmrc'
).split(' ')

/** Settings of git: programs that read a repository fail without them. */
const gitSettings = '.gitconfig .config/git/config .config/git/ignore .config/git/attributes'.split(' ')

/** Folders in which programs look for downloads before they download. */
const downloadFolders = (
  'go/pkg/mod .cargo/registry .cargo/git .m2/repository .m2/wrapper .gradle/wrapper .nuget/packages .pub-cache/hosted .ivy2/cache .cache/coursier ' +
  '.cache/ms-playwright .cache/puppeteer .cache/Cypress .cache/bazelisk .cache/node/corepack'
).split(' ')

/** Variables that name the installation of a tool. */
const installationVariables = (
  'PYENV_ROOT RUSTUP_HOME NVM_DIR VOLTA_HOME ASDF_DIR ASDF_DATA_DIR SDKMAN_DIR RBENV_ROOT GOROOT JAVA_HOME BUN_INSTALL DENO_INSTALL MISE_DATA_DIR ' +
  'ANDROID_HOME ANDROID_SDK_ROOT DOTNET_ROOT CONDA_PREFIX CONDA_EXE VIRTUAL_ENV FNM_DIR FNM_MULTISHELL_PATH GOENV_ROOT NODENV_ROOT GOMODCACHE ' +
  'PNPM_HOME M2_HOME MAVEN_HOME GRADLE_HOME FLUTTER_ROOT NPM_CONFIG_PREFIX npm_config_prefix PLAYWRIGHT_BROWSERS_PATH SSL_CERT_FILE SSL_CERT_DIR ' +
  'GIT_CONFIG_GLOBAL TZDIR LOCPATH TERMINFO'
).split(' ')

/** The parts of `/sys` and `/var` that builds read, for example the number of processors and the memory size. */
const systemParts = '/sys/devices/system /sys/fs/cgroup /sys/kernel/mm /var/lib/dpkg'.split(' ')
const furtherSystem = '/opt /nix /gnu /snap'.split(' ')
const furtherSettings = 'chromium chromium.d firefox maven mavenrc gradle php ruby R dotnet lsb-release ant'.split(' ')

const freshMs = 10_000
let visibleCache: { readonly key: string; readonly places: VisiblePlaces; readonly atMs: number } | undefined

/**
 * Searches for tools at most every ten seconds.
 * @param directories The directories that commands write: a link from them to the outside is not a tool of the person.
 */
export function visiblePlaces(home: string, env: Environment, directories: readonly string[]): VisiblePlaces {
  const key = JSON.stringify([home, env['PATH'], installationVariables.map((name) => env[name]), directories])
  if (visibleCache?.key !== key || performance.now() - visibleCache.atMs > freshMs)
    visibleCache = { key, places: findPlaces(home, env, directories), atMs: performance.now() }
  return visibleCache.places
}

function findPlaces(home: string, given: Environment, directories: readonly string[]): VisiblePlaces {
  const isOwn = (path: string): boolean => !leadsOutside(path, directories)
  const env = withoutOutsideLinks(given, isOwn)
  const readable = readablePlaces({ directories: [], home, env }).map(({ path }) => path)
  const isOf = (folder: string) => (path: string) => isInside(path, folder)
  const links = rootEntries().filter((path) => lstatSync(path).isSymbolicLink())
  const isLinked = (path: string): boolean => links.some((link) => isInside(path, link))
  const settings = [...readable.filter(isOf('/etc')), ...furtherSettings.map((name) => join('/etc', name))]
  const copied = settings.filter((path) => exists(path) && isSmall(path))
  const others = readable.filter(
    (path) => !['/usr', '/etc', '/sys', '/var', '/proc'].some((top) => isInside(path, top)),
  )
  const isSystem = (path: string): boolean =>
    [...furtherSystem, '/run', '/lib', '/bin'].some((top) => isInside(path, top))
  const system = [
    '/usr',
    ...systemParts,
    ...furtherSystem,
    ...settings.filter((path) => !copied.includes(path)),
    ...others.filter(isSystem),
  ]
  return {
    secrets: secretsOfTools
      .map((name) => join(home, name))
      .flatMap(bothEnds)
      .filter(exists)
      .map((path) => ({ path, isFolder: isDirectory(path) })),
    links: links.map((path) => [path, readlinkSync(path)] as const),
    system: outerFirst(system.filter((path) => exists(path) && !isLinked(path))),
    copied: outerFirst(copied),
    tools: outerFirst(
      [...others.filter((path) => !isSystem(path)), ...toolsIn(home, env, isOwn)].filter(
        (path) => exists(path) && !isLinked(path) && isOwn(path),
      ),
    ),
  }
}

/** Variables that contain paths, without the paths that commands control. */
function withoutOutsideLinks(env: Environment, isOwn: (path: string) => boolean): Environment {
  const isUsable = (value: string): boolean => !isAbsolute(value) || isOwn(value)
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value = '']) => {
      if (name === 'PATH') return [[name, value.split(':').filter(isUsable).join(':')]]
      return isUsable(value) ? [[name, value]] : []
    }),
  )
}

function toolsIn(home: string, env: Environment, isOwn: (path: string) => boolean): readonly string[] {
  const own = [...toolFolders, ...gitSettings, ...downloadFolders].map((name) => join(home, name))
  const named = installationVariables.flatMap((name) => env[name] ?? []).filter(isAbsolute)
  const onPath = [...(env['PATH'] ?? '').split(':'), dirname(process.execPath)].filter(isAbsolute)
  const ends = [...new Set(onPath)].flatMap((folder) => linksOut(folder, isOwn)).map(installationOf)
  return [...own, ...named, ...ends, ...onPath.map(installationOf)]
    .filter(isOwn)
    .flatMap(bothEnds)
    .filter((path) => {
      const isTooMuch = isInside(home, path) || path === '/' || path === '/home' || path === '/root'
      return !isTooMuch && (isInside(path, home) || !systemTops.some((top) => isInside(path, top)))
    })
}

const systemTops = '/usr /bin /sbin /lib /lib64 /etc /proc /sys /dev /tmp /run /var'.split(' ')

/** The targets of links to programs in a folder, such as `~/.local/bin/tool`. */
function linksOut(folder: string, isOwn: (path: string) => boolean): readonly string[] {
  try {
    const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink())
    const own = names
      .slice(0, 200)
      .map(({ name }) => join(folder, name))
      .filter(isOwn)
    const ends = own.map(realPath)
    return ends.filter((end) => !isInside(end, folder) && !systemTops.some((top) => isInside(end, top)))
  } catch {
    return []
  }
}

/** The installation of a program or a folder of programs: the folder with `bin`, if it is an installation and not a home folder. */
function installationOf(path: string): string {
  const folder = isDirectory(path) ? path : dirname(path)
  if (basename(folder) === '.bin') return dirname(folder)
  const above = dirname(folder)
  const isInstallation = ['lib', 'libexec', 'pkg', 'share', 'VERSION', 'version', 'release'].some((name) =>
    exists(join(above, name)),
  )
  if (!/^s?bin$/.test(basename(folder)) || !isInstallation) return folder
  // `/work/bin` next to `/work/lib`: a folder in the root may contain anything.
  return above.split('/').length <= 2 || exists(join(above, '.bashrc')) ? folder : above
}

const [maxFiles, maxBytes] = [80, 200_000]

function isSmall(path: string, budget = { files: maxFiles, bytes: maxBytes }): boolean {
  try {
    const stats = lstatSync(path)
    budget.files -= 1
    budget.bytes -= stats.isFile() ? stats.size : 0
    if (budget.files < 0 || budget.bytes < 0) return false
    if (!stats.isDirectory()) return stats.isFile() || stats.isSymbolicLink()
    return readdirSync(path).every((name) => isSmall(join(path, name), budget))
  } catch {
    return false
  }
}

function outerFirst(paths: readonly string[]): readonly string[] {
  return outermost(paths).toSorted((left, right) => left.split('/').length - right.split('/').length)
}

/** Copies of files in `/etc`, renewed when one of them changes. */
export class CopiedSettings {
  readonly #folder: string
  #key = ''

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * The folder with the copies, in the layout of `/etc`.
   * @param mounted Folders in `/etc` that are mounted over it.
   */
  folderFor(paths: readonly string[], mounted: readonly string[]): string {
    const key = [...paths, ...mounted]
      .map((path) => `${path} ${lstatSync(path, { throwIfNoEntry: false })?.ctimeMs}`)
      .join('\n')
    if (key === this.#key && exists(this.#folder)) return this.#folder
    rmSync(this.#folder, { recursive: true, force: true })
    mkdirSync(this.#folder, { recursive: true, mode: 0o755 })
    for (const path of paths) this.#copy(path)
    for (const path of mounted) this.#makeStub(path)
    this.#key = key
    return this.#folder
  }

  #makeStub(path: string): void {
    const to = join(this.#folder, path.slice('/etc/'.length))
    mkdirSync(isDirectory(path) ? to : dirname(to), { recursive: true })
    if (!exists(to)) writeFileSync(to, '')
  }

  #copy(path: string): void {
    const to = join(this.#folder, path.slice('/etc/'.length))
    try {
      mkdirSync(dirname(to), { recursive: true })
      cpSync(path, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
    } catch {
      // This user may not read the file.
    }
  }
}
