import { join } from 'node:path'
import { type AnyTool, CallableHook, type Hook, type QueryOptions } from '@halting/core'
import type { MemoryPlace } from '../memory/places.ts'
import type { RulePermissions } from '@halting/policy'
import { bothEnds } from '@halting/policy/files'
import type { Workspace } from '../tools/workspace.ts'
import { gitHead } from './briefing-texts.ts'
import type { WrittenPrompt } from './commands.ts'
import type { Expanded } from './expand-prompt.ts'
import { tellingFolders } from './folder-instructions.ts'
import { gitSummary } from './git-summary.ts'
import { type InstructionFile, readInstructions, type ReadingRules } from './instruction-files.ts'
import { blockOf, instructionText } from './instruction-text.ts'
import { briefingTrust } from './offers.ts'
import { briefingHook, type BriefingPlaces } from './places.ts'
import { SessionPrompts } from './session-prompts.ts'
import { modelOfWritten } from './written-prompts.ts'

/** What a session is told that people wrote for agents: files of instructions, skills; and what git says of the folder. */
export interface Briefing {
  /** For the system prompt; '' for nothing. */
  readonly system: string
  /** By file. Each stands in `system`. */
  readonly entries: { readonly [name: string]: string }
  /** Hooks that tell the model about the folder, such as what git says of it. */
  readonly hooks: readonly Hook[]
  /** Fields for `system/init`. */
  readonly init: NonNullable<QueryOptions['init']>
  /** The tools that there are, with what this adds to them. */
  tools(all: readonly AnyTool[]): readonly AnyTool[]
  /** Commands and skills, which may be read anew. */
  readonly prompts: SessionPrompts
  /** The model that a command asks for; undefined for none, or where the folder was not trusted with it. */
  modelOf(command: WrittenPrompt, notes: string[]): Promise<string | undefined>
  /** The text of a command with its arguments and what its commands print. `given`: the arguments as they were written. */
  expand(command: WrittenPrompt, given: string, signal: AbortSignal): Promise<Expanded>
  /** What was read. */
  readonly files: readonly InstructionFile[]
  /** The index of the memory, and what is shown of it and its topics. */
  readonly memory:
    | {
        /** Path of the index. */
        readonly path: string
        /** The text that is shown. */
        readonly text: string
      }
    | undefined
  /** What a person should know: what does not count, or is not shown whole. */
  readonly warnings: readonly string[]
}

/** Options of the instructions that a session begins with. */
export interface BriefingOptions {
  /** Where instructions are. */
  readonly places: BriefingPlaces
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The rules of the session. */
  readonly permissions: RulePermissions
  /** What trusts the folder for this session; the records decide when absent. */
  readonly trustedBy: string | false | undefined
  /** Whether the model is shown the skills. */
  readonly showsSkills: boolean
  /** Names of the only ones that it shows; all when absent. */
  readonly skills?: readonly string[] | undefined
  /** Where notes of earlier sessions are; undefined where the session has none. */
  readonly memory?: MemoryPlace | undefined
}

/** Loaded where somebody wrote something for agents, and only there. */
export async function readBriefing(options: BriefingOptions): Promise<Briefing> {
  const { places, permissions, workspace } = options
  const { cwd, env, home } = places
  // It answers while the rest is read.
  const git = gitSummary(cwd, workspace.env)
  const rules: ReadingRules = {
    home,
    mayRead: (path) => !permissions.deniesReading(path),
    trust: briefingTrust({ cwd, home, env, once: options.trustedBy }),
  }
  const memory = options.memory === undefined ? undefined : await shownMemory(options.memory, rules)
  const { files, notes, waiting } = await readInstructions({ ...places, ...rules })
  const prompts = new SessionPrompts({ ...options, rules })
  const promptNotes = await prompts.read(places)
  const hadSkills = prompts.skills.length > 0
  const tell = tellingFolders({ ...places, ...rules }, new Set(files.map(({ realPath }) => realPath)))
  return {
    system: [instructionText(files), memory?.text ?? '', prompts.list].filter((text) => text !== '').join('\n\n'),
    entries: Object.fromEntries([
      ...files.map((file) => [file.path, blockOf(file)] as const),
      ...(memory?.text === undefined ? [] : [[memory.path, memory.text] as const]),
    ]),
    hooks: [folderHook(git)],
    init: {
      instructions: [...files.map(({ path }) => path), ...(memory?.text === undefined ? [] : [memory.path])],
      get slash_commands() {
        return prompts.commands.map(({ name }) => name)
      },
      get skills() {
        return prompts.skills.map(({ name }) => name)
      },
    },
    tools: (all) => [...all.map(tell), ...(hadSkills ? [prompts.tool] : [])],
    prompts,
    modelOf: (command, told) => modelOfWritten(command, rules.trust, told),
    expand: (command, given, signal) => prompts.expand(command, given, { signal }),
    files,
    memory: memory?.text === undefined ? undefined : { path: memory.path, text: memory.text },
    warnings: [...notes, ...(memory?.warnings ?? []), ...promptNotes, ...waiting.map(waitingLine)],
  }
}

interface ShownMemory {
  readonly path: string
  readonly text: string | undefined
  readonly warnings: readonly string[]
}

// Spec R-MEM-2.
/** Notes of earlier sessions, where deny rules leave them open. */
async function shownMemory(place: MemoryPlace, { mayRead }: ReadingRules): Promise<ShownMemory> {
  const { indexPath: path } = place
  if (!bothEnds(path).every(mayRead))
    return { path, text: undefined, warnings: [`${path} was not read: a permission rule denies it.`] }
  const [{ readMemory }, { memoryText }] = await Promise.all([
    import('../memory/read-memory.ts'),
    import('../memory/memory-text.ts'),
  ])
  const memory = await readMemory(place)
  const isOpen = (name: string): boolean => bothEnds(join(place.path, name)).every(mayRead)
  const shown = memoryText(place, { ...memory, topics: memory.topics.filter(({ file }) => isOpen(file.name)) })
  const cut = `${path} and its topics are too long: only the first ${shown?.text.length ?? 0} characters are used. \`halting memory dream\` shortens them.`
  return { path, text: shown?.text, warnings: [...memory.problems, ...(shown?.isCut === true ? [cut] : [])] }
}

function waitingLine({ path, by }: { readonly path: string; readonly by: string }): string {
  return `Ignored until you trust this folder: ${by} imports ${path}, which is outside of its folder. Review with \`halting trust\`.`
}

/**
 * Tells once in a conversation how the repository is, and again in a later run where that has changed. A message of its own before the prompt: what
 * the cache of the service holds from before stays, and the last that the user said is the prompt.
 */
function folderHook(git: Promise<string | undefined>): Hook {
  return new CallableHook(
    async (context) => {
      const summary = await git
      if (summary === undefined) return
      const text = `${gitHead}\n${summary}`
      const last = context
        .state()
        .messages()
        .findLast(({ content }) => JSON.stringify(content).includes(gitHead))
      const isKnown = last !== undefined && JSON.stringify(last.content).includes(JSON.stringify(text).slice(1, -1))
      return isKnown ? undefined : context.withMessageBeforePrompt(text)
    },
    { id: briefingHook, triggers: ['beforeExecution'] },
  )
}
