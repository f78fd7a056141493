/** One thing that a hook runs. Fields that this version does not know stay where they are. */
export type HookHandler =
  | {
      readonly type: 'command'
      readonly command: string
      /** Seconds. */
      readonly timeout?: number
      readonly async?: boolean
      readonly once?: boolean
      readonly statusMessage?: string
    }
  | {
      readonly type: 'http'
      readonly url: string
      readonly headers?: Readonly<Record<string, string>>
      readonly timeout?: number
      readonly once?: boolean
    }
  | {
      readonly type: 'prompt'
      readonly prompt: string
      readonly model?: string
      readonly timeout?: number
      readonly once?: boolean
    }

/** Hooks of the settings that share a matcher. */
export interface HookGroup {
  readonly matcher?: string
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
