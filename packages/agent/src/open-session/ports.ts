import type { PluginProblem } from '../plugins/plugin.ts'
import type { Ignored } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'
import type { FolderTrust } from '@halting/policy'
import type { SessionChoices } from './choices.ts'

/** Something that a person should know about a session. A frontend puts it in words. */
export type SessionNotice =
  /** A warning of what was read: instructions, agents, a prompt with its commands and files, a server, a hook. */
  | { readonly kind: 'instructions' | 'agents' | 'prompt' | 'server' | 'hook'; readonly text: string }
  /** A file of instructions, or of notes, that was read. */
  | {
      readonly kind: 'instructions_read' | 'memory_read'
      readonly path: string
      readonly characters: number
      readonly importedBy?: string | undefined
    }
  /** Settings of the project that have no effect until somebody trusts the folder. */
  | {
      readonly kind: 'untrusted_settings'
      readonly folder: Pick<FolderTrust, 'folder' | 'trusted' | 'because'>
      readonly ignored: readonly Ignored[]
    }
  /** The same: only what to do about it. */
  | { readonly kind: 'trust_needed'; readonly ignored: readonly Ignored[] }
  | { readonly kind: 'plugin_problem'; readonly problem: PluginProblem }
  /** A setting turns off the hooks of plugins. */
  | {
      readonly kind: 'plugin_hooks_off'
      readonly plugins: readonly string[]
      readonly setting: string
      readonly from: string
    }
  | { readonly kind: 'unreadable_agents'; readonly problem: string }
  | {
      readonly kind: 'unknown_agent' | 'unknown_tool'
      readonly name: string
      readonly nearest: string | undefined
      readonly known: readonly string[]
    }
  /** Commands that were still running when the session ended. */
  | { readonly kind: 'commands_stopped'; readonly commands: readonly string[] }
  /** The last run did not end; it is closed before the next one. */
  | { readonly kind: 'run_left_open' }
  /** A session of another program continues in a file of ours. */
  | {
      readonly kind: 'session_taken_over'
      readonly program: string
      readonly path: string
      readonly sessionId: string
    }
  /** A limit of dollars that nobody typed cannot be kept with these models: so many turns bound a run. */
  | {
      readonly kind: 'no_price'
      readonly models: readonly string[]
      /** The limits that cannot be kept: of a run, and of the session. */
      readonly maxRunUsd?: number
      readonly maxBudgetUsd?: number
      readonly maxTurns: number
      /** Whose default the dollars of a run are; absent for those of settings. */
      readonly from?: string
    }
  | { readonly kind: 'session_not_stored'; readonly why: string }
  | { readonly kind: 'checkpoints_stopped'; readonly problem: string }
  | { readonly kind: 'sessions_removed'; readonly sessions: number; readonly days: number }
  /** A command in the sandbox created a file that programs outside of it obey. */
  | { readonly kind: 'sandbox_file_created'; readonly path: string }
  /** The person said to go on without standing budgets; with why what is spent is not counted for them, where that is so. */
  | { readonly kind: 'budgets_ignored'; readonly budgets: readonly string[]; readonly uncounted: string | undefined }
  | { readonly kind: 'sandbox_network_refused'; readonly host: string; readonly why: string }

/** What a session needs of the process that opens it. It writes to no stream and reads no variable of the process by itself. */
export interface SessionPorts {
  /** The folder that the session works in. */
  readonly cwd: string
  readonly env: Environment
  /** The version of the program, for the records of the session and for servers. */
  readonly version: () => string
  /** What trusts the folder for this session; the records decide when undefined, and nothing does when false. */
  readonly trustedBy: string | false | undefined
  /** Variables that commands do not get, in addition to those with keys of models. */
  readonly hiddenVariables: readonly string[]
  /** What an option is called in messages, such as `--add-dir`. */
  readonly nameOf: (option: keyof SessionChoices) => string
  /** Puts a notice in words. */
  readonly wordNotice: (notice: SessionNotice) => string
  /** Receives what a person should know, as it arrives. */
  readonly note: (text: string) => void
  /** Receives what takes the program's own keys out of a text, before the session begins. */
  readonly redactWith?: (redact: (text: string) => string) => void
}
