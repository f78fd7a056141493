import { dirname, isAbsolute, join, sep } from 'node:path'
import { leadsOutside } from './outside-links.ts'
import { bothEnds, type Environment, isDirectory, isInside, realPath } from '../files/paths.ts'

/** A folder in which tools keep data that they can recreate or download again. */
export interface CachePlace {
  /** The path that tools use. */
  readonly path: string
  /** The real path, whether it exists or not. */
  readonly real: string
  readonly isThere: boolean
  /** The only names in it that commands see. Default: all. */
  readonly shown?: readonly string[]
  /** Paths in it that no command sees, as they contain credentials. */
  readonly hidden?: readonly string[]
  /** For machines without overlays: paths in the cache that commands can read; the rest is empty. Default: commands can read the whole cache. */
  readonly parts?: readonly string[]
}

interface CacheRow {
  /** Path in the home folder; undefined if only variables name the folder. */
  readonly place?: string
  /** Variables that name it, or the folder above `below`. */
  readonly variables?: readonly string[]
  /** Its path inside the folder that the variables name. */
  readonly below?: string
  readonly shown?: readonly string[]
  readonly hidden?: readonly string[]
  readonly parts?: readonly string[]
  /** Whether commands have this cache even if the person does not. */
  readonly isAlwaysThere?: boolean
}

const splitWords = (text: string): readonly string[] => text.split(' ')

/**
 * What build tools store in the folder of caches. Browsers, mail programs, editors and cloud tools store private data
 * and credentials there too (`gcloud`, `gh`, `aws`, `azure`, `mozilla`). A list of visible names also excludes private
 * folders that are not known here.
 */
const toolsInCaches = splitWords(
  'act-cache ansible-compat autotools bazel bazelisk black bloop bootsnap buf bun bundler buildkit c2nim cabal cargo cargo-xwin cargo-zigbuild ccache ' +
    'Cypress clangd clippy cmake coc composer conan conda coursier cpm cppcheck crystal ctags dart deno deptry detekt dub dune electron electron-builder ' +
    'elixir_make elm emscripten esbuild eslint fontconfig flit flutter foojay foundry ghcide ghcup gitlint gleam go-build go-mod gofumpt goimports ' +
    'golangci-lint gopls gradle hatch helm hex hie-bios huggingface importlib-resources ipython jdtls jedi jest ' +
    'joblib julia just k6 kotlin ktlint lima lint-staged llvm luarocks markdownlint matplotlib maturin mesa_shader_cache meson metals mix mise mockery ' +
    'ms-playwright ms-playwright-go mypy mypy_cache ninja nim nix node node-gyp nox numba nx org.swift.swiftpm parcel parso pdm phan phpactor php-cs-fixer phpstan pip ' +
    'pip-tools pipenv pipx pkg pkg-cache pnpm poetry pre-commit prettier prisma prisma-nodejs proto psalm pub puppeteer pycharm-stubs pylint pyright ' +
    'pyright-python pypoetry pytest pytype rattler rbenv rebar3 remark renovate roswell rollup ruby-build rubocop_cache ruff rust-analyzer ' +
    'sccache scala-cli selenium semgrep shellcheck solargraph solidity sorbet staticcheck stylelint svm swc swiftlint taplo tectonic terraform-ls terragrunt tflint thumbor ' +
    'tinygo torch torch_extensions torchinductor tox tree-sitter trivy triton ts-node turbo turborepo typescript uv vcpkg virtualenv vite vitest watchman ' +
    'wasm-pack webdriver-manager webpack xmake yarn yarn-berry zig zls',
)

/** Downloads in the folder of caches that builds only read. */
const loadedCaches = splitWords(
  'bazelisk coursier Cypress deno electron electron-builder foundry go-mod huggingface/hub helm ms-playwright ms-playwright-go node node-gyp nix pip ' +
    'pre-commit prisma prisma-nodejs puppeteer selenium svm torch/hub trivy uv',
)

/** Credentials and passwords are excluded, either because only caches are named, or by name. */
const rows: readonly CacheRow[] = [
  {
    place: '.cache',
    variables: ['XDG_CACHE_HOME'],
    shown: toolsInCaches,
    // Tools of Hugging Face store a token next to the models.
    hidden: splitWords('huggingface/token huggingface/stored_tokens'),
    parts: loadedCaches,
    isAlwaysThere: true,
  },
  // `.npmrc` is next to it. Logs contain arguments of commands.
  {
    place: '.npm',
    variables: splitWords('npm_config_cache NPM_CONFIG_CACHE'),
    hidden: ['_logs'],
    parts: splitWords('_cacache _npx _prebuilds'),
  },
  { place: '.yarn/berry', variables: ['YARN_GLOBAL_FOLDER'], parts: splitWords('cache index') },
  { place: '.yarn-cache', variables: ['YARN_CACHE_FOLDER'], parts: [] },
  { place: '.local/share/pnpm/store', variables: ['PNPM_HOME'], below: 'store' },
  { place: '.pnpm-store' },
  // Excludes `credentials.toml`.
  { place: '.cargo/registry', variables: ['CARGO_HOME'], below: 'registry' },
  { place: '.cargo/git', variables: ['CARGO_HOME'], below: 'git' },
  { place: 'go/pkg', variables: ['GOPATH'], below: 'pkg' },
  // Excludes `settings.xml` and `settings-security.xml`.
  { place: '.m2/repository' },
  // Excludes `gradle.properties`, `init.gradle` and `init.d`, which may contain passwords of repositories.
  {
    place: '.gradle',
    variables: ['GRADLE_USER_HOME'],
    shown: splitWords('caches wrapper native jdks notifications workers kotlin-profile'),
    parts: splitWords('wrapper jdks'),
  },
  // Excludes `.credentials`, which is among the settings in `.sbt`.
  { place: '.ivy2', shown: splitWords('cache local jars'), parts: splitWords('cache local jars') },
  { place: '.sbt/boot' },
  { place: '.sbt/launchers' },
  // Excludes `NuGet.Config`.
  { place: '.nuget/packages', variables: ['NUGET_PACKAGES'] },
  { place: '.local/share/NuGet', shown: splitWords('http-cache plugins-cache v3-cache'), parts: [] },
  // Excludes `.gem/credentials`, `.bundle/config` and `.composer/auth.json`.
  { place: '.gem/specs', variables: ['GEM_SPEC_CACHE'] },
  { place: '.bundle/cache', variables: ['BUNDLE_USER_CACHE'] },
  { place: '.composer/cache', variables: ['COMPOSER_CACHE_DIR'], parts: splitWords('files repo vcs') },
  { place: '.bun/install/cache', variables: ['BUN_INSTALL_CACHE_DIR'] },
  {
    place: '.stack',
    variables: ['STACK_ROOT'],
    hidden: ['config.yaml'],
    parts: splitWords('pantry programs snapshots'),
  },
  // Excludes `.cabal/config`, which may contain a password.
  { place: '.cabal/packages', variables: ['CABAL_DIR'], below: 'packages' },
  { place: '.cabal/store', variables: ['CABAL_DIR'], below: 'store' },
  // Excludes `hex.config`, which contains keys.
  { place: '.hex', variables: ['HEX_HOME'], shown: splitWords('packages cache.ets docs'), parts: ['packages'] },
  { place: '.mix', variables: ['MIX_HOME'] },
  { place: '.conan', hidden: splitWords('.conan.db credentials.json artifacts.properties'), parts: ['data'] },
  {
    place: '.conan2',
    variables: ['CONAN_HOME'],
    hidden: splitWords('.conan.db credentials.json source_credentials.json remotes.json'),
    parts: splitWords('p profiles'),
  },
  { place: '.terraform.d/plugin-cache', variables: ['TF_PLUGIN_CACHE_DIR'] },
  // Its settings may name a remote store with a password.
  { place: '.ccache', variables: ['CCACHE_DIR'], hidden: ['ccache.conf'], parts: [] },
  // Excludes `credentials.json` and `servers`, the sign-ins of its tools.
  { place: '.pub-cache/hosted', variables: ['PUB_CACHE'], below: 'hosted' },
  { place: '.pub-cache/git', variables: ['PUB_CACHE'], below: 'git' },
  {
    place: '.julia',
    shown: splitWords('artifacts clones compiled environments packages registries scratchspaces'),
    parts: splitWords('artifacts clones environments packages registries'),
  },
  { place: '.konan' },
  { place: '.swiftpm/cache' },
  { place: '.nv/ComputeCache', variables: ['CUDA_CACHE_PATH'], parts: [] },
  { place: '.triton/cache', variables: ['TRITON_CACHE_DIR'], parts: [] },
  { variables: ['HF_HOME'], hidden: splitWords('token stored_tokens'), parts: splitWords('hub datasets') },
  {
    variables: splitWords(
      'GOMODCACHE HF_HUB_CACHE TORCH_HOME DENO_DIR COREPACK_HOME PLAYWRIGHT_BROWSERS_PATH PUPPETEER_CACHE_DIR CYPRESS_CACHE_FOLDER ELECTRON_CACHE ' +
        'COURSIER_CACHE BAZELISK_HOME PIP_CACHE_DIR UV_CACHE_DIR POETRY_CACHE_DIR PIPENV_CACHE_DIR PRE_COMMIT_HOME',
    ),
  },
  {
    variables: splitWords(
      'GOCACHE GOLANGCI_LINT_CACHE STATICCHECK_CACHE SCCACHE_DIR ZIG_GLOBAL_CACHE_DIR RUFF_CACHE_DIR MYPY_CACHE_DIR PYTHONPYCACHEPREFIX NUMBA_CACHE_DIR ' +
        'MPLCONFIGDIR NODE_COMPILE_CACHE TURBO_CACHE_DIR NX_CACHE_DIRECTORY BABEL_CACHE_PATH',
    ),
    parts: [],
    isAlwaysThere: true,
  },
]

export interface CacheOptions {
  readonly home: string
  readonly env: Environment
  /** Directories of the session: folders in them are not caches of the person. */
  readonly directories: readonly string[]
  /** The folder that stores what commands write to caches. */
  readonly folder: string
}

/** System folders. Outside the home folder nothing counts as a cache, whatever a variable says. */
const systemRoots = '/bin /boot /dev /etc /lib /lib64 /proc /run /sbin /sys /tmp /usr /var/tmp'.split(' ')

/** The variables that name caches. */
export const cacheVariables: readonly string[] = rows.flatMap(({ variables = [] }) => variables)

/** The caches of the person's tools, none inside another one. */
export function cachePlaces(options: CacheOptions): readonly CachePlace[] {
  const found = rows.flatMap((row) => placesOf(row, options))
  const unique = [...new Map(found.map((place) => [place.path, place])).values()].filter(isUsablePlace(options))
  const outer = unique.filter(({ path }) => !unique.some((other) => isBelow(path, other.path)))
  return outer.map((place) => withInner(place, unique))
}

function placesOf(row: CacheRow, { home, env }: CacheOptions): readonly CachePlace[] {
  const { place, variables = [], below = '.', shown, hidden, parts, isAlwaysThere = false } = row
  const named = variables.flatMap((name) => (env[name] ?? '').split(':')).filter((path) => isAbsolute(path))
  const paths = [...(place === undefined ? [] : [join(home, place)]), ...named.map((path) => join(path, below))]
  return paths.flatMap((path): readonly CachePlace[] => {
    const isThere = isDirectory(path)
    if (!isThere && !isAlwaysThere) return []
    return [
      {
        path: withoutSlash(path),
        real: realPath(path),
        isThere,
        ...(shown !== undefined && { shown }),
        ...(hidden !== undefined && { hidden }),
        ...(parts !== undefined && { parts }),
      },
    ]
  })
}

/** Excludes folders that contain the home or a directory of the session, folders inside of one, folders of the system, and our own. */
function isUsablePlace({ home, directories, folder }: CacheOptions): (place: CachePlace) => boolean {
  const homes = bothEnds(home)
  const excluded = [...homes, ...[folder, dirname(folder)].flatMap(bothEnds)]
  const own = [...directories, folder].flatMap(bothEnds)
  return ({ path, real }) =>
    !leadsOutside(path, directories) &&
    [path, real].every(
      (end) =>
        !excluded.some((inner) => isInside(inner, end)) &&
        !own.some((other) => isInside(end, other) || isInside(other, end)) &&
        (homes.some((inner) => isInside(end, inner)) || !systemRoots.some((place) => isInside(end, place))),
    )
}

/** A cache inside another cache is visible through the outer one. */
function withInner(place: CachePlace, all: readonly CachePlace[]): CachePlace {
  if (place.shown === undefined) return place
  const inner = all.flatMap(({ path }) =>
    isBelow(path, place.path) ? (path.slice(place.path.length + 1).split(sep)[0] ?? []) : [],
  )
  return { ...place, shown: [...new Set([...place.shown, ...inner])] }
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && isInside(path, folder)
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path
}
