import { join } from 'node:path'
import { type AnyTool, CallableHook, type Hook, type QueryOptions } from '@halting/core'
import type { MemoryPlace } from '../memory/places.ts'
import type { RulePermissions } from '@halting/policy'
import { bothEnds } from '@halting/policy/files'
import type { Workspace } from '../tools/workspace.ts'
import { gitHead } from './briefing-texts.ts'
import type { PromptFile } from './prompt-files.ts'
import type { ExpandedPrompt } from './expand-prompt.ts'
import { withFolderInstructions } from './folder-instructions.ts'
import { gitSummary } from './git-summary.ts'
import { type InstructionFile, readInstructions, type ReadingRules } from './instruction-files.ts'
import { instructionBlock, instructionText } from './instruction-text.ts'
import { briefingTrust } from './briefing-trust.ts'
import { briefingHook, type BriefingPlaces } from './places.ts'
import { SessionPrompts } from './session-prompts.ts'
import { modelOfPromptFile } from './expand-prompt-file.ts'

/** Instructions, skills and commands that a session has from files, and the git status of the folder. */
export interface Briefing {
  /** Text for the system prompt; '' if empty. */
  readonly system: string
  /** The parts of `system`, by file. */
  readonly entries: { readonly [name: string]: string }
  /** Hooks that inform the model about the folder, such as its git status. */
  readonly hooks: readonly Hook[]
  /** Fields for `system/init`. */
  readonly init: NonNullable<QueryOptions['init']>
  /** Returns the tools of the session together with the tools of the briefing. */
  tools(all: readonly AnyTool[]): readonly AnyTool[]
  /** Commands and skills, which can be reloaded. */
  readonly prompts: SessionPrompts
  /**
   * Returns the model that a command requests; undefined if the command requests none, or if the folder is not trusted
   * to select a model.
   */
  modelOf(command: PromptFile, notes: string[]): Promise<string | undefined>
  /**
   * Returns the text of a command with its arguments and the output of its embedded commands. `given`: the arguments
   * as typed.
   */
  expand(command: PromptFile, argumentText: string, signal: AbortSignal): Promise<ExpandedPrompt>
  /** The instruction files. */
  readonly files: readonly InstructionFile[]
  /** The memory index, and the text shown of the index and its topics. */
  readonly memory:
    | {
        /** Path of the index. */
        readonly path: string
        /** The text that is shown. */
        readonly text: string
      }
    | undefined
  /** Notes for the user: what is ignored or shortened. */
  readonly warnings: readonly string[]
}

/** Options of `readBriefing`. */
export interface BriefingOptions {
  /** The folders with instructions. */
  readonly places: BriefingPlaces
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The permission rules of the session. */
  readonly permissions: RulePermissions
  /** What makes the folder trusted for this session. Default: the records decide. */
  readonly trustedBy: string | false | undefined
  /** Whether skills are offered to the model. */
  readonly showsSkills: boolean
  /** Names of the skills to offer (default: all). */
  readonly skills?: readonly string[] | undefined
  /** Location of notes of earlier sessions; undefined if there are none. */
  readonly memory?: MemoryPlace | undefined
}

/** Loaded only if there are instructions, commands, skills or notes. */
export async function readBriefing(options: BriefingOptions): Promise<Briefing> {
  const { places, permissions, workspace } = options
  const { cwd, env, home } = places
  // Runs in parallel with the other reads.
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
  const withInstructions = withFolderInstructions(
    { ...places, ...rules },
    new Set(files.map(({ realPath }) => realPath)),
  )
  return {
    system: [instructionText(files), memory?.text ?? '', prompts.list].filter((text) => text !== '').join('\n\n'),
    entries: Object.fromEntries([
      ...files.map((file) => [file.path, instructionBlock(file)] as const),
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
    tools: (all) => [...all.map(withInstructions), ...(hadSkills ? [prompts.tool] : [])],
    prompts,
    modelOf: (command, added) => modelOfPromptFile(command, rules.trust, added),
    expand: (command, argumentText, signal) => prompts.expand(command, argumentText, { signal }),
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
/** Notes of earlier sessions that deny rules allow to be read. */
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
 * Reports the state of the repository once per conversation, and again in a later run if it has changed. The report is
 * a separate message before the prompt, so that the cached prefix stays valid and the last user message is the prompt.
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
