import type { Account } from '../account/account.ts'
import type { GradedRun } from '../grades/graded-run.ts'
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
  /** Id of the session. */
  readonly sessionId: string
  /** Which program recorded it. */
  readonly program: RecordedBy
  /** What a person called it, or the first that was asked. */
  readonly title: string
  /** Working directory; '' where that is not known. */
  readonly cwd: string
  /** Its file; null where a cluster keeps it. */
  readonly path: string | null
  /** When it was last written; null where that is not known. */
  readonly changedAt: number | null
  /** A process works at it. */
  readonly isLive: boolean
  /** Why its last run ended; null for one that did not. */
  readonly ending: string | null
  /** Exit code of the program; null for none. */
  readonly exitCode: number | null
  /** Ids of the models that it asked. */
  readonly models: readonly string[]
  /** All that there are. */
  readonly runs: number
  /**
   * Of these, runs that are copies: they were made in another session, and count there. In a list the figures of a session are without them; one that is shown
   * alone has them.
   */
  readonly copiedRuns: number
  /** Turns. */
  readonly turns: number
  /** Input and output tokens. */
  readonly tokens: number
  /** US dollars, with what was charged at worst case. */
  readonly costUsd: number
  /** Models without a price: their cost is not in the figures. */
  readonly unpriced: readonly string[]
  /** Active milliseconds. */
  readonly activeMs: number
  /** Calls of tools. */
  readonly calls: number
  /** Calls that failed. */
  readonly failedCalls: number
  /** Only its status was read: models, calls and active time are not known. */
  readonly isStatusOnly?: true
  /** Why it could not be read; its figures are zero then. */
  readonly problem?: string
}

/** One session, whole but for its records and its transcript, of which pieces are asked for. */
export interface SessionView {
  /** Its row in the list. */
  readonly row: SessionRow
  /** What names it to other commands of the program, as a shell takes it; behind the flags. */
  readonly shellArguments: string
  /** What is to be known of its record, a sentence each: what of another program is inferred, what has no price, what was skipped. */
  readonly notes: readonly string[]
  /** Its runs, in order. */
  readonly runs: readonly RunView[]
  /** It has what a long session begins with: more runs may follow, and the last run here goes on. Its row has the sums of the whole session. */
  readonly isBeginning?: true
}

/** One run of a session, as the page shows it. */
export interface RunView {
  /** Id of the run. */
  readonly runId: string
  /** The first that was asked, shortened. */
  readonly prompt: string
  /** It was made in another session, of which this one is a copy. */
  readonly isCopy: boolean
  /** A later run of the session continues it, and has what it used in its own figures. */
  readonly isContinued: boolean
  /** How it came out and who says so, with what limits are calibrated on. */
  readonly graded: GradedRun
  /** Why it ended and where everything went, as `halting why` tells it, plain. */
  readonly why: string
  /** Why it ended, and where everything went. */
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
  /** Parts of its transcript. */
  readonly parts: number
}

/** How many tokens the window of a model has. */
export interface ModelWindow {
  /** Id of the model. */
  readonly model: string
  /** Size of its window in tokens. */
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
  /** What kind of thing it is. */
  readonly kind: ItemKind
  /** '' for the main loop, else the path of agents: `agent:3:0:a/` within it, `agent:3:0:a/agent:1:0:b/` within that. The span of an agent has its own path. */
  readonly scope: string
  /** The request that it belongs to. */
  readonly request: number
  /** When it began. */
  readonly startMs: number
  /** Null for one that has no result on record. */
  readonly endMs: number | null
  /** One line: the model, the tool with what it was asked, the hook, the transition. */
  readonly label: string
  /** `done`, `failed`, `denied`, `unknown`, `aborted` …; '' where there is none to tell. */
  readonly status: string
  /** Input and output tokens; 0 for what asks no model. */
  readonly tokens: number
  /** US dollars; 0 for what asks no model. */
  readonly costUsd: number
  /** Of a wait for a service, and of a pause at a limit: milliseconds by the wall clock. It is no active time, so the item is a moment on the timeline. */
  readonly waitedMs?: number
  /** The first and the last record that it is told from, in the order of the run. */
  readonly firstRecord: number
  /** Number of the last record that it is told from. */
  readonly lastRecord: number
  /** Where the transcript tells of it; null where it does not. */
  readonly part: number | null
}

/** Kinds of what fills the window, as `halting context` tells them. Tokens, estimated and scaled to what the service counted. */
export interface ContextByKind {
  /** System prompt and descriptions of tools: what was counted and is no message. */
  readonly fixed: number
  /** What persons said. */
  readonly person: number
  /** Answers of the model. */
  readonly answers: number
  /** Reasoning of the model. */
  readonly thinking: number
  /** Calls of tools. */
  readonly calls: number
  /** Results of tools. */
  readonly results: number
  /** Summaries of compactions. */
  readonly summaries: number
  /** Everything else. */
  readonly other: number
}

/** What stood when a request of the main loop had its reply. Sums are of the whole run so far, subagents included. */
export interface TurnPoint {
  /** Number of the request. */
  readonly request: number
  /** Number of the turn. */
  readonly turn: number
  /** When the reply was there, in active milliseconds since the run began. */
  readonly atMs: number
  /** Id of the model. */
  readonly model: string
  /** What filled the window. */
  readonly context: ContextByKind
  /** What the service counted of this request; zeros where it told nothing. */
  readonly usage: {
    /** Tokens that were not cached. */
    readonly input: number
    /** Tokens read from the cache. */
    readonly cacheRead: number
    /** Tokens written to the cache. */
    readonly cacheWrite: number
    /** Output tokens. */
    readonly output: number
  }
  /** US dollars of the run so far. */
  readonly settledUsd: number
  /** What was reserved for this request at worst case; null where that is not on record. */
  readonly reservedUsd: number | null
  /** Input and output tokens of the run so far. */
  readonly tokens: number
  /** Milliseconds that this turn took: of the model, of tools, of hooks, of compactions, of checks, of waiting, and the rest. */
  readonly ms: {
    /** Requests of the model. */
    readonly model: number
    /** Calls of tools. */
    readonly tools: number
    /** Hooks. */
    readonly hooks: number
    /** Compactions. */
    readonly compaction: number
    /** Checks of goals. */
    readonly checks: number
    /** Waiting. */
    readonly waiting: number
    /** Everything else. */
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
  /** Name of the tool. */
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
  | {
      readonly kind: 'person'
      /** Who said it: a person, or what spoke in their place. */
      readonly by: string
      /** The message as text. */
      readonly text: string
    }
  | {
      /** Whether it is part of the answer, or reasoning. */
      readonly kind: 'answer' | 'thinking'
      /** The text. */
      readonly text: string
    }
  | {
      readonly kind: 'note'
      /** The note, in a line. */
      readonly text: string
      /** What else there is to read; absent for nothing. */
      readonly more?: string
    }
  | CheckPart
  | CallPart

/** A call of a tool with what came of it. */
export interface CallPart {
  readonly kind: 'call'
  /** Name of the tool. */
  readonly name: string
  /** Id of the call. */
  readonly callId: string
  /** JSON, indented. */
  readonly input: string
  /** Null where none is on record. */
  readonly result: string | null
  /** Whether the call failed. */
  readonly isError: boolean
  /** Milliseconds that it took; null where that is not on record. */
  readonly durationMs: number | null
  /** What it changed, as lines of a patch; empty for calls that edit no file. */
  readonly changes: readonly string[]
  /** What the subagent did that answered it. */
  readonly agent: readonly TranscriptPart[]
}
