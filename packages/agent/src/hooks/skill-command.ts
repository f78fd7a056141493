/** A command in the text of a skill or of a slash command, before it runs. */
export interface SkillCommand {
  readonly command: string
  /** The skill or the slash command. */
  readonly commandName: string
  /** A person, by a slash command, or the model, by the tool Skill. */
  readonly invokedBy: 'user' | 'claude'
  /** The subagent that called the tool Skill. */
  readonly agent?: { readonly type: string; readonly id: string } | undefined
  readonly signal: AbortSignal
}

/** Why a command must not run; undefined where nothing refuses it. */
export type GuardCommand = (command: SkillCommand) => Promise<string | undefined>
