import type { AnyLeafTool } from '@halting/core/adapters'
import type { RulePermissions } from '@halting/policy'
import type { GuardCommand, SkillCommand } from '../hooks/skill-command.ts'
import type { Workspace } from '../tools/workspace.ts'
import { noSkillsLeft } from './briefing-texts.ts'
import { readPromptFiles, type PromptFile } from './prompt-files.ts'
import type { ExpandedPrompt } from './expand-prompt.ts'
import type { ReadingRules } from './instruction-files.ts'
import type { BriefingPlaces } from './places.ts'
import type { PromptCaller } from './prompt-command.ts'
import { createSkillTool, skillList } from './skill-tool.ts'
import { expandPromptFile } from './expand-prompt-file.ts'

export interface SessionPromptsOptions {
  readonly workspace: Workspace
  readonly permissions: RulePermissions
  readonly rules: ReadingRules
  readonly showsSkills: boolean
  /** Names of the skills to offer (default: all). */
  readonly skills?: readonly string[] | undefined
}

// Spec R-SKILL-2.
/** The commands and skills of a session: loaded at its start, and reloaded on request. */
export class SessionPrompts {
  readonly #options: SessionPromptsOptions
  #all: readonly PromptFile[] = []
  #guard: GuardCommand | undefined
  /** The list in the system prompt. It does not change during the session. */
  #listed: string | undefined
  /**
   * The tool that returns the text of a skill. The tool's description lists the skills if they differ from those in
   * the system prompt.
   */
  readonly tool: AnyLeafTool

  constructor(options: SessionPromptsOptions) {
    this.#options = options
    this.tool = createSkillTool(
      () => this.skills,
      (skill, argumentText, who) => this.#forModel(skill, argumentText, who),
      () => (this.list === this.#listed ? '' : this.list || noSkillsLeft),
    )
  }

  /** Reloads the files and returns notes for the user. */
  async read(places: BriefingPlaces): Promise<readonly string[]> {
    const { all, notes } = await readPromptFiles({ ...places, ...this.#options.rules })
    this.#all = all
    this.#listed ??= this.list
    return notes
  }

  /** Prompts that a user may invoke with a slash. */
  get commands(): readonly PromptFile[] {
    return this.#all.filter(({ isForPerson }) => isForPerson)
  }

  /** Skills that the model may invoke. */
  get skills(): readonly PromptFile[] {
    const { permissions, showsSkills, skills: onlyNames } = this.#options
    if (!showsSkills || permissions.toolsHiddenByDeny(['Skill']).length > 0) return []
    const isWanted = (name: string): boolean =>
      onlyNames?.some((one) => one === name || name.endsWith(`:${one}`)) !== false
    return this.#all.filter(({ isForModel, name }) => isForModel && isWanted(name))
  }

  /** The skill list for the system prompt; '' if empty. */
  get list(): string {
    return skillList(this.skills)
  }

  async #forModel(
    ...expansion: readonly [skill: PromptFile, given: string, who: PromptCaller]
  ): Promise<ExpandedPrompt> {
    const { redact = (shown: string) => shown } = this.#options.workspace
    const made = await this.#expand('claude', ...expansion)
    return { ...made, text: redact(made.text), notes: made.notes.map(redact) }
  }

  /** Sets the hooks that are asked before embedded commands run. */
  guardCommands(guard: GuardCommand | undefined): void {
    this.#guard = guard
  }

  /** Expands a prompt for a user who typed a slash command. */
  expand(prompt: PromptFile, argumentText: string, who: PromptCaller): Promise<ExpandedPrompt> {
    return this.#expand('user', prompt, argumentText, who)
  }

  #expand(
    invokedBy: SkillCommand['invokedBy'],
    prompt: PromptFile,
    argumentText: string,
    who: PromptCaller,
  ): Promise<ExpandedPrompt> {
    const { rules, workspace, permissions } = this.#options
    const { signal, agentType, state } = who
    const agent = typeof agentType === 'string' ? { type: agentType, id: state?.agentId ?? '' } : undefined
    const guard = async (command: string): Promise<string | undefined> =>
      this.#guard?.({ command, commandName: prompt.name, invokedBy, agent, signal })
    return expandPromptFile(prompt, argumentText, rules.trust, { workspace, permissions, guard }, who)
  }
}
