import type { Json } from '../values/json.ts'
import type { SettingsInForce } from './settings-change.ts'

/** A subagent that works in the background: what a resume goes on inside it by. JSON. */
export type OpenAgent = {
  readonly id: string
  /** In one line for people. */
  readonly description: string
  /** The call that started it. */
  readonly callId: string
  /** What its steps are under. */
  readonly name: string
  readonly tool: string
  /** As the tool took it. */
  readonly input: Json
  /** How many agents it may start itself. They count as started until it has ended. */
  readonly agents: number
  /** How many calls of tools it may make: they count as made until it has ended. Absent for no limit. */
  readonly toolCalls?: number
  /** When it began, on the session's active clock. */
  readonly startedAt: number
  /** Lines that the run had changed then; absent for none. */
  readonly changedLines?: number
  /** What was set in place of the options when it began. */
  readonly settings: SettingsInForce | null
}
