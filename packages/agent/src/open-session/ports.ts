import type { PluginProblem } from '../plugins/plugin.ts'
import type { Ignored } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'
import type { FolderTrust } from '@halting/policy'
import type { ConfinedNotice } from '../tools/workspace.ts'
import type { SessionChoices } from './choices.ts'

/** Something that a person should know about a session. A frontend puts it in words. */
export type SessionNotice =
  /** A warning of what was read: instructions, agents, a prompt with its commands and files, a server, a hook. */
  | {
      /** What was read. */
      readonly kind: 'instructions' | 'agents' | 'prompt' | 'server' | 'hook'
      /** The warning. */
      readonly text: string
    }
  /** A file of instructions, or of notes, that was read. */
  | {
      /** Whether it is a file of instructions, or of notes. */
      readonly kind: 'instructions_read' | 'memory_read'
      /** Path of the file. */
      readonly path: string
      /** Characters that the model is shown of it. */
      readonly characters: number
      /** The file that imports it; absent for none. */
      readonly importedBy?: string | undefined
    }
  /** Settings of the project that have no effect until somebody trusts the folder. */
  | {
      readonly kind: 'untrusted_settings'
      /** The folder, and why it is not trusted. */
      readonly folder: Pick<FolderTrust, 'folder' | 'trusted' | 'because'>
      /** The settings without effect. */
      readonly ignored: readonly Ignored[]
    }
  /** The same: only what to do about it. */
  | {
      readonly kind: 'trust_needed'
      /** The settings without effect. */
      readonly ignored: readonly Ignored[]
    }
  | {
      readonly kind: 'plugin_problem'
      /** What was not loaded, and why. */
      readonly problem: PluginProblem
    }
  /** A setting turns off the hooks of plugins. */
  | {
      readonly kind: 'plugin_hooks_off'
      /** Names of the plugins. */
      readonly plugins: readonly string[]
      /** Key of the setting. */
      readonly setting: string
      /** Path of its file. */
      readonly from: string
    }
  | {
      readonly kind: 'unreadable_agents'
      /** What is wrong. */
      readonly problem: string
    }
  | {
      /** Which kind of name it is. */
      readonly kind: 'unknown_agent' | 'unknown_tool'
      /** The name. */
      readonly name: string
      /** A known name that is spelled much like it; undefined for none. */
      readonly nearest: string | undefined
      /** All names that are known. */
      readonly known: readonly string[]
    }
  /** Commands that were still running when the session ended. */
  | {
      readonly kind: 'commands_stopped'
      /** The command lines. */
      readonly commands: readonly string[]
    }
  /** The last run did not end; it is closed before the next one. */
  | { readonly kind: 'run_left_open' }
  /** A session of another program continues in a file of ours. */
  | {
      readonly kind: 'session_taken_over'
      /** Name of the program. */
      readonly program: string
      /** Path of its file. */
      readonly path: string
      /** Id of the session in this program. */
      readonly sessionId: string
    }
  /** A limit of dollars that nobody typed cannot be kept with these models: so many turns bound a run. */
  | {
      readonly kind: 'no_price'
      /** Ids of the models without a price. */
      readonly models: readonly string[]
      /** The limits that cannot be kept: of a run, and of the session. */
      readonly maxRunUsd?: number
      /** US dollars of the session; absent for no such limit. */
      readonly maxBudgetUsd?: number
      /** The limit on turns that applies in place of dollars. */
      readonly maxTurns: number
      /** Whose default the dollars of a run are; absent for those of settings. */
      readonly from?: string
    }
  | {
      readonly kind: 'session_not_stored'
      /** Why nothing can be stored. */
      readonly why: string
    }
  | {
      readonly kind: 'checkpoints_stopped'
      /** Why files can no longer be stored. */
      readonly problem: string
    }
  | {
      readonly kind: 'sessions_removed'
      /** How many were removed. */
      readonly sessions: number
      /** They had not been used for this many days. */
      readonly days: number
    }
  /** A command in the sandbox created a file that programs outside of it obey. */
  | {
      readonly kind: 'sandbox_file_created'
      /** Path of the file. */
      readonly path: string
    }
  /** What a command that ran confined to the workspace created where programs obey it, and what is not known of that. */
  | ConfinedNotice
  /** A command asks in `acceptEdits` because something is missing that would confine it. */
  | {
      readonly kind: 'edits_unconfined'
      /** Why, as the end of a sentence. */
      readonly why: string
      /** What a person can do about it, in a sentence. */
      readonly todo: string
    }
  /** The person said to go on without standing budgets; with why what is spent is not counted for them, where that is so. */
  | {
      readonly kind: 'budgets_ignored'
      /** Names of the budgets. */
      readonly budgets: readonly string[]
      /** Why spending is not counted; undefined where it is. */
      readonly uncounted: string | undefined
    }
  | {
      readonly kind: 'sandbox_network_refused'
      /** The host. */
      readonly host: string
      /** Why it was refused. */
      readonly why: string
    }

/** What a session needs of the process that opens it. It writes to no stream and reads no variable of the process by itself. */
export interface SessionPorts {
  /** The folder that the session works in. */
  readonly cwd: string
  /** The environment. */
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
