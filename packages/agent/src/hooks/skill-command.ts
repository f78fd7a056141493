/** A command in a skill or slash command, before it runs. */
export interface SkillCommand {
  readonly command: string
  /** The skill or the slash command. */
  readonly commandName: string
  /** `user`: invoked by a slash command. `claude`: invoked by the model with the tool Skill. */
  readonly invokedBy: 'user' | 'claude'
  /** The subagent that called the tool Skill. */
  readonly agent?: { readonly type: string; readonly id: string } | undefined
  readonly signal: AbortSignal
}

/** Returns why a command must not run; undefined if nothing refuses it. */
export type GuardCommand = (command: SkillCommand) => Promise<string | undefined>
