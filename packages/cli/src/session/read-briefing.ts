import {
  blockOf,
  type BriefingPlaces,
  briefingTrust,
  createSkillTool,
  type Expanded,
  gitSummary,
  type InstructionFile,
  instructionText,
  readInstructions,
  type ReadingRules,
  readWrittenPrompts,
  skillList,
  tellingFolders,
  type WrittenPrompt,
} from '@halting/agent/instructions'
import { type AnyTool, CallableHook, type Hook, type QueryOptions } from '@halting/core'
import { counted, oneLine } from '../io/figures.ts'
import { type RunSettings, trustedBy } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'
import { expandWritten, modelOfWritten } from './written-prompts.ts'

/** What a session is told that people wrote for agents: files of instructions, skills; and what git says of the folder. */
export interface Briefing {
  /** For the system prompt; '' for nothing. */
  readonly system: string
  /** By file. Each stands in `system`. */
  readonly entries: { readonly [name: string]: string }
  readonly hooks: readonly Hook[]
  readonly init: NonNullable<QueryOptions['init']>
  /** The tools that there are, with what this adds to them. */
  tools(all: readonly AnyTool[]): readonly AnyTool[]
  /** What a person may ask for with a slash: commands and skills. */
  readonly commands: readonly WrittenPrompt[]
  /** The model that a command asks for; undefined for none, or where the folder was not trusted with it. */
  modelOf(command: WrittenPrompt, notes: string[]): Promise<string | undefined>
  expand(command: WrittenPrompt, given: string, signal: AbortSignal): Promise<Expanded>
  /** What was read, a line for each. */
  readonly read: readonly string[]
  /** What a person should know: what does not count, or is not shown whole. */
  readonly warnings: readonly string[]
}

// Loaded where somebody wrote something for agents, and only there.

/** Hooks of this name are the program's own: they are not told as hooks of a person. */
const briefingHook = 'halting:folder'

export async function readBriefing(
  { flags, env }: RunSettings,
  places: BriefingPlaces,
  toolbox: Toolbox,
): Promise<Briefing> {
  const { permissions, workspace } = toolbox
  const { cwd, home } = places
  // It answers while the rest is read.
  const git = gitSummary(cwd, workspace.env)
  const rules: ReadingRules = {
    home,
    mayRead: (path) => !permissions.deniesReading(path),
    trust: briefingTrust({ cwd, home, env, once: trustedBy(flags, env) }),
  }
  const { files, notes, waiting } = await readInstructions({ ...places, ...rules })
  const prompts = await readWrittenPrompts({ ...places, ...rules })
  const commands = prompts.all.filter(({ isForPerson }) => isForPerson)
  const isShown = permissions.toolsHiddenByDeny(['Skill']).length === 0 && wantsSkills(flags)
  const skills = isShown ? prompts.all.filter(({ isForModel }) => isForModel) : []
  const expand: Briefing['expand'] = (prompt, given, signal) =>
    expandWritten(prompt, given, rules.trust, toolbox, signal)
  const skillTool = createSkillTool(skills, expand)
  const tell = tellingFolders({ ...places, ...rules }, new Set(files.map(({ realPath }) => realPath)))
  return {
    system: [instructionText(files), skillList(skills)].filter((text) => text !== '').join('\n\n'),
    entries: Object.fromEntries(files.map((file) => [file.path, blockOf(file)])),
    hooks: [folderHook(git)],
    init: {
      instructions: files.map(({ path }) => path),
      slash_commands: commands.map(({ name }) => name),
      skills: skills.map(({ name }) => name),
    },
    tools: (all) => [...all.map(tell), ...(skills.length === 0 ? [] : [skillTool])],
    commands,
    modelOf: (command, told) => modelOfWritten(command, rules.trust, told),
    expand,
    read: files.map(readLine),
    warnings: [...notes, ...prompts.notes, ...waiting.map(waitingLine)].map((line) => oneLine(line, 500)),
  }
}

function wantsSkills({ tools = ['default'] }: RunSettings['flags']): boolean {
  return tools.includes('default') || tools.includes('Skill')
}

function readLine({ path, text, importedBy }: InstructionFile): string {
  const by = importedBy === undefined ? '' : `, imported by ${oneLine(importedBy, 200)}`
  return `read ${oneLine(path, 200)} (${counted(text.length)} characters${by})`
}

function waitingLine({ path, by }: { readonly path: string; readonly by: string }): string {
  return `${by} would bring in ${path}, which is outside of its folder: it does not count. halting trust shows it and has it count.`
}

/**
 * Tells once in a conversation how the repository is, and again in a later run where that has changed. A message of its own: what the cache of
 * the service holds from before stays.
 */
function folderHook(git: Promise<string | undefined>): Hook {
  return new CallableHook(
    async (context) => {
      const summary = await git
      if (summary === undefined) return
      const text = `The repository at the start of this run (told by halting, not by the user):\n${summary}`
      const last = context
        .state()
        .messages()
        .findLast(({ content }) => JSON.stringify(content).includes('(told by halting, not by the user)'))
      const isKnown = last !== undefined && JSON.stringify(last.content).includes(JSON.stringify(text).slice(1, -1))
      return isKnown ? undefined : context.withState(context.state().withUserMessage(text))
    },
    // Behind the hooks of people, who look at the prompt as the last that was said.
    { id: briefingHook, triggers: ['beforeExecution'], priority: -1_000 },
  )
}
