import { effectsOf } from '../command-effects.ts'
import { isHarmlessEffect } from '../read-only.ts'
import { literalWord } from '../read-grammar.ts'
import type { ShellWord } from '../words.ts'

type Words = readonly ShellWord[]

/**
 * What a git command does while the kernel confines it to the workspace. `reads`: the command does not need to write the
 * git folder. `writes index`: it changes the index, branches, tags or commits, and no file of the work tree. `network`:
 * contacts another repository. `changes`: anything else.
 */
export type GitKind = 'reads' | 'writes index' | 'network' | 'changes'

/** For words that begin with git, under any name. `exists`: whether a word names a file. */
export function gitKind(words: Words, isThere: (word: ShellWord) => boolean): GitKind {
  const [, ...args] = words
  const read = globalsOf(args)
  if (read === undefined) return 'changes'
  const { command, rest, isPlain } = read
  // Without a command, git prints help or its version.
  if (command === undefined) return 'reads'
  if (command.kind !== 'literal') return 'changes'
  const name = command.value
  const first = rest[0]?.value ?? ''
  if (isNetwork(name, first, rest)) return 'network'
  if (readers.has(name) || readersWith[name]?.(first, rest) === true) return 'reads'
  if (effectsOf([literalWord('git'), ...args]).every(isHarmlessEffect)) return 'reads'
  const writes = Object.hasOwn(writers, name) ? writers[name] : undefined
  return isPlain && writes !== undefined && writes(rest, isThere) ? 'writes index' : 'changes'
}

interface Globals {
  readonly command: ShellWord | undefined
  readonly rest: Words
  /** Whether the options before the command neither lead elsewhere nor set what may run a program. */
  readonly isPlain: boolean
}

const flags: ReadonlySet<string> = new Set(
  (
    '-p -P --paginate --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects --no-advice --version -v --help -h ' +
    '--html-path --man-path --info-path --exec-path'
  ).split(' '),
)
const leading: ReadonlySet<string> = new Set(['--git-dir', '--work-tree', '--namespace', '--bare', '--config-env'])
const harmlessSetting =
  /^(?:user\.(?:name|email)=.*|(?:commit|tag)\.gpgsign=(?:false|no|0)|color\.[a-z.]+=\w*|core\.quotepath=\w*|advice\.\w+=\w*)$/is

/** Undefined for unknown options. */
function globalsOf(args: Words): Globals | undefined {
  let isPlain = true
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at]
    if (word === undefined || word.kind !== 'literal') return undefined
    const { value } = word
    if (!value.startsWith('-')) return { command: word, rest: args.slice(at + 1), isPlain }
    const [name = ''] = value.split('=', 1)
    if (flags.has(value)) continue
    if (value === '-C') at += 1
    else if (value === '-c') {
      at += 1
      isPlain &&= args[at]?.kind === 'literal' && harmlessSetting.test(args[at]?.value ?? '')
    } else if (leading.has(name)) {
      if (!value.includes('=') && name !== '--bare') at += 1
      isPlain = false
    } else return undefined
  }
  return { command: undefined, rest: [], isPlain }
}

/** Commands that print, or write to files that they name. Programs from settings are confined like these commands. */
const readers: ReadonlySet<string> = new Set(
  (
    'annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry column count-objects describe diff ' +
    'diff-files diff-index diff-pairs diff-tree fmt-merge-msg for-each-ref format-patch fsck get-tar-commit-id grep help ' +
    'interpret-trailers log ls-files ls-tree mailinfo merge-base merge-tree name-rev patch-id range-diff rev-list rev-parse shortlog show ' +
    'show-branch show-index show-ref status stripspace var verify-commit verify-pack verify-tag version whatchanged'
  ).split(' '),
)

const readersWith: Readonly<Record<string, (first: string, rest: Words) => boolean>> = {
  archive: (_, rest) => literal(rest),
  bundle: (first) => /^(?:create|verify|list-heads)$/.test(first),
  'hash-object': (_, rest) => literal(rest) && !rest.some(({ value }) => /^-[a-z]*w/.test(value)),
  lfs: (first) => /^(?:ls-files|status|env|version|pointer)$/.test(first),
  submodule: (first) => /^(?:status|summary)$/.test(first),
  'symbolic-ref': (_, rest) =>
    literal(rest) &&
    rest.filter(({ value }) => !value.startsWith('-')).length === 1 &&
    !rest.some(({ value }) => /^(?:-d|--d)/.test(value)),
}

const talking: ReadonlySet<string> = new Set(
  (
    'push pull fetch clone ls-remote fetch-pack send-pack http-fetch http-push svn p4 cvsimport request-pull subtree imap-send ' +
    'send-email daemon instaweb upload-pack receive-pack'
  ).split(' '),
)

function isNetwork(name: string, first: string, rest: Words): boolean {
  if (name === 'lfs') return readersWith['lfs']?.(first, rest) !== true
  if (name === 'remote') return /^(?:update|show|prune|set-head)$/.test(first)
  if (name === 'submodule') return /^(?:update|add)$/.test(first)
  if (name === 'archive') return rest.some(({ value }) => /^--(?:rem|exec)/.test(value))
  return talking.has(name)
}

function literal(rest: Words): boolean {
  return rest.every(({ kind }) => kind === 'literal')
}

type Writes = (rest: Words, isThere: (word: ShellWord) => boolean) => boolean

const writers: Readonly<Record<string, Writes>> = {
  add: (rest) => !rest.some(({ value }) => /^(?:-[a-zA-Z]*e|--e)/.test(value)),
  stage: (rest) => !rest.some(({ value }) => /^(?:-[a-zA-Z]*e|--e)/.test(value)),
  commit: commits,
  rm: (rest) => optionsIn(rest, /^(?:--cached|-[rqn]+|--quiet|--dry-run|--ignore-unmatch)$/, ['--cached']),
  restore: (rest) => optionsIn(rest, /^(?:-S|--staged|-q|--quiet|--source=[\w./~^@-]+)$/, ['-S', '--staged']),
  reset: resets,
  tag: tags,
  branch: (rest) => literal(rest) && rest.length === 1 && isName(rest[0]),
  checkout: (rest) => literal(rest) && rest.length === 2 && rest[0]?.value === '-b' && isName(rest[1]),
  switch: (rest) =>
    literal(rest) && rest.length === 2 && /^(?:-c|--create)$/.test(rest[0]?.value ?? '') && isName(rest[1]),
}

/** Whether a new branch has only a name. If it starts from another branch, git would write to its settings which branch the new one follows. */
function isName(word: ShellWord | undefined): boolean {
  return word !== undefined && /^[\w][\w./#@+-]*$/.test(word.value)
}

/** Whether only these options, including one of `needed`, precede `--`. Paths may be any word that cannot be an option. */
function optionsIn(rest: Words, known: RegExp, needed: readonly string[]): boolean {
  const dashes = rest.findIndex(({ value, kind }) => kind === 'literal' && value === '--')
  const before = dashes === -1 ? rest : rest.slice(0, dashes)
  return (
    before.every(({ value, kind }) => (kind === 'dynamic' ? false : !value.startsWith('-') || known.test(value))) &&
    before.some(({ value, kind }) => kind === 'literal' && needed.includes(value))
  )
}

/** Whether `reset` has paths, or no arguments: a revision would move the branch. */
function resets(rest: Words, isThere: (word: ShellWord) => boolean): boolean {
  const dashes = rest.findIndex(({ value, kind }) => kind === 'literal' && value === '--')
  const before = dashes === -1 ? rest : rest.slice(0, dashes)
  const operands = before.filter(({ value }) => !/^(?:-q|--quiet|--mixed|-N|--intent-to-add)$/.test(value))
  const paths = /^(?:HEAD|@)$/.test(operands[0]?.value ?? '') ? operands.slice(1) : operands
  return (
    before.every(({ kind }) => kind === 'literal') &&
    paths.every((word) => !word.value.startsWith('-') && isThere(word))
  )
}

const commitFlags =
  /^(?:-[aqvnsoi]+|--(?:all|quiet|verbose|amend|no-edit|allow-empty|allow-empty-message|no-verify|signoff|no-signoff|no-gpg-sign|dry-run|reset-author|no-status|only|include|no-post-rewrite|short|porcelain))$/
const commitValues = /^(?:-[aqvnsoi]*[mFC]|--(?:message|file|reuse-message|author|date|fixup|squash|trailer|cleanup))$/
const givesMessage = /^(?:-[aqvnsoi]*[mFC]|--(?:message|file|reuse-message|no-edit|fixup))/

/** Whether `commit` has a message: otherwise an editor would wait for input. */
function commits(rest: Words): boolean {
  let hasMessage = false
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at]
    if (word === undefined) break
    const { value, kind, isOne } = word
    if (value === '--' && kind === 'literal') break
    const [name = ''] = value.split('=', 1)
    // `-m"$(…)"`, `--message="$(…)"`: the part before the substitution is certain.
    const isSure = kind === 'literal' || (isOne === true && /^(?:-[aqvnsoi]*m|--message=)/.test(value))
    if (!isSure) return false
    if (!value.startsWith('-')) continue
    hasMessage ||= givesMessage.test(value)
    if (commitValues.test(value)) {
      at += 1
      const argument = rest[at]
      if (argument === undefined || (argument.kind !== 'literal' && argument.isOne !== true)) return false
      if (/^--fixup$/.test(value) && !isFixupWithoutEditor(argument.value)) return false
    } else if (name === '--fixup' && !isFixupWithoutEditor(value.slice('--fixup='.length))) return false
    else if (!commitFlags.test(value) && !commitValues.test(name) && !/^-[aqvnsoi]*m./s.test(value)) return false
  }
  return hasMessage
}

/** `amend:` and `reword:` open an editor. */
function isFixupWithoutEditor(revision: string): boolean {
  return /^[\w./~^@-]+$/.test(revision)
}

/** Whether `tag` creates a tag without a signature, and with its message if it has one. */
function tags(rest: Words): boolean {
  const at = rest.findIndex(({ value }) => /^(?:-a?m|--message)$/.test(value))
  const message = at === -1 ? undefined : rest[at + 1]
  const others = at === -1 ? rest : [...rest.slice(0, at), ...rest.slice(at + 2)]
  if (at !== -1 && (message === undefined || (message.kind !== 'literal' && message.isOne !== true))) return false
  const isAnnotated = others.some(({ value }) => /^(?:-a|--annotate)$/.test(value))
  const names = others.filter(({ value }) => !/^(?:-a|--annotate)$/.test(value))
  return (
    literal(others) && (!isAnnotated || at !== -1) && names.length > 0 && names.length <= 2 && names.every(isRevision)
  )
}

function isRevision({ value }: ShellWord): boolean {
  return /^[\w][\w./#@+~^-]*$/.test(value)
}
