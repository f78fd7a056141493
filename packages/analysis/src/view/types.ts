import type { Account } from '../account/account.ts'
import type { CheckPart } from './session-transcript.ts'
import type { Trajectory } from '../what-if/trajectory.ts'

// What the page shows, as JSON: made by `view/` from records, sent by `server/`, drawn by `page/`. Every text in it may be one that a model, a tool or a web page
// wrote, and is shown as text only.

/** Who recorded a session. */
export type RecordedBy = 'halting' | 'claude-code' | 'codex'

/** One session in a list of many. Dollars are US dollars, times milliseconds since 1970 where they say `At`, else active milliseconds. */
export interface SessionRow {
  /** Names it in this inspector; for sessions of ours their id. */
  readonly key: string
  readonly sessionId: string
  readonly program: RecordedBy
  /** What a person called it, or the first that was asked. */
  readonly title: string
  readonly cwd: string
  /** Its file; null where a cluster keeps it. */
  readonly path: string | null
  readonly changedAt: number | null
  /** A process works at it. */
  readonly isLive: boolean
  /** Why its last run ended; null for one that did not. */
  readonly ending: string | null
  readonly exitCode: number | null
  readonly models: readonly string[]
  /** All that there are. */
  readonly runs: number
  /**
   * Of these, runs that are copies: they were made in another session, and count there. In a list the figures of a session are without them; one that is shown
   * alone has them.
   */
  readonly copiedRuns: number
  readonly turns: number
  readonly tokens: number
  readonly costUsd: number
  /** Models without a price: their cost is not in the figures. */
  readonly unpriced: readonly string[]
  readonly activeMs: number
  readonly calls: number
  readonly failedCalls: number
  /** Why it could not be read; its figures are zero then. */
  readonly problem?: string
}

/** One session, whole but for its records and its transcript, of which pieces are asked for. */
export interface SessionView {
  readonly row: SessionRow
  /** What names it to other commands of the program, as a shell takes it; behind the flags. */
  readonly shellArguments: string
  /** What is to be known of its record, a sentence each: what of another program is inferred, what has no price, what was skipped. */
  readonly notes: readonly string[]
  readonly runs: readonly RunView[]
}

/** One run of a session, as the page shows it. */
export interface RunView {
  readonly runId: string
  /** The first that was asked, shortened. */
  readonly prompt: string
  /** It was made in another session, of which this one is a copy. */
  readonly isCopy: boolean
  /** Why it ended and where everything went, as `halting why` tells it, plain. */
  readonly why: string
  readonly account: Account
  /** As limits see it, for what-if in the page. What calls were given is left out. */
  readonly trajectory: Trajectory
  /** Windows of its models, as their names say: no record has them. Models that are not known are not among them. */
  readonly windows: readonly ModelWindow[]
  /** Models of this run without a price: dollars stop no run of which they are not known. */
  readonly unpriced: readonly string[]
  /** Steps, laps and waits, by their beginning. */
  readonly items: readonly TimelineItem[]
  /** One for each request of the main loop, in order. */
  readonly points: readonly TurnPoint[]
  /** How many records it has, and parts of its transcript: both are asked for by number. */
  readonly records: number
  readonly parts: number
}

/** How many tokens the window of a model has. */
export interface ModelWindow {
  readonly model: string
  readonly tokens: number
}

/** What an item of the timeline shows. */
export type ItemKind =
  | 'turn'
  | 'attempt'
  | 'tool'
  | 'hook'
  | 'compaction'
  /** A round of checks of the goals. */
  | 'check'
  | 'wait'
  | 'agent'
  /** Going round again for another reason than the next turn: a recovery, a continuation. */
  | 'lap'
  /** What a person handed in: a message, a stop, a setting. */
  | 'control'
  | 'ending'
  | 'other'

/** One bar or mark on the timeline. Moments are active milliseconds since the run began. */
export interface TimelineItem {
  /** Its place in the list. */
  readonly id: number
  readonly kind: ItemKind
  /** '' for the main loop, else the path of agents: `agent:3:0:a/` within it, `agent:3:0:a/agent:1:0:b/` within that. The span of an agent has its own path. */
  readonly scope: string
  /** The request that it belongs to. */
  readonly request: number
  readonly startMs: number
  /** Null for one that has no result on record. */
  readonly endMs: number | null
  /** One line: the model, the tool with what it was asked, the hook, the transition. */
  readonly label: string
  /** `done`, `failed`, `denied`, `unknown`, `aborted` …; '' where there is none to tell. */
  readonly status: string
  readonly tokens: number
  readonly costUsd: number
  /** Of a wait for a service, and of a pause at a limit: milliseconds by the wall clock. It is no active time, so the item is a moment on the timeline. */
  readonly waitedMs?: number
  /** The first and the last record that it is told from, in the order of the run. */
  readonly firstRecord: number
  readonly lastRecord: number
  /** Where the transcript tells of it; null where it does not. */
  readonly part: number | null
}

/** Kinds of what fills the window, as `halting context` tells them. Tokens, estimated and scaled to what the service counted. */
export interface ContextByKind {
  /** System prompt and descriptions of tools: what was counted and is no message. */
  readonly fixed: number
  readonly person: number
  readonly answers: number
  readonly thinking: number
  readonly calls: number
  readonly results: number
  readonly summaries: number
  readonly other: number
}

/** What stood when a request of the main loop had its reply. Sums are of the whole run so far, subagents included. */
export interface TurnPoint {
  readonly request: number
  readonly turn: number
  readonly atMs: number
  readonly model: string
  readonly context: ContextByKind
  /** What the service counted of this request; zeros where it told nothing. */
  readonly usage: {
    readonly input: number
    readonly cacheRead: number
    readonly cacheWrite: number
    readonly output: number
  }
  readonly settledUsd: number
  /** What was reserved for this request at worst case; null where that is not on record. */
  readonly reservedUsd: number | null
  readonly tokens: number
  /** Milliseconds that this turn took: of the model, of tools, of hooks, of compactions, of checks, of waiting, and the rest. */
  readonly ms: {
    readonly model: number
    readonly tools: number
    readonly hooks: number
    readonly compaction: number
    readonly checks: number
    readonly waiting: number
    readonly other: number
  }
  /** The conversation was compacted before this request. */
  readonly isCompacted: boolean
  /** Turns that `maxTurns` leaves; null without a limit. */
  readonly turnsLeft: number | null
  /** How often each other transition may still be taken. */
  readonly allowancesLeft: { readonly [transition: string]: number | null }
  /** What its reply called, in order: also what was denied, not run, or given to a subagent. */
  readonly calls: readonly TurnCall[]
}

/** One call of the main loop, as runs are compared by it. */
export interface TurnCall {
  readonly tool: string
  /** The tool with what it was asked, a line. */
  readonly label: string
  /** The same for calls that were given the same, whole. */
  readonly inputDigest: string
  /** `done`, `failed`, `denied` …; `open` without a result. */
  readonly status: string
}

/** One thing that was said or done, for the transcript. */
export type TranscriptPart =
  | { readonly kind: 'person'; readonly by: string; readonly text: string }
  | { readonly kind: 'answer' | 'thinking'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string; readonly more?: string }
  | CheckPart
  | CallPart

/** A call of a tool with what came of it. */
export interface CallPart {
  readonly kind: 'call'
  readonly name: string
  readonly callId: string
  /** JSON, indented. */
  readonly input: string
  /** Null where none is on record. */
  readonly result: string | null
  readonly isError: boolean
  readonly durationMs: number | null
  /** What it changed, as lines of a patch; empty for calls that edit no file. */
  readonly changes: readonly string[]
  /** What the subagent did that answered it. */
  readonly agent: readonly TranscriptPart[]
}
