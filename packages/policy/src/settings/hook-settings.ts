/** What a hook runs. Fields that this version does not know are preserved. */
export type HookHandler =
  | {
      readonly type: 'command'
      /** The command line; it reads the event as JSON from stdin. */
      readonly command: string
      /** Timeout in seconds. */
      readonly timeout?: number
      /** Whether it runs in the background, so that its result is ignored. Default: false. */
      readonly async?: boolean
      /** Whether it runs only once per session. Default: false. */
      readonly once?: boolean
      /** Text that is shown while it runs. */
      readonly statusMessage?: string
    }
  | {
      readonly type: 'http'
      /** URL to which the event is posted. */
      readonly url: string
      /** Additional headers of the request. */
      readonly headers?: Readonly<Record<string, string>>
      /** Timeout in seconds. */
      readonly timeout?: number
      /** Whether it is called only once per session. Default: false. */
      readonly once?: boolean
    }
  | {
      readonly type: 'prompt'
      /** The prompt for a model; `$ARGUMENTS` is replaced by the event. */
      readonly prompt: string
      /** The model to ask. Default: the small model. */
      readonly model?: string
      /** Timeout in seconds. */
      readonly timeout?: number
      /** Whether the model is called only once per session. Default: false. */
      readonly once?: boolean
    }

/** Hooks of the settings with the same matcher. */
export interface HookGroup {
  /** The tools or events that it applies to. Default: all. */
  readonly matcher?: string
  /** What the group runs. */
  readonly hooks: readonly HookHandler[]
}

/** The `hooks` of all effective settings files, by event, the highest precedence first. */
export type HookSettings = Readonly<Record<string, readonly HookGroup[]>>

/** Events for which hooks of the settings are called. */
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
/** An event that settings may define hooks for. */
export type HookEvent = (typeof hookEvents)[number]
