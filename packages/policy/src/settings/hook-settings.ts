/** One thing that a hook runs. Fields that this version does not know stay where they are. */
export type HookHandler =
  | {
      readonly type: 'command'
      /** The command line; it gets the event as JSON on stdin. */
      readonly command: string
      /** Seconds. */
      readonly timeout?: number
      /** Run it beside the agent, and decide nothing by it. Default: false. */
      readonly async?: boolean
      /** Run it once a session. Default: false. */
      readonly once?: boolean
      /** What is shown while it runs. */
      readonly statusMessage?: string
    }
  | {
      readonly type: 'http'
      /** Address that the event is posted to. */
      readonly url: string
      /** Further headers of the request. */
      readonly headers?: Readonly<Record<string, string>>
      /** Seconds. */
      readonly timeout?: number
      /** Call it once a session. Default: false. */
      readonly once?: boolean
    }
  | {
      readonly type: 'prompt'
      /** The question to a model; `$ARGUMENTS` stands for the event. */
      readonly prompt: string
      /** The model to ask. Default: the small one. */
      readonly model?: string
      /** Seconds. */
      readonly timeout?: number
      /** Ask it once a session. Default: false. */
      readonly once?: boolean
    }

/** Hooks of the settings that share a matcher. */
export interface HookGroup {
  /** Which tools or events it is for. Default: all. */
  readonly matcher?: string
  /** What the group runs. */
  readonly hooks: readonly HookHandler[]
}

/** The `hooks` of settings files, by event: those of all files that count, the most urgent file first. */
export type HookSettings = Readonly<Record<string, readonly HookGroup[]>>

/** When a hook of the settings is called. */
export const hookEvents = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PermissionRequest',
  'PreSkillShellCommand',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
  'Notification',
  'Stop',
  'StopFailure',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'SessionEnd',
] as const
/** An event for which the settings may name hooks. */
export type HookEvent = (typeof hookEvents)[number]
