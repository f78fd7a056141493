import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { homeFolder, realPath, statOf } from '../paths.ts'
import { redactSecrets } from '../redact/secrets.ts'
import type { ShownSettings } from '../shell/effects.ts'

/** How a line runs git: with its settings turned off by environment, or with those of the person. */
export interface GitUse {
  readonly entersSubmodules: boolean
  readonly isHardened: boolean
  /** Of the command. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Why git cannot be known to run nothing in a folder: a setting of the repository that runs a program or leads elsewhere.
 * Every file that git would read is looked at, and only what is known to be harmless is let through. Undefined when all is.
 */
export function gitProblem(folder: string, use: GitUse): string | undefined {
  const { env } = use
  const foreign = Object.keys(env).find(
    (name) => /^GIT_(?!SSL_|HTTP_|CURL_|TRACE)/.test(name) && !harmlessVariables.has(name) && env[name] !== '',
  )
  if (foreign !== undefined) return `${foreign} is set, which changes what git does`
  const found = findRepository(realPath(folder))
  if (found === undefined) return personalProblem()
  if (found === 'bare') return 'the folder could be a bare repository with settings of its own'
  const { gitFolder, commonFolder, workTree } = found
  if (!isOwn(found)) return `the .git of ${workTree} leads to another repository`
  for (const file of [
    join(commonFolder, 'config'),
    join(gitFolder, 'config.worktree'),
    join(commonFolder, 'config.worktree'),
  ]) {
    const problem = fileProblem(file, (section, key, value) => {
      // Submodules name their own folder.
      if (section === 'core' && key === 'worktree') return realPath(resolve(gitFolder, value)) === realPath(workTree)
      // Where git keeps its settings, hooks of the repository may run when its index is refreshed.
      if (section === 'core' && key === 'hookspath' && !use.isHardened)
        return !existsSync(resolve(workTree, value, 'post-index-change'))
      return isHarmlessInRepository(section, key, value)
    })
    if (problem !== undefined) return problem
  }
  if (use.entersSubmodules && holdsSubmodules(gitFolder))
    return 'it goes into submodules, which have settings of their own'
  if (existsSync(join(commonFolder, 'objects/info/alternates'))) return 'the repository takes objects from elsewhere'
  if (!use.isHardened && existsSync(join(commonFolder, 'hooks/post-index-change')))
    return 'the repository has a hook that git runs when it refreshes its index'
  return personalProblem()
}

/** The folder of the work tree that git works on: from a folder below it shows all of it. */
export function workTreeAround(folder: string): string {
  const found = findRepository(realPath(folder))
  return found === undefined || found === 'bare' ? folder : found.workTree
}

/** What git reads of the repository around a folder: its work tree, and the folders in which it is stored. */
export function repositoryPlaces(folder: string): readonly string[] {
  const found = findRepository(realPath(folder))
  return found === undefined || found === 'bare' ? [] : [found.workTree, found.gitFolder, found.commonFolder]
}

/** The person's own settings of git, with the files that they include and name. */
export function personalGitFiles(): readonly string[] {
  const home = homeFolder()
  const config = process.env['XDG_CONFIG_HOME'] || join(home, '.config')
  const beside = ['git/ignore', 'git/attributes'].map((name) => join(config, name))
  return [...beside, ...personalFiles().flatMap((file) => withNamedFiles(file))].filter(isThere)
}

/** Keys of settings that name a file that reading commands open. */
const namedFiles = /^(?:core\.(?:excludesfile|attributesfile)|mailmap\.file|blame\.ignorerevsfile|diff\.orderfile)$/

function withNamedFiles(file: string, depth = 0): readonly string[] {
  if (depth > 5) return []
  const settings = settingsIn(textOf(file) ?? '') ?? []
  const named = settings.flatMap(([section, key, value]) => {
    if (isInclude(section, key)) return withNamedFiles(includedFile(file, value), depth + 1)
    return namedFiles.test(`${section}.${key}`) ? [includedFile(file, value)] : []
  })
  return [file, ...named]
}

/** The setting with a password or a token that git would print; undefined when there is none. */
export function secretShown(folder: string, shown: ShownSettings): string | undefined {
  const found = findRepository(realPath(folder))
  const files =
    found === undefined || found === 'bare'
      ? []
      : [found.commonFolder, found.gitFolder].flatMap((at) => [join(at, 'config'), join(at, 'config.worktree')])
  for (const file of [...files, ...personalFiles()]) {
    const told = secretIn(file, shown)
    if (told !== undefined) return told
  }
  return undefined
}

function secretIn(file: string, shown: ShownSettings, depth = 0): string | undefined {
  if (depth > 5) return undefined
  for (const [section, key, value] of settingsIn(textOf(file) ?? '') ?? []) {
    if (isInclude(section, key)) {
      const told = secretIn(includedFile(file, value), shown, depth + 1)
      if (told !== undefined) return told
    }
    if (isShown(shown, section, key) && (isSecretKey(key) || holdsSecret(section) || holdsSecret(value)))
      return `${/^[\w.-]+$/.test(section) ? section : section.split('.', 1)[0]}.${key} in ${file}`
  }
  return undefined
}

function isShown(shown: ShownSettings, section: string, key: string): boolean {
  if (shown === 'all') return true
  if (shown === 'addresses') return /^(?:remote|url)\./.test(section)
  return shown.name.toLowerCase() === `${section}.${key}`.toLowerCase()
}

function isSecretKey(key: string): boolean {
  return /pass(?:word|phrase)?$|token$|secret$|^extraheader$/.test(key)
}

/** A password in an address, a token in the place of its name, and what is known by its form. */
function holdsSecret(text: string): boolean {
  return /:\/\/[\w-]{20,}@/.test(text) || redactSecrets(text) !== text
}

/** Whether git takes the repository that lies in the folder, whatever else comes to lie there: it looks for `.git` first. */
export function findsOwnFirst(folder: string): boolean {
  return statOf(join(folder, '.git')) !== undefined
}

const harmlessVariables: ReadonlySet<string> = new Set(
  (
    'GIT_EDITOR GIT_PAGER GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL ' +
    'GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_ASKPASS GIT_MERGE_AUTOEDIT GIT_NO_LAZY_FETCH ' +
    'GIT_SEQUENCE_EDITOR GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_SSH GIT_SSH_COMMAND'
  ).split(' '),
)

interface Repository {
  readonly gitFolder: string
  readonly commonFolder: string
  readonly workTree: string
}

/** A folder elsewhere is the one of this work tree where it says so itself. */
function isOwn({ gitFolder, workTree }: Repository): boolean {
  const dotGit = join(workTree, '.git')
  if (realPath(gitFolder) === dotGit) return true
  const back = textOf(join(gitFolder, 'gitdir'))?.trim()
  if (back !== undefined && realPath(resolve(gitFolder, back)) === realPath(dotGit)) return true
  const settings = settingsIn(textOf(join(gitFolder, 'config')) ?? '')
  return (
    settings?.some(
      ([section, key, value]) =>
        section === 'core' && key === 'worktree' && realPath(resolve(gitFolder, value)) === realPath(workTree),
    ) === true
  )
}

/** Goes up as git does. */
function findRepository(start: string): Repository | 'bare' | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    const dotGit = join(folder, '.git')
    const stats = statOf(dotGit)
    if (stats?.isDirectory() === true) return withCommon(dotGit, folder)
    if (stats?.isFile() === true) {
      const told = /^gitdir: (.+?)\s*$/.exec(textOf(dotGit) ?? '')?.[1]
      return told === undefined ? 'bare' : withCommon(resolve(folder, told), folder)
    }
    if (['HEAD', 'objects', 'refs'].every((name) => isThere(join(folder, name)))) return 'bare'
    if (dirname(folder) === folder) return undefined
  }
}

function isThere(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch {
    return false
  }
}

function withCommon(gitFolder: string, workTree: string): Repository {
  const common = textOf(join(gitFolder, 'commondir'))?.trim()
  return { gitFolder, commonFolder: common === undefined ? gitFolder : resolve(gitFolder, common), workTree }
}

const mostBytes = 1_000_000

function textOf(file: string): string | undefined {
  try {
    const stats = statSync(file)
    return stats.isFile() && stats.size <= mostBytes ? readFileSync(file, 'utf8') : undefined
  } catch {
    return undefined
  }
}

/** Submodules stand in the index with a mode of their own; a repository in the tree without one is not gone into. */
function holdsSubmodules(gitFolder: string): boolean {
  const mark = Buffer.from([0, 0, 0xe0, 0])
  try {
    const names = readdirSync(gitFolder).filter((name) => name === 'index' || name.startsWith('sharedindex.'))
    return names.some((name) => {
      const file = join(gitFolder, name)
      return statSync(file).size > 50 * mostBytes || readFileSync(file).includes(mark)
    })
  } catch {
    return true
  }
}

type IsHarmless = (section: string, key: string, value: string) => boolean

function fileProblem(file: string, isHarmless: IsHarmless, depth = 0): string | undefined {
  const stats = statOf(file)
  if (stats === undefined) return isThere(file) ? `${file} cannot be read` : undefined
  const text = textOf(file)
  if (text === undefined || depth > 5) return `${file} cannot be read`
  const settings = settingsIn(text)
  if (settings === undefined) return `${file} is not understood`
  for (const [section, key, value] of settings) {
    if (isHarmless === isPersonal && isInclude(section, key)) {
      const problem = fileProblem(includedFile(file, value), isHarmless, depth + 1)
      if (problem !== undefined) return problem
    } else if (!isHarmless(section, key, value))
      return `${file} sets ${section}.${key}, which may run a program or lead elsewhere`
  }
  return undefined
}

function isInclude(section: string, key: string): boolean {
  return /^include(?:if)?(?:\.|$)/i.test(section) && key === 'path'
}

function includedFile(file: string, path: string): string {
  return path.startsWith('~/') ? join(homeFolder(), path.slice(2)) : resolve(dirname(file), path)
}

/** Sections are lower case up to their first dot. Undefined for what is not plainly a file of settings. */
function settingsIn(text: string): readonly (readonly [section: string, key: string, value: string])[] | undefined {
  const settings: (readonly [string, string, string])[] = []
  let section: string | undefined
  // A line that goes on in the next one is not followed: none of the settings that are let through needs it.
  for (const line of text.replace(/^\uFEFF/, '').split('\n')) {
    let rest = line.trim()
    const head = /^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(rest)
    if (head !== null) {
      section = (head[1] ?? '').toLowerCase() + (head[2] === undefined ? '' : `.${head[2]}`)
      rest = rest.slice(head[0].length).trim()
    }
    if (rest === '' || /^[#;]/.test(rest)) continue
    const set = /^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(rest)
    if (set === null || section === undefined || rest.endsWith('\\')) return undefined
    settings.push([section, (set[1] ?? '').toLowerCase(), (set[2] ?? 'true').replace(/^"(.*)"$/, '$1')])
  }
  return settings
}

const wholeSections =
  /^(?:user|author|committer|branch|push|pull|color|advice|gc|pack|index|rerere|rebase|init|i18n|column|help|interactive|gui|gitk|github|tag|commit|fetch|http|maintenance|url|transfer|receive|status|versioncontrol|svn-remote|gitflow|hub|vsts|mergetool|difftool|sendemail|lfs)(?:\.|$)/

const harmlessKeys: Readonly<Record<string, RegExp>> = {
  core: /^(?:repositoryformatversion|filemode|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|loosecompression|preloadindex|untrackedcache|commitgraph|multipackindex|bigfilethreshold|trustctime|checkstat|hidedotfiles|longpaths|protecthfs|protectntfs|whitespace|sparsecheckout|sparsecheckoutcone|fscache|createobject|sharedrepository|packedgitlimit|packedgitwindowsize|deltabasecachelimit|fsyncobjectfiles|fsync|commentchar|hookspath|editor|pager|sshcommand|askpass|gitproxy)$/,
  diff: /^(?:algorithm|renames|renamelimit|mnemonicprefix|noprefix|colormoved|colormovedws|context|interhunkcontext|indentheuristic|wserrorhighlight|statgraphwidth|tool|guitool|relative|suppressblankempty)$/,
  merge:
    /^(?:conflictstyle|ff|stat|renames|renamelimit|tool|log|branchdesc|autostash|directoryrenames|verbosity|guitool)$/,
  log: /^(?:date|decorate|follow|abbrevcommit|showroot|graphcolors|initialdecorationset)$/,
  feature: /^(?:manyfiles|experimental)$/,
  extensions: /^(?:objectformat|worktreeconfig|refstorage|compatobjectformat|relativeworktrees|preciousobjects|noop)$/,
  grep: /^(?:linenumber|column|patterntype|extendedregexp|threads|fullname)$/,
  blame: /^(?:coloring|date|blankboundary|showemail|showroot)$/,
  safe: /^(?:directory|barerepository)$/,
}

const harmlessRemote =
  /^(?:url|fetch|pushurl|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|skipfetchall|gh-resolved|partialclonefilter)$/

function isHarmlessInRepository(section: string, key: string, value: string): boolean {
  if (section === 'core' && key === 'bare') return value === 'false'
  // Named files and programs are those of the hardened environment, or not used by what only reads.
  if (section.startsWith('remote.')) return harmlessRemote.test(key)
  if (section.startsWith('submodule.')) return /^(?:url|active|branch)$/.test(key)
  if (section.startsWith('difftool') || section.startsWith('mergetool')) return true
  return wholeSections.test(section) || harmlessKeys[section]?.test(key) === true
}

/** What the person has set for themselves. Drivers of Git LFS are known; other programs that reading starts are asked about. */
function isPersonal(section: string, key: string, value: string): boolean {
  if (section === 'filter.lfs')
    return key === 'required' || /^git-lfs (?:clean|smudge|filter-process)\b[^;&|$`<>()]*$/.test(value)
  if (/^(?:filter|diff|merge)\../.test(section))
    return (
      !/^(?:clean|smudge|process|textconv|command|driver|cachetextconv|trustexitcode)$/.test(key) ||
      key.startsWith('cache')
    )
  if (section === 'diff' && (key === 'external' || key === 'orderfile' || key === 'submodule')) return false
  if (section === 'core')
    return key !== 'fsmonitor' || /^(?:false|true|0|1)$/.test(value)
      ? key !== 'worktree' && key !== 'alternaterefscommand'
      : false
  if (section === 'log' && key === 'showsignature') return value === 'false'
  return true
}

let lastPersonal: { readonly key: string; readonly problem: string | undefined; readonly at: number } | undefined

function personalFiles(): readonly string[] {
  const home = homeFolder()
  const config = process.env['XDG_CONFIG_HOME'] || join(home, '.config')
  return [
    join(home, '.gitconfig'),
    join(config, 'git/config'),
    '/etc/gitconfig',
    '/usr/local/etc/gitconfig',
    '/opt/homebrew/etc/gitconfig',
  ]
}

function personalProblem(): string | undefined {
  const files = personalFiles()
  const key = files.map((file) => `${file}:${statOf(file)?.mtimeMs ?? 0}`).join('\n')
  const now = Date.now()
  // Files that these include are not in the key: looked at again after a while.
  if (lastPersonal?.key === key && now - lastPersonal.at < 1000) return lastPersonal.problem
  const problem = files.map((file) => fileProblem(file, isPersonal)).find((found) => found !== undefined)
  lastPersonal = { key, problem, at: now }
  return problem
}

/** Every setting that git would read in a folder, of the person first; undefined where one of the files is not understood. */
export function settingsInForce(
  folder: string,
): readonly (readonly [section: string, key: string, value: string])[] | undefined {
  const found = findRepository(realPath(folder))
  if (found === 'bare') return undefined
  const own = found === undefined ? [] : [join(found.commonFolder, 'config'), join(found.gitFolder, 'config.worktree')]
  const read = (file: string, depth: number): ReturnType<typeof settingsInForce> => {
    if (!isThere(file)) return []
    const text = depth > 5 ? undefined : textOf(file)
    const settings = text === undefined ? undefined : settingsIn(text)
    return settings === undefined
      ? undefined
      : joined(
          settings.map((setting) =>
            isInclude(setting[0], setting[1]) ? read(includedFile(file, setting[2]), depth + 1) : [setting],
          ),
        )
  }
  return joined([...personalFiles().toReversed(), ...own].map((file) => read(file, 0)))
}

function joined<T>(lists: readonly (readonly T[] | undefined)[]): readonly T[] | undefined {
  return lists.some((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? [])
}
