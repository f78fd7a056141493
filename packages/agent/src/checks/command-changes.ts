import { commandSteps, type CommandStep } from '@halting/policy/shell'
import { isChecked, mayBeSame, placedAt } from './file-places.ts'
import { peeled, programName, type Words } from './peel.ts'

/** A file that a command changes, as far as its text tells. */
export interface CommandChange {
  /** As it is written, from the folder where the command began where that is known. */
  readonly path: string
  /** Lines that it changes; 1 where their number is not known. */
  readonly lines: number
  /** It is deleted. */
  readonly isDeleted?: true
  /** It was not there before. */
  readonly isNew?: true
}

/** Files that a command line writes, moves or deletes, as far as its text tells: by redirects, `sed -i`, `tee`, `mv` and their like. Touches no file. */
export function commandChanges(command: string): readonly CommandChange[] {
  return commandSteps(command).flatMap(changesOfStep)
}

/** What one program of a line changes. */
export function changesOfStep(step: CommandStep): readonly CommandChange[] {
  const words = peeled(step.words.map((word) => word ?? ''))
  const [first = '', ...args] = words
  const name = programName(first)
  const written = writtenBy(name, args, step.input)
  const lines = linesGiven(name, args, step.input)
  const redirected: readonly CommandChange[] = step.writes.map((path) => ({ path, lines }))
  return [...redirected, ...written].flatMap(({ path, lines: count, ...others }) => {
    const placed = placedAt(step.folder, path) ?? path
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

/** Operands behind the script of `sed`, which is the first unless an option gives one. */
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

/** The files of a patch that stands in the command line, with their lines; one of an unknown name for any other. */
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

/** A script in the command line that writes files: of the first that it names. */
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

/** Files in the folder itself that were made to try something out, by their names: for those who know no better. */
const forTrying =
  /^(?:repro\w*|debug|scratch|tmp|temp|try|inspect|verify|check|apply|fix|update|modify|edit|test)(?:[-_][\w-]*)?(?:\.\w+)?$/i

/** Where nobody looked whether a file was there before that a command writes, its name tells. */
export function asMadeForTrying(change: CommandChange): CommandChange {
  return change.isDeleted !== true && forTrying.test(change.path) ? { ...change, isNew: true } : change
}

/** Files of a run whose deletion is no change. */
export interface PassingFiles {
  /** What it had changed. Where nobody knows which of these it had made, they count as made, and so do files by whose names they were made to try something out. */
  readonly changedFiles?: readonly string[] | undefined
  /** What it had made itself, and nothing else that it changed names. */
  readonly madeFiles?: readonly string[] | undefined
}

/** Lines of changes that a check looks at. */
export function countedLines(
  changes: readonly CommandChange[],
  { changedFiles = [], madeFiles }: PassingFiles = {},
): number {
  const passes = (path: string): boolean =>
    madeFiles === undefined
      ? forTrying.test(path) || changedFiles.some((file) => mayBeSame(file, path))
      : madeFiles.includes(path)
  const counts = ({ path, isDeleted }: CommandChange): boolean =>
    isChecked(path) && !(isDeleted === true && passes(path))
  return changes.reduce((sum, change) => sum + (counts(change) ? change.lines : 0), 0)
}
