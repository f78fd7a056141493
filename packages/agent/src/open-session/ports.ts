import type { PluginProblem } from '../plugins/plugin.ts'
import type { Ignored } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'
import type { FolderTrust } from '@halting/policy'
import type { ConfinedNotice } from '../tools/workspace.ts'
import type { SessionChoices } from './choices.ts'

/** Something that the user should know about a session. The frontend words it. */
export type SessionNotice =
  /**
   * A warning about something that was read: instructions, agents, a prompt with its commands and files, a server, a
   * hook.
   */
  | {
      /** The kind of content that was read. */
      readonly kind: 'instructions' | 'agents' | 'prompt' | 'server' | 'hook'
      /** The warning. */
      readonly text: string
    }
  /** An instruction or memory file that was read. */
  | {
      /** Whether it is an instruction or a memory file. */
      readonly kind: 'instructions_read' | 'memory_read'
      /** Path of the file. */
      readonly path: string
      /** Number of its characters that the model sees. */
      readonly characters: number
      /** The file that imports it; absent if none does. */
      readonly importedBy?: string | undefined
    }
  /** Settings of the project that have no effect until the folder is trusted. */
  | {
      readonly kind: 'untrusted_settings'
      /** The folder, and why it is not trusted. */
      readonly folder: Pick<FolderTrust, 'folder' | 'trusted' | 'because'>
      /** The settings without effect. */
      readonly ignored: readonly Ignored[]
    }
  /** The same, with only the advice. */
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
  /** A setting disables the hooks of plugins. */
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
      /** The kind of name. */
      readonly kind: 'unknown_agent' | 'unknown_tool'
      /** The invalid name. */
      readonly name: string
      /** A known name with a similar spelling; undefined if no such name exists. */
      readonly nearest: string | undefined
      /** All known names. */
      readonly known: readonly string[]
    }
  /** Commands that were still running when the session ended. */
  | {
      readonly kind: 'commands_stopped'
      /** The command lines. */
      readonly commands: readonly string[]
    }
  /** The last run has no recorded end; it is closed before the next run. */
  | { readonly kind: 'run_left_open' }
  /** A session of another program continues in a file of this program. */
  | {
      readonly kind: 'session_taken_over'
      /** Name of the program. */
      readonly program: string
      /** Path of its file. */
      readonly path: string
      /** Id of the session in this program. */
      readonly sessionId: string
    }
  /** A default cost limit cannot be enforced with these models; a limit on turns bounds the run instead. */
  | {
      readonly kind: 'no_price'
      /** Ids of the models without a price. */
      readonly models: readonly string[]
      /** The cost limit of a run that cannot be enforced, in US dollars. */
      readonly maxRunUsd?: number
      /** The cost limit of the session that cannot be enforced; absent if none exists. */
      readonly maxBudgetUsd?: number
      /** The limit on turns that replaces the cost limit. */
      readonly maxTurns: number
      /** The source of the default cost limit of a run; absent for settings. */
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
      /** Number of removed sessions. */
      readonly sessions: number
      /** Number of days for which the sessions had not been used. */
      readonly days: number
    }
  /** A command in the sandbox created a file that programs outside the sandbox obey. */
  | {
      readonly kind: 'sandbox_file_created'
      /** Path of the file. */
      readonly path: string
    }
  /** Files that a confined command created and that programs obey, and what is not known about them. */
  | ConfinedNotice
  /** A command requires permission in `acceptEdits` because a requirement for confining it is missing. */
  | {
      readonly kind: 'edits_unconfined'
      /** The reason, as the end of a sentence. */
      readonly why: string
      /** What the user can do about the reason, in a sentence. */
      readonly todo: string
    }
  /** The user continues without standing budgets; includes the reason if their spending is not counted. */
  | {
      readonly kind: 'budgets_ignored'
      /** Names of the budgets. */
      readonly budgets: readonly string[]
      /** Why spending is not counted; undefined if it is. */
      readonly uncounted: string | undefined
    }
  | {
      readonly kind: 'sandbox_network_refused'
      /** The host. */
      readonly host: string
      /** Why the host was refused. */
      readonly why: string
    }

/**
 * What a session needs from the process that opens it. The session writes to no stream and reads no variable of the
 * process itself.
 */
export interface SessionPorts {
  /** The working folder of the session. */
  readonly cwd: string
  /** The environment. */
  readonly env: Environment
  /** The version of the program, for the records of the session and for servers. */
  readonly version: () => string
  /**
   * The reason why the folder is trusted for this session. Undefined: the stored decisions apply. False: the folder is
   * not trusted.
   */
  readonly trustedBy: string | false | undefined
  /** Variables that are withheld from commands, in addition to those with API keys of models. */
  readonly hiddenVariables: readonly string[]
  /** The name of an option in messages, such as `--add-dir`. */
  readonly nameOf: (option: keyof SessionChoices) => string
  /** The text of a notice. */
  readonly wordNotice: (notice: SessionNotice) => string
  /** Receives notes for the user, as they arrive. */
  readonly note: (text: string) => void
  /** Receives a function that removes the program's own keys from a text, before the session begins. */
  readonly redactWith?: (redact: (text: string) => string) => void
}
