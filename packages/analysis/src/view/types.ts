import type { Account } from '../account/account.ts'
import type { GradedRun } from '../grades/graded-run.ts'
import type { CheckPart } from './session-transcript.ts'
import type { Trajectory } from '../what-if/trajectory.ts'

// What the page shows, as JSON: `view/` builds it from records, `server/` sends it, and `page/` draws it. Every text may come from a model, a tool or
// a web page, and must be shown as plain text.

/** The program that recorded a session. */
export type RecordedBy = 'halting' | 'claude-code' | 'codex'

/** One session in a list. Dollars are US dollars. Fields named `…At` are milliseconds since 1970, other times are active milliseconds. */
export interface SessionRow {
  /** Identifies it in this inspector; the session id for sessions of Halting. */
  readonly key: string
  /** Id of the session. */
  readonly sessionId: string
  /** Which program recorded it. */
  readonly program: RecordedBy
  /** The title that a person gave it, or its first prompt. */
  readonly title: string
  /** Working directory; '' if unknown. */
  readonly cwd: string
  /** Path of its file; null for a session on a cluster. */
  readonly path: string | null
  /** When it was last written; null if unknown. */
  readonly changedAt: number | null
  /** Whether a process is writing to it. */
  readonly isLive: boolean
  /** Why its last run ended; null for one that has not ended. */
  readonly ending: string | null
  /** Exit code of the program; null for none. */
  readonly exitCode: number | null
  /** Ids of the models that it used. */
  readonly models: readonly string[]
  /** Number of runs, including copies. */
  readonly runs: number
  /**
   * Number of runs that are copies, which count only in their original session. In a list, the figures of a session exclude them; those of a session
   * on its own include them.
   */
  readonly copiedRuns: number
  /** Turns. */
  readonly turns: number
  /** Input and output tokens. */
  readonly tokens: number
  /** US dollars, including those charged at worst case. */
  readonly costUsd: number
  /** Models without a price: their cost is not included. */
  readonly unpriced: readonly string[]
  /** Active milliseconds. */
  readonly activeMs: number
  /** Tool calls. */
  readonly calls: number
  /** Calls that failed. */
  readonly failedCalls: number
  /** Whether only its status was read, so that models, calls and active time are unknown. */
  readonly isStatusOnly?: true
  /** Why it cannot be read; its figures are then zero. */
  readonly problem?: string
}

/** One session without its records and its transcript, which are loaded in pieces. */
export interface SessionView {
  /** Its row in the list. */
  readonly row: SessionRow
  /** Arguments that identify it to other commands of the program, quoted for a shell; after the flags. */
  readonly shellArguments: string
  /** Remarks on its record, a sentence each: what was inferred, has no price, or was skipped. */
  readonly notes: readonly string[]
  /** Its runs, in order. */
  readonly runs: readonly RunView[]
  /**
   * Whether this is only the beginning of a long session: more runs may follow, and the last run continues. Its row has the sums of the whole
   * session.
   */
  readonly isBeginning?: true
}

/** One run of a session, as the page shows it. */
export interface RunView {
  /** Id of the run. */
  readonly runId: string
  /** Its first prompt, shortened. */
  readonly prompt: string
  /** Whether it is a copy of a run of another session. */
  readonly isCopy: boolean
  /** Whether a later run of the session continues it and includes its figures. */
  readonly isContinued: boolean
  /** Its grade, and the figures that limits are calibrated on. */
  readonly graded: GradedRun
  /** Explains why it ended and where everything went, as the plain text of `halting why`. */
  readonly why: string
  /** Figures on why it ended and where everything went. */
  readonly account: Account
  /** Its trajectory, for what-if on the page. Inputs of calls are left out. */
  readonly trajectory: Trajectory
  /** Context windows of its models, if known; records do not contain them. */
  readonly windows: readonly ModelWindow[]
  /** Models of this run without a price: dollar limits cannot be applied to it. */
  readonly unpriced: readonly string[]
  /** Steps, iterations and waits, by start. */
  readonly items: readonly TimelineItem[]
  /** State after each request of the main loop, in order. */
  readonly points: readonly TurnPoint[]
  /** Number of records, which are loaded by number. */
  readonly records: number
  /** Number of parts of the transcript, which are loaded by number. */
  readonly parts: number
}

/** Size of a model's context window. */
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
  /** An iteration for another reason than the next turn: a recovery or a continuation. */
  | 'lap'
  /** Input of a person during the run: a message, a stop, or a setting. */
  | 'control'
  | 'ending'
  | 'other'

/** One bar or mark on the timeline. Times are active milliseconds since the run began. */
export interface TimelineItem {
  /** Its index in the list. */
  readonly id: number
  /** What kind of thing it is. */
  readonly kind: ItemKind
  /**
   * '' for the main loop, else the path of agents: `agent:3:0:a/` within it, `agent:3:0:a/agent:1:0:b/` within that. The span of an agent has the
   * agent's own path.
   */
  readonly scope: string
  /** The request that it belongs to. */
  readonly request: number
  /** When it began. */
  readonly startMs: number
  /** When it ended; null when no result is recorded. */
  readonly endMs: number | null
  /** One line: the model, the tool with its main argument, the hook, or the reason of the iteration. */
  readonly label: string
  /** `done`, `failed`, `denied`, `unknown`, `aborted` …; '' when there is no status. */
  readonly status: string
  /** Input and output tokens; 0 for steps without a model request. */
  readonly tokens: number
  /** US dollars; 0 for steps without a model request. */
  readonly costUsd: number
  /** Milliseconds of a wait for a service or a pause at a limit, by the wall clock. Not active time, so the item has no length on the timeline. */
  readonly waitedMs?: number
  /** Index of the first record that it consists of. */
  readonly firstRecord: number
  /** Index of the last record that it consists of. */
  readonly lastRecord: number
  /** Index of the part of the transcript that shows it; null for none. */
  readonly part: number | null
}

/** What fills the context window, by kind, as in `halting context`. Tokens are estimated, and scaled to what the service counted. */
export interface ContextByKind {
  /** System prompt and tool descriptions: tokens that belong to no message. */
  readonly fixed: number
  /** Messages of people. */
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

/** The state when a request of the main loop had its reply. Sums are those of the whole run so far, including subagents. */
export interface TurnPoint {
  /** Number of the request. */
  readonly request: number
  /** Number of the turn. */
  readonly turn: number
  /** When the reply arrived, in active milliseconds since the run began. */
  readonly atMs: number
  /** Id of the model. */
  readonly model: string
  /** Content of the context window. */
  readonly context: ContextByKind
  /** Usage that the service reported for this request; zeros when it reported none. */
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
  /** US dollars reserved for this request at worst case; null when not recorded. */
  readonly reservedUsd: number | null
  /** Input and output tokens of the run so far. */
  readonly tokens: number
  /** Milliseconds of this turn, by phase. */
  readonly ms: {
    /** Requests of the model. */
    readonly model: number
    /** Tool calls. */
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
  /** Turns left before `maxTurns`; null without a limit. */
  readonly turnsLeft: number | null
  /** Iterations left for each other reason. */
  readonly allowancesLeft: { readonly [transition: string]: number | null }
  /** Calls of its reply, in order, including those that were denied, not run, or made by a subagent. */
  readonly calls: readonly TurnCall[]
}

/** One call of the main loop, for the comparison of runs. */
export interface TurnCall {
  /** Name of the tool. */
  readonly tool: string
  /** The tool with its main argument, on one line. */
  readonly label: string
  /** Digest of the whole input: equal inputs have equal digests. */
  readonly inputDigest: string
  /** `done`, `failed`, `denied` …; `open` without a result. */
  readonly status: string
}

/** One part of a transcript, for the page. */
export type TranscriptPart =
  | {
      readonly kind: 'person'
      /** The author of the message: a person, or a program in their place. */
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
      /** The note on one line. */
      readonly text: string
      /** More text; absent for none. */
      readonly more?: string
    }
  | CheckPart
  | CallPart

/** A tool call and its result. */
export interface CallPart {
  readonly kind: 'call'
  /** Name of the tool. */
  readonly name: string
  /** Id of the call. */
  readonly callId: string
  /** The input as indented JSON. */
  readonly input: string
  /** The result as text; null when none is recorded. */
  readonly result: string | null
  /** Whether the call failed. */
  readonly isError: boolean
  /** Milliseconds that it took; null when not recorded. */
  readonly durationMs: number | null
  /** Lines of a patch with its changes; empty for calls that edit no file. */
  readonly changes: readonly string[]
  /** The transcript of the subagent that answered it. */
  readonly agent: readonly TranscriptPart[]
}
