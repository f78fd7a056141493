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

/** A session that is open, with what belongs to it. */
export interface OpenSession extends PromptTarget {
  readonly session: Session
  /** What people wrote in files, and what servers have. */
  readonly commands: readonly CustomCommand[]
  /** What was said in it before it was opened. */
  earlierEntries(): Promise<readonly TranscriptEntry[]>
  /** All that was said in it so far, in order. @throws UsageError where it is not kept. */
  entries(): Promise<readonly TranscriptEntry[]>
  redact(text: string): string
  /** Limits of its runs that nobody set. */
  readonly usualLimits?: UsualLimits
  /** Its standing budgets, and what all processes have used of them. */
  standingBudgets?(): readonly StandingFigures[]
  /** What the rules say of a command of bash, part by part. */
  explain(command: string): Pick<Explanation, 'parts'>
  /** Questions of its MCP servers; absent where they are elsewhere. */
  readonly serverQuestions?: Pick<ServerQuestions, 'open' | 'listen'>
  /** Undefined for a session of a cluster. */
  readonly local: LocalSession | undefined
}

/** What only a session of this machine has. */
export interface LocalSession {
  /** Files with instructions that it was given. */
  readonly memoryFiles: readonly string[]
  /** The environment of the commands of tools: those of the person get the same, without keys. */
  readonly commandEnvironment: Readonly<Record<string, string | undefined>>
  /** What would become of a command of bash, part by part. */
  explainCommand(command: string): readonly string[]
  /** What becomes of commands without a rule in `acceptEdits`, in a sentence; undefined in other modes. */
  confinement?(): string | undefined
  /** Runs the command of the setting `statusLine`; absent where there is none. */
  readonly statusLine?: (surroundings: StatusLineContext) => Promise<StatusLine>
  rules(): Promise<readonly ListedRule[]>
  /** Gives what a person should know. @throws ConfigurationError for a file that cannot be changed. */
  removeRule(rule: ListedRule): Promise<string>
  readonly hooks: readonly { readonly event: string; readonly what: string }[]
  servers(): readonly { readonly name: string; readonly status: string }[]
  /** Asks the services of settings and environment for their models. */
  askServices(): Promise<readonly ServiceQuery[]>
  /** @throws ConfigurationError for a name that no server has. */
  changeServer(name: string, how: 'reconnect' | 'on' | 'off'): Promise<void>
  /** The record of its loop; undefined where the session is not kept. */
  readonly loops: LoopStore | undefined
}

/** The cluster whose sessions are shown, in the place of those of this machine. */
export interface ClusterConnection {
  /** As it was named. */
  readonly url: string
  /** Its sessions, as a list has them: the first ones, and how many there are. */
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

/** What is asked in the place of the editor. */
interface PickQuestion<T> {
  readonly title: string
  readonly choices: Choices<T>
  readonly notes?: () => readonly string[]
  readonly first?: number
  readonly hint: string
  readonly onKey?: (data: string, choice: T | undefined) => boolean
}

/** A long text that takes the whole screen. */
export interface Page {
  readonly title: string
  /** All of it, in lines of at most so many columns. */
  readonly linesFor: (width: number) => readonly string[]
  readonly startsAt: 'beginning' | 'end'
}

/** The interactive program, as its commands and keys use it. */
export interface AppContext {
  readonly screen: Screen
  readonly style: Style
  readonly theme: Theme
  /** Its output goes onto the screen. */
  readonly program: Program
  readonly flags: Flags
  /** Undefined where sessions are those of this machine. */
  readonly cluster: ClusterConnection | undefined
  readonly bindings: Keybindings
  readonly editor: PromptEditor
  readonly history: PromptHistory
  readonly promptSender: PromptSender
  /** Undefined while one is being opened. */
  readonly open: OpenSession | undefined
  /** The folder of the session; that of the program while none is open. */
  readonly cwd: string
  isKey(action: Action, data: string): boolean
  print(block: Block): void
  /** Lines of the program's own, in the scrollback. */
  printLines(linesFor: (width: number) => readonly string[]): void
  note(text: string): void
  fail(thrown: unknown): void
  ask<T>(asked: PickQuestion<T>): Promise<T | undefined>
  overlay<T>(make: (close: (value: T) => void) => Component): Promise<T>
  /** On the whole screen, until it is left. */
  page(page: Page): void
  /** Opens another session in the place of this one, which is closed; where that fails this one stays. */
  switchSession(flags: Flags, says: string): Promise<void>
  leave(exitCode: number): void
  /** The loop of the session that is open. */
  readonly loops: SessionLoops
  /** Shows the list of things to do, or hides it. */
  toggleTodos(): void
  changed(): void
}
