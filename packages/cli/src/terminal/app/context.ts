import type { Explanation } from '@halting/policy'
import type { Session } from '@halting/core/session'
import type { TranscriptEntry } from '@halting/core'
import type { Flags } from '../../flags/flags.ts'
import type { StatusLine, StatusLineContext } from '../status-line/index.ts'
import type { Style } from '../../io/style.ts'
import type { ListedRule } from '../../permissions/rule-list.ts'
import type { Program } from '../../program.ts'
import type { ServiceQuery } from './service-models.ts'
import type { PromptEditor } from '../editor/prompt-editor.ts'
import type { PromptHistory } from '../history/history-file.ts'
import type { Action } from '../keys/actions.ts'
import type { Keybindings } from '../keys/keybindings.ts'
import type { StandingFigures } from '../../frontends/status-reports.ts'
import type { UsualLimits } from '../view/stop-panel.ts'
import type { Choices } from '../pickers/pick-list.ts'
import type { Block, Component, Screen } from '../screen/screen-port.ts'
import type { Theme } from '../theme.ts'
import type { PromptSender, PromptTarget } from './prompt-sender.ts'
import type { ServerQuestions } from './server-questions.ts'
import type { SessionLoops } from './session-loops.ts'
import type { LoopStore } from '../../frontends/loop-record.ts'

/** An open session, with the data and functions that its display needs. */
export interface OpenSession extends PromptTarget {
  readonly session: Session
  /** Commands from files and MCP servers. */
  readonly commands: readonly CustomCommand[]
  /** The conversation before it was opened. */
  earlierEntries(): Promise<readonly TranscriptEntry[]>
  /** The whole conversation so far, in order. @throws UsageError if it is not stored. */
  entries(): Promise<readonly TranscriptEntry[]>
  redact(text: string): string
  /** Default limits of its runs. */
  readonly usualLimits?: UsualLimits
  /** Its standing budgets, and what all processes have used of them. */
  standingBudgets?(): readonly StandingFigures[]
  /** What the rules say about each part of a Bash command. */
  explain(command: string): Pick<Explanation, 'parts'>
  /** Questions of its MCP servers; absent if the servers are elsewhere. */
  readonly serverQuestions?: Pick<ServerQuestions, 'open' | 'listen'>
  /** Undefined for a session on a cluster. */
  readonly local: LocalSession | undefined
}

/** Whether a Bash command would be allowed. */
export interface CommandExplanation {
  /** The verdict, and how the command would be confined. */
  readonly verdict: readonly string[]
  /** The behavior, the text and the reason for each part of the command. */
  readonly parts: readonly (readonly [behavior: string, part: string, because: string])[]
}

/** Features that only a session of this machine has. */
export interface LocalSession {
  /** The instruction files that it loaded. */
  readonly memoryFiles: readonly string[]
  /** The environment of commands that tools run, without keys. Commands of the person get the same. */
  readonly commandEnvironment: Readonly<Record<string, string | undefined>>
  /** Whether a Bash command would be allowed, part by part. */
  explainCommand(command: string): CommandExplanation
  /** How commands without a rule are confined in `acceptEdits`, in one sentence; undefined in other modes. */
  confinement?(): string | undefined
  /** Runs the command of the setting `statusLine`; absent without one. */
  readonly statusLine?: (surroundings: StatusLineContext) => Promise<StatusLine>
  rules(): Promise<readonly ListedRule[]>
  /** Returns a message for the person. @throws ConfigurationError for a file that cannot be changed. */
  removeRule(rule: ListedRule): Promise<string>
  readonly hooks: readonly { readonly event: string; readonly what: string }[]
  servers(): readonly { readonly name: string; readonly status: string }[]
  /** Asks the services known from settings and environment for their models. */
  askServices(): Promise<readonly ServiceQuery[]>
  /** @throws ConfigurationError for an unknown server name. */
  changeServer(name: string, how: 'reconnect' | 'on' | 'off'): Promise<void>
  /** Stores its loop; undefined if the session is not stored. */
  readonly loops: LoopStore | undefined
}

/** The cluster whose sessions are shown instead of those of this machine. */
export interface ClusterConnection {
  /** The URL as the person wrote it. */
  readonly url: string
  /** Lists its first sessions, and returns the total number. */
  sessions(): Promise<{
    readonly sessions: readonly { readonly sessionId: string; readonly facts: string }[]
    readonly total: number
  }>
}

export interface CustomCommand {
  readonly name: string
  readonly description: string
  readonly argumentHint?: string
}

/** A list to choose from, in place of the editor. */
interface PickQuestion<T> {
  readonly title: string
  readonly choices: Choices<T>
  readonly notes?: () => readonly string[]
  readonly first?: number
  readonly hint: string
  readonly onKey?: (data: string, choice: T | undefined) => boolean
}

/** A long text that fills the screen. */
export interface Page {
  readonly title: string
  /** All lines, each at most `width` columns wide. */
  readonly linesFor: (width: number) => readonly string[]
  readonly startsAt: 'beginning' | 'end'
}

/** The interactive program, as its commands and key actions use it. */
export interface AppContext {
  readonly screen: Screen
  readonly style: Style
  readonly theme: Theme
  /** Its output goes to the screen. */
  readonly program: Program
  readonly flags: Flags
  /** Undefined if the sessions are on this machine. */
  readonly cluster: ClusterConnection | undefined
  readonly bindings: Keybindings
  readonly editor: PromptEditor
  readonly history: PromptHistory
  readonly promptSender: PromptSender
  /** Undefined while a session is opening. */
  readonly open: OpenSession | undefined
  /** The folder of the session; that of the program while none is open. */
  readonly cwd: string
  isKey(action: Action, data: string): boolean
  print(block: Block): void
  /** Prints lines of the program into the scrollback. */
  printLines(linesFor: (width: number) => readonly string[]): void
  note(text: string): void
  fail(thrown: unknown): void
  ask<T>(asked: PickQuestion<T>): Promise<T | undefined>
  overlay<T>(make: (close: (value: T) => void) => Component): Promise<T>
  /** Shows a page on the whole screen until the person closes it. */
  page(page: Page): void
  /** Opens another session and closes this one. If that fails, this one stays open. */
  switchSession(flags: Flags, says: string): Promise<void>
  leave(exitCode: number): void
  /** The loops of the open session. */
  readonly loops: SessionLoops
  /** Shows or hides the todo list. */
  toggleTodos(): void
  changed(): void
}
