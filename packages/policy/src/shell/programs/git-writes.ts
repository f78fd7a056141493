import { mayBeOption, nextOperands } from '../subcommands/operands.ts'
import { isGit } from '../subcommands/git-commands.ts'
import { syntaxOf } from '../subcommands/program-syntax.ts'
import { memoizeByObject } from '../memoize.ts'
import type { ShellWord } from '../words.ts'

type Words = readonly ShellWord[]

/** The files of the work tree, and elsewhere, that a git command may change. Used for deny and ask rules only, so an overestimate is safe. */
export interface GitWrites {
  /** Paths in the work tree, from the folder in which it runs. */
  readonly paths: Words
  /** Whether it may change any file of the work tree. */
  readonly isWholeTree: boolean
}

/** The arguments after a subcommand. */
interface GitArguments {
  readonly words: Words
  /** Words without options, before `--` if there is one. Includes values of options. */
  readonly operands: Words
  /** Words after `--`: paths only. */
  readonly paths: Words | undefined
  /** Whether an option may be present: abbreviated, combined with other letters, or as the value of another option. */
  readonly mayHave: (...names: readonly string[]) => boolean
  /** Whether an option is certainly present. */
  readonly has: (...names: readonly string[]) => boolean
  /** The word after an option, or the text after its `=`. */
  readonly value: (...names: readonly string[]) => Words
}

type Writes = (parsed: GitArguments) => GitWrites

const noWrites: GitWrites = { paths: [], isWholeTree: false }
const wholeTree: GitWrites = { paths: [], isWholeTree: true }
const anyFile: Writes = () => wholeTree
const pathWrites = (paths: Words): GitWrites => ({ paths, isWholeTree: false })

function namedPaths({ operands, paths = [], mayHave }: GitArguments): GitWrites {
  const isFromFile = mayHave('--pathspec-from-file', '--stdin')
  const all = [...operands, ...paths]
  return { paths: all, isWholeTree: isFromFile || all.length === 0 }
}

/** `-e` takes a pattern of files that remain. */
function cleanWrites(parsed: GitArguments): GitWrites {
  const excluded = parsed.value('-e', '--exclude')
  return namedPaths({ ...parsed, operands: parsed.operands.filter((word) => !excluded.includes(word)) })
}

function checkoutWrites(parsed: GitArguments): GitWrites {
  const { operands, paths, mayHave } = parsed
  if (paths === undefined && createsBranch(parsed, ['-b', '-B', '--orphan'])) return noWrites
  const isForced = mayHave('-f', '--force')
  const isPlain = operands.length === 0 && paths === undefined
  if (isPlain && !isForced && !mayHave('-p', '--patch', '--pathspec-from-file')) return noWrites
  const namesPaths = paths !== undefined && paths.length > 0 && !mayHave('--pathspec-from-file')
  // A word may be a revision or a path.
  return namesPaths ? pathWrites(paths) : { paths: operands, isWholeTree: true }
}

/** `-b name` without a revision: the work tree remains unchanged, unless `--force` is given. */
function createsBranch({ words, operands }: GitArguments, names: readonly string[]): boolean {
  const at = words.findIndex(({ value }) => names.includes(value))
  const [name] = operands
  const isOne = name !== undefined && (name.kind === 'literal' || name.isOne === true)
  if (at === -1 || operands.length !== 1 || !isOne || name !== words[at + 1]) return false
  return !parseArguments(words.filter((word) => word !== name)).mayHave('-f', '--force', '--discard-changes')
}

function stashWrites(parsed: GitArguments): GitWrites {
  if (firstWordMatches(parsed, /^(?:list|show|drop|clear|create|store|export|import)$/)) return noWrites
  const { paths = [], mayHave } = parsed
  const namesPaths = paths.length > 0 && firstWordMatches(parsed, /^push$/) && !mayHave('--pathspec-from-file')
  return namesPaths ? pathWrites(paths) : wholeTree
}

function applyWrites({ has, mayHave }: GitArguments): GitWrites {
  const isLooking = has('--check', '--stat', '--numstat', '--summary') && !mayHave('--apply')
  return isLooking || (has('--cached') && !mayHave('--index')) ? noWrites : wholeTree
}

function cloneWrites({ operands }: GitArguments): GitWrites {
  // If no folder is named, the folder gets the name of the repository.
  const ends = operands.map((word): ShellWord => {
    const name = /([^/:]+?)(?:\.git|\.bundle)?\/*$/.exec(word.value)?.[1]
    return { ...word, value: name ?? word.value }
  })
  return pathWrites([...operands, ...ends])
}

function firstWordMatches({ words }: GitArguments, names: RegExp): boolean {
  return words[0]?.kind === 'literal' && names.test(words[0].value)
}

function unlessFirstWord(harmless: RegExp, otherwise: Writes): Writes {
  return (parsed) => (firstWordMatches(parsed, harmless) ? noWrites : otherwise(parsed))
}

const writes: Readonly<Record<string, Writes>> = {
  rm: (parsed) => (parsed.has('--cached', '-n', '--dry-run') ? noWrites : namedPaths(parsed)),
  mv: (parsed) => (parsed.has('-n', '--dry-run') ? noWrites : namedPaths(parsed)),
  checkout: checkoutWrites,
  switch: (parsed) => (createsBranch(parsed, ['-c', '-C', '--create', '--force-create']) ? noWrites : wholeTree),
  restore: (parsed) =>
    parsed.has('-S', '--staged') && !parsed.mayHave('-W', '--worktree') ? noWrites : namedPaths(parsed),
  clean: (parsed) => (parsed.has('-n', '--dry-run') ? noWrites : cleanWrites(parsed)),
  stash: stashWrites,
  reset: ({ mayHave }) => (mayHave('--hard', '--merge', '--keep') ? wholeTree : noWrites),
  apply: applyWrites,
  'read-tree': ({ mayHave }) => (mayHave('-u') ? wholeTree : noWrites),
  'checkout-index': (parsed) => {
    const { paths, isWholeTree } = namedPaths(parsed)
    return {
      paths: [...paths, ...parsed.value('--prefix')],
      isWholeTree: isWholeTree || parsed.mayHave('-a', '--all'),
    }
  },
  worktree: unlessFirstWord(/^(?:list|lock|unlock|prune)$/, ({ operands }) => pathWrites(operands.slice(1))),
  submodule: unlessFirstWord(/^(?:status|summary|init|sync|set-url|set-branch|absorbgitdirs)$/, anyFile),
  'sparse-checkout': unlessFirstWord(/^(?:list|check-rules)$/, anyFile),
  bisect: unlessFirstWord(/^(?:log|view|visualize|terms|help)$/, anyFile),
  subtree: unlessFirstWord(/^(?:split|push)$/, anyFile),
  lfs: unlessFirstWord(/^(?:env|ls-files|logs|status|version|locks|push|fetch)$/, anyFile),
  clone: cloneWrites,
  init: ({ operands, value }) => pathWrites([...operands, ...value('--separate-git-dir')]),
  'format-patch': (parsed) => {
    const folder = parsed.value('-o', '--output-directory')
    return parsed.has('--stdout') ? noWrites : folder.length > 0 ? pathWrites(folder) : wholeTree
  },
  archive: ({ value }) => pathWrites(value('-o', '--output')),
  bundle: unlessFirstWord(/^(?:verify|list-heads|unbundle)$/, ({ operands }) => pathWrites(operands.slice(1))),
  'merge-file': (parsed) => (parsed.has('-p', '--stdout') ? noWrites : pathWrites(parsed.operands)),
  config: (parsed) =>
    parsed.has('--get', '--get-all', '--get-regexp', '--list', '-l') || firstWordMatches(parsed, /^(?:get|list)$/)
      ? noWrites
      : pathWrites(parsed.value('-f', '--file')),
  mailinfo: ({ operands }) => pathWrites(operands),
  mailsplit: ({ value }) => pathWrites(value('-o')),
  'interpret-trailers': ({ operands, mayHave }) => (mayHave('--in-place') ? pathWrites(operands) : noWrites),
  'fast-import': ({ value }) => pathWrites(value('--export-marks', '--export-pack-edges')),
  'fast-export': ({ value }) => pathWrites(value('--export-marks')),
  'credential-store': ({ value }) => pathWrites(value('--file')),
  'pack-objects': ({ operands }) => pathWrites(operands),
  'index-pack': ({ operands, value }) => pathWrites([...operands, ...value('-o')]),
  bugreport: ({ value }) => pathWrites(value('-o', '--output-directory')),
  diagnose: ({ value }) => pathWrites(value('-o', '--output-directory')),
  ...Object.fromEntries(
    (
      'am merge pull rebase cherry-pick revert filter-branch filter-repo mergetool difftool rerere merge-index merge-one-file merge-recursive ' +
      'merge-recursive-ours merge-recursive-theirs merge-resolve merge-ours merge-octopus merge-subtree checkout--worker svn p4 quiltimport ' +
      'annex crypt secret flow absorb town citool gui cvsexportcommit cvsimport'
    )
      .split(' ')
      .map((name) => [name, anyFile]),
  ),
}

/** Undefined if the command is not git, or changes no file. */
export const gitWrites: (words: Words) => GitWrites | undefined = memoizeByObject(findWrites)

function findWrites(words: Words): GitWrites | undefined {
  if (!isGit(words)) return undefined
  const { operands } = nextOperands(words, new Map([[1, 2]]), syntaxOf('git'))
  const found = [...operands.keys()].slice(0, 4).map((at): GitWrites => {
    const word = words[at]
    if (word === undefined) return noWrites
    // Any subcommand is possible.
    if (word.kind !== 'literal') return wholeTree
    const parsed = parseArguments(words.slice(at + 1))
    const name = word.value.toLowerCase()
    const own = Object.hasOwn(writes, name) ? (writes[name]?.(parsed) ?? noWrites) : noWrites
    // `git diff --output=x`.
    return { ...own, paths: [...own.paths, ...parsed.value('--output')] }
  })
  const paths = found.flatMap((one) => one.paths)
  const isWholeTree = found.some((one) => one.isWholeTree)
  return paths.length === 0 && !isWholeTree ? undefined : { paths, isWholeTree }
}

/** Options without a value: the word after one is not a value. */
const flags =
  /^(?:-[fqrvkdxX]+|--(?:force|quiet|cached|staged|verbose|ignore-unmatch|stat|check|numstat|summary|index|3way|reverse|recursive))$/

function parseArguments(words: Words): GitArguments {
  const dashes = words.findIndex(({ value }) => value === '--')
  const before = dashes === -1 ? words : words.slice(0, dashes)
  // git accepts abbreviated long options, and combined option letters.
  const mayBe = (value: string, name: string): boolean => {
    const [written = ''] = value.split('=', 1)
    if (name.startsWith('--')) return written.length > 2 && written.startsWith('--') && name.startsWith(written)
    return /^-[A-Za-z]+$/.test(value) && value.includes(name.charAt(1))
  }
  const isSure = (at: number): boolean => {
    const last = before[at - 1]?.value
    return last === undefined || !last.startsWith('-') || flags.test(last)
  }
  return {
    words,
    operands: before.filter(({ value, kind }) => kind !== 'literal' || value === '-' || !value.startsWith('-')),
    paths: dashes === -1 ? undefined : words.slice(dashes + 1),
    mayHave: (...names) =>
      before.some(
        (word) =>
          names.some((name) => mayBe(word.value, name)) || (word.kind !== 'literal' && mayBeOption(word, names)),
      ),
    // An unknown option, or `--no-…`, may revert the option.
    has: (...names) =>
      before.every(({ value, kind }) => kind === 'literal' && !value.startsWith('--no-')) &&
      before.some(({ value }, at) => isSure(at) && names.some((name) => value === name || isAmongFlags(value, name))),
    value: (...names) =>
      before.flatMap((word, at): Words => {
        const name = names.find((one) => mayBe(word.value, one) || (one.length === 2 && word.value.startsWith(one)))
        if (name === undefined) return []
        const equals = word.value.indexOf('=')
        if (equals !== -1) return [{ ...word, value: word.value.slice(equals + 1) }]
        if (!name.startsWith('--') && word.value.length > 2 && word.value.startsWith(name))
          return [{ ...word, value: word.value.slice(2) }]
        const next = before[at + 1]
        return next === undefined ? [] : [next]
      }),
  }
}

/** `-fdn` is `-f -d -n`: none of the others takes a value. */
function isAmongFlags(value: string, name: string): boolean {
  return name === '-n' && /^-[fqrvkdxX]*n[fqrvkdxX]*$/.test(value)
}
