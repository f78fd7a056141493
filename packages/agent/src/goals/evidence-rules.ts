import { resolve } from 'node:path'
import type { CalledTool, NoEvidence } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { OutlinedCommand, OutlineWord } from '@halting/policy/shell'
import { whyOnlyPrintsItsText, programIn, whyRearrangesItsText } from './composing-commands.ts'
import { fieldOf, nameIn, outlineOfCall, SessionWrites } from './session-writes.ts'
import * as texts from './check-texts.ts'

/** Options of `evidenceRules`. */
export interface EvidenceRulesOptions {
  /** The folder in which the session was opened. Relative paths of tools are resolved against it. */
  readonly cwd: string
  /** Further tools whose results are written by a model: those with `asksModel`. */
  readonly asksModel?: (toolName: string) => boolean
}

/** Tools whose results are statements of a model. */
const claims: ReadonlySet<string> = new Set(['Agent', 'Task', 'WebFetch', 'WebSearch', 'Skill'])

/**
 * Tools whose results repeat their input, report about this program, or are the user's choices among options of the
 * model.
 */
const echoes: ReadonlySet<string> = new Set(
  'Edit Write NotebookEdit apply_patch TodoWrite TaskCreate TaskUpdate TaskList TaskGet AskUserQuestion EnterPlanMode ExitPlanMode ToolSearch TaskStop'.split(
    ' ',
  ),
)

/** Commands that show the files of their operands. */
const viewers: ReadonlySet<string> = new Set(
  'cat head tail nl less more most tac od hexdump strings dd grep egrep fgrep rg diff cmp comm sort uniq bat column fold paste view'.split(
    ' ',
  ),
)

/** Commands that show no content of the files that they name. */
const contentFree: ReadonlySet<string> = new Set(
  'ls stat wc du test [ file cksum md5sum sha1sum sha256sum sha512sum mkdir rm rmdir touch chmod cd tee cp mv ln echo printf exit true false export set'.split(
    ' ',
  ),
)

// Spec R-GOAL-55.
/**
 * The rules for `noEvidence` of a judged goal with the tools of the coding agent: they identify results that show only
 * what the session itself wrote. The rules use only the calls and read no file, so the same record always gives the
 * same answer. In doubt, a result is not evidence.
 */
export function evidenceRules({ cwd, asksModel = () => false }: EvidenceRulesOptions): NoEvidence {
  return (call, earlier) => {
    const { name } = call
    if (claims.has(name) || asksModel(name)) return texts.writtenByModel
    if (echoes.has(name)) return texts.repeatsInput
    if (name === 'Bash' && isBackground(call)) return texts.onlyStarted
    const files = new SessionWrites(earlier, cwd)
    if (name === 'Bash') return problemOfCommand(call, files, cwd)
    if (name === 'TaskOutput') return problemOfTask(earlier, files, cwd)
    if (name === 'Wait') return problemOfWait(call, earlier, { files, cwd })
    return problemOfReading(call, files, cwd)
  }
}

/** Evaluates a wait: its input says what the call waited for; its result shows the output of a task or command. */
function problemOfWait(
  call: CalledTool,
  earlier: readonly CalledTool[],
  { files, cwd }: { readonly files: SessionWrites; readonly cwd: string },
): string | undefined {
  // A matched line repeats the words of the pattern.
  if (fieldOf(call, 'command') !== undefined) return problemOfCommand(call, files, cwd)
  return fieldOf(call, 'task_id') === undefined ? texts.repeatsInput : problemOfTask(earlier, files, cwd)
}

function isBackground({ input }: CalledTool): boolean {
  return isJsonObject(input) && input['run_in_background'] === true
}

/** Only the results show which task a call started, so all candidates are inspected. */
function problemOfTask(earlier: readonly CalledTool[], files: SessionWrites, cwd: string): string | undefined {
  for (const call of earlier) {
    if ((call.name === 'Agent' || call.name === 'Task') && isBackground(call)) return texts.maybeWrittenByAgent
    const problem = call.name === 'Bash' && isBackground(call) ? problemOfCommand(call, files, cwd) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfReading(call: CalledTool, files: SessionWrites, cwd: string): string | undefined {
  const path = fieldOf(call, 'file_path') ?? fieldOf(call, 'notebook_path')
  if (call.name === 'Read')
    return path !== undefined && files.hasPath(resolve(cwd, path)) ? texts.ownFile(path) : undefined
  if (call.name === 'Grep') {
    const root = resolve(cwd, fieldOf(call, 'path') ?? '.')
    const isContent = fieldOf(call, 'output_mode') === 'content'
    return isContent && files.hasBelow(root) ? texts.ownLines : undefined
  }
  if (!call.name.startsWith('mcp__') && call.name !== 'ReadMcpResource') return undefined
  const named = textsIn(call.input).find((text) => files.hasName(nameIn(text)))
  return named === undefined ? undefined : texts.ownFile(named)
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : []
}

function problemOfCommand(call: CalledTool, files: SessionWrites, cwd: string): string | undefined {
  const { commands, readsFrom, writes, unclear } = outlineOfCall(call)
  if (unclear !== undefined) return texts.unclearOutput(unclear)
  // Files that the line itself writes and then shows count as written by the session.
  const own = new Set(writes.flatMap(({ text }) => (text.startsWith('/dev/') ? [] : [nameIn(text)])))
  const isOwn = (word: OutlineWord, isShown: boolean): boolean =>
    isOfSession(word, files, isShown) || own.has(nameIn(word.text))
  const rearranged = whyRearrangesItsText(commands, fieldOf(call, 'command') ?? '')
  if (rearranged !== undefined) return rearranged
  if (!files.isEmpty && /\b(?:xargs|parallel)\b/.test(fieldOf(call, 'command') ?? '')) return texts.unknownFiles
  const input = readsFrom.find((word) => isOwn(word, true))
  if (input !== undefined) return texts.ownFile(input.text)
  const isElsewhere = commands.some(
    ({ words: [first] }) => first !== undefined && /^(?:cd|pushd)$/.test(programIn(first)),
  )
  for (const command of commands) {
    const problem = whyOnlyPrintsItsText(command) ?? problemOfFiles(command, { files, isOwn, cwd, isElsewhere })
    if (problem !== undefined) return problem
  }
  return undefined
}

function isOfSession({ text, kind }: OutlineWord, files: SessionWrites, isShown: boolean): boolean {
  // `--config=x` and `if=x` also name a file.
  const value = text.replace(/^[^=/]*=/, '')
  if (kind === 'pattern') return files.fits(value)
  if (kind !== 'literal') return false
  return isShown ? files.hasName(nameIn(value)) : files.hasWord(nameIn(value))
}

interface Looking {
  readonly files: SessionWrites
  /** `isShown`: whether the command shows the word's content if the word is a file. */
  readonly isOwn: (word: OutlineWord, isShown: boolean) => boolean
  readonly cwd: string
  /** Whether the line changes to another folder. */
  readonly isElsewhere: boolean
}

function problemOfFiles(command: OutlinedCommand, { files, isOwn, cwd, isElsewhere }: Looking): string | undefined {
  const [first, ...args] = command.words
  if (first === undefined) return undefined
  const program = programIn(first)
  if (contentFree.has(program)) return undefined
  const named = [first, ...args].find((word) => isOwn(word, viewers.has(program) && word !== first))
  if (named !== undefined) return texts.ownFile(named.text)
  if (files.isEmpty) return undefined
  if (args.some(({ kind }) => kind === 'unknown')) return texts.unknownFiles
  if (command.showsHistory) return texts.ownHistory
  const tree = command.readsTrees.find(({ text }) => isElsewhere || files.hasBelow(resolve(cwd, text)))
  if (tree !== undefined) return texts.ownTree(tree.text)
  return problemOfRunner(program, args, files)
}

const packageManagers = /^(?:npm|pnpm|yarn|bun)$/
const buildFiles: Readonly<Record<string, readonly string[]>> = {
  make: ['makefile', 'gnumakefile'],
  gmake: ['makefile', 'gnumakefile'],
  just: ['justfile', '.justfile'],
  rake: ['rakefile'],
  task: ['taskfile.yml', 'taskfile.yaml'],
}

/** Programs that run a file's definitions; the session may have written that file. */
function problemOfRunner(program: string, args: readonly OutlineWord[], files: SessionWrites): string | undefined {
  const file = Object.hasOwn(buildFiles, program) ? buildFiles[program]?.find((name) => files.hasName(name)) : undefined
  if (file !== undefined) return texts.ownBuildFile(file)
  if (!packageManagers.test(program)) return undefined
  const operands = args.map(({ text: word }) => word).filter((word) => !word.startsWith('-'))
  const script = operands.find((word) => word !== 'run' && word !== 'run-script')
  if (script === undefined) return undefined
  // In the JSON of an input, quotes are preceded by a backslash.
  const keys = [script, `pre${script}`, `post${script}`].map((name) => String.raw`"${name}\"`)
  return files.hasWritten('package.json', keys) ? texts.ownScript(script) : undefined
}
