import { commandSteps, type CommandStep } from '@halting/policy/shell'
import { isChecked, mayBeSameFile, pathFrom } from './file-places.ts'
import { withoutWrappers, programName, type Words } from './wrapped-commands.ts'

/** A file that a command changes, as far as its text shows. */
export interface CommandChange {
  /** Path as written, relative to the folder in which the command began, if that folder is known. */
  readonly path: string
  /** Number of changed lines; 1 if unknown. */
  readonly lines: number
  /** The command deletes the file. */
  readonly isDeleted?: true
  /** The command creates the file. */
  readonly isNew?: true
}

/**
 * Files that a command line writes, moves or deletes, as far as its text shows: by redirects, `sed -i`, `tee`, `mv`
 * and similar. Touches no file.
 */
export function commandChanges(command: string): readonly CommandChange[] {
  return commandSteps(command).flatMap(changesOfStep)
}

/** The changes of one program of a command line. */
export function changesOfStep(step: CommandStep): readonly CommandChange[] {
  const words = withoutWrappers(step.words.map((word) => word ?? ''))
  const [first = '', ...args] = words
  const name = programName(first)
  const writes = writtenBy(name, args, step.input)
  const lines = linesGiven(name, args, step.input)
  const redirected: readonly CommandChange[] = step.writes.map((path) => ({ path, lines }))
  return [...redirected, ...writes].flatMap(({ path, lines: count, ...others }) => {
    const placed = pathFrom(step.folder, path) ?? path
    return path === '' || path === '-' || path.startsWith('/dev/') ? [] : [{ path: placed, lines: count, ...others }]
  })
}

/** Lines that a program writes through a redirect. */
function linesGiven(name: string, args: Words, input: string): number {
  if (input !== '') return lineCount(input)
  if (name !== 'echo' && name !== 'printf') return 1
  return Math.max(
    1,
    args
      .join(' ')
      .split(/\n|\\n/)
      .filter((line) => line.trim() !== '').length,
  )
}

function lineCount(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}

function operands(args: Words): Words {
  return args.filter((word) => word !== '' && !word.startsWith('-'))
}

function each(paths: Words, lines = 1): readonly CommandChange[] {
  return paths.map((path) => ({ path, lines }))
}

function writtenBy(name: string, args: Words, input: string): readonly CommandChange[] {
  const files = operands(args)
  switch (name) {
    case 'tee':
      return each(files, input === '' ? 1 : lineCount(input))
    case 'sed':
      return args.some((word) => /^-\w*i|^--in-place/.test(word))
        ? each(scriptApart(args, /^-(?:e|f|-expression|-file)$/))
        : []
    case 'perl':
    case 'ruby':
      return args.some((word) => /^-\w*i/.test(word)) ? each(files.slice(1)) : writtenByScript(args, input)
    case 'gawk':
    case 'awk':
      return args.includes('inplace') ? each(files.filter((word) => word !== 'inplace').slice(1)) : []
    case 'rm':
    case 'unlink':
      return each(files).map((change) => ({ ...change, isDeleted: true }))
    case 'mv':
    case 'truncate':
      return each(files)
    case 'cp':
    case 'install':
    case 'ln':
    case 'rsync':
      return each(files.slice(-1))
    case 'dd':
      return each(args.flatMap((word) => (word.startsWith('of=') ? [word.slice(3)] : [])))
    case 'ed':
    case 'ex':
      return each(files)
    case 'patch':
    case 'apply_patch':
    case 'applypatch':
      return patched(name === 'patch' ? input : `${input}${args.join('\n')}`)
    case 'git':
      return changedByGit(args, input)
    case 'python':
    case 'python3':
    case 'node':
      return writtenByScript(args, input)
    default:
      return []
  }
}

/** Operands after the script of `sed`, which is the first operand unless an option gives one. */
function scriptApart(args: Words, scriptOption: RegExp): Words {
  const files: string[] = []
  let hasScript = false
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? ''
    if (scriptOption.test(word)) {
      hasScript = true
      at += 1
    } else if (/^-e.|^--expression=/.test(word)) hasScript = true
    else if (word !== '' && !word.startsWith('-')) files.push(word)
  }
  return hasScript ? files : files.slice(1)
}

const namesInPatch = /^(?:\+\+\+ (?:b\/)?(\S+)|\*\*\* (?:Add|Update|Delete) File: (.+))/

/** The files of a patch in the command line, with their lines; one file of unknown name for any other patch. */
function patched(text: string): readonly CommandChange[] {
  const found: { path: string; lines: number }[] = []
  for (const line of text.split('\n')) {
    const [, unified, listed] = namesInPatch.exec(line) ?? []
    const path = unified ?? listed
    if (path !== undefined) found.push({ path: path.trim(), lines: 0 })
    else if (/^[+-](?![+-]{2} )/.test(line)) {
      const last = found.at(-1)
      if (last !== undefined) last.lines += 1
    }
  }
  return found.length === 0
    ? [{ path: unknownFile, lines: 1 }]
    : found.map(({ path, lines }) => ({ path, lines: Math.max(1, lines) }))
}

/** Stands for files that the text of a command does not name. */
const unknownFile = '(a file)'

function changedByGit(args: Words, input: string): readonly CommandChange[] {
  const [verb = '', ...rest] = args[0] === '-C' ? args.slice(2) : args
  if (rest.some((word) => /^--(?:stat|check|numstat|summary|cached|staged|soft)$/.test(word)) && verb !== 'rm')
    return []
  if (verb === 'apply' || verb === 'am') return patched(input)
  if (verb === 'mv' || verb === 'rm') return each(operands(rest))
  if (verb === 'restore') return each(operands(rest))
  if (verb === 'checkout' && rest.includes('--')) return each(rest.slice(rest.indexOf('--') + 1))
  const isAll =
    /^(?:revert|cherry-pick|merge|pull|rebase)$/.test(verb) ||
    (verb === 'stash' && /^(?:pop|apply)$/.test(rest[0] ?? '')) ||
    (verb === 'reset' && rest.includes('--hard'))
  return isAll ? [{ path: unknownFile, lines: 1 }] : []
}

const writingCall =
  /\bopen\(\s*(?:r?(['"])([^'"\n]{1,200})\1|[\w.]+)\s*,\s*(?:mode\s*=\s*)?['"][wax]|\.write_text\(|\.write_bytes\(|writeFileSync?\(|fs\.(?:rename|unlink|rm|cp|append)\w*\(|shutil\.(?:move|copy)|os\.(?:rename|remove|unlink)\(/

/** A script in the command line that writes files: a change of the first file that it names. */
function writtenByScript(args: Words, input: string): readonly CommandChange[] {
  const at = args.findIndex((word) => /^-[cepE]+$|^--eval$/.test(word))
  const script = at >= 0 ? (args[at + 1] ?? '') : operands(args).length === 0 || args[0] === '-' ? input : ''
  if (!writingCall.test(script)) return []
  const named = /(?:open|Path|writeFileSync?|readFileSync?)\(\s*r?['"]([^'"\n]{1,200})['"]/.exec(script)
  const variable =
    /^\s*(?:const |let |var )?(?:path|file|filename|p|f|fn|fname|filepath|file_path|target|src)\s*=\s*(?:Path\()?r?['"]([^'"\n]{1,200})['"]/m.exec(
      script,
    )
  return [{ path: named?.[1] ?? variable?.[1] ?? unknownFile, lines: 1 }]
}

/**
 * Names of files in the folder that were probably created to try something out, for callers without better knowledge.
 */
const temporaryNames =
  /^(?:repro\w*|debug|scratch|tmp|temp|try|inspect|verify|check|apply|fix|update|modify|edit|test)(?:[-_][\w-]*)?(?:\.\w+)?$/i

/** Applies the name rule if it is unknown whether a file existed before a command wrote it. */
export function asTemporary(change: CommandChange): CommandChange {
  return change.isDeleted !== true && temporaryNames.test(change.path) ? { ...change, isNew: true } : change
}

/** Files of a run whose deletion does not count as a change. */
export interface DisposableFiles {
  /**
   * Files that the run had changed. If it is unknown which of them it created, all count as created, and so do files
   * whose names look temporary.
   */
  readonly changedFiles?: readonly string[] | undefined
  /** Files that the run had created and that no other changed file refers to. */
  readonly madeFiles?: readonly string[] | undefined
}

/** Lines of changes that a check covers. */
export function countedLines(
  changes: readonly CommandChange[],
  { changedFiles = [], madeFiles }: DisposableFiles = {},
): number {
  const passes = (path: string): boolean =>
    madeFiles === undefined
      ? temporaryNames.test(path) || changedFiles.some((file) => mayBeSameFile(file, path))
      : madeFiles.includes(path)
  const counts = ({ path, isDeleted }: CommandChange): boolean =>
    isChecked(path) && !(isDeleted === true && passes(path))
  return changes.reduce((sum, change) => sum + (counts(change) ? change.lines : 0), 0)
}
