import type { SharedBudgetEnd } from '@halting/core/adapters'
import type { SessionKind } from '../foreign/read-foreign.ts'
import type { EndingReason } from '@halting/core'
import type { OtherLimits } from '../what-if/other-limits.ts'
import type { ServiceWaitEnd } from '../account/service-waits.ts'
import type { Phase } from '../account/recorded-steps.ts'

// What a report tells, as JSON. Dollars are US dollars. What nobody told and was charged at worst case is in `unknownUsd` and `unknownTokens`, beside
// `costUsd` and `tokens`.

/** By what a report can list what was spent. */
export type Breakdown = 'day' | 'model' | 'folder'

/** What was spent. */
export interface Spent {
  readonly runs: number
  readonly turns: number
  /** Attempts at model requests. */
  readonly requests: number
  readonly tokens: number
  readonly unknownTokens: number
  readonly costUsd: number
  readonly unknownUsd: number
  /** Milliseconds in which runs went on. */
  readonly activeMs: number
}

/** What was spent on a day, in a folder, by a program. */
export interface SpentRow extends Spent {
  /** `2026-11-23`, a path, a program; '' where it is not known. */
  readonly name: string
  /** Sessions with a run in it: one of two days is in both. */
  readonly sessions: number
}

/** What one model did and cost in the sessions of a report. */
export interface ModelRow {
  readonly model: string
  readonly requests: number
  readonly failed: number
  readonly tokens: number
  readonly unknownTokens: number
  /** Tokens that were sent: new, read from the cache, written to it; and what came back. */
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  readonly costUsd: number
  readonly unknownUsd: number
  /** Of its requests, also where they ran beside others. */
  readonly ms: number
  /** Searches of the web that the service billed; absent where there were none. */
  readonly searches?: number
}

/** One session of a report. */
export interface SessionSpent extends Spent {
  readonly session: string
  readonly program: SessionKind
  readonly file: string
  readonly folder: string
  /** What it was called, or the first that was asked. */
  readonly title: string
  /** The first of its runs that count here. */
  readonly beganAt: string | null
  /** Why its last run ended; null for one that did not. */
  readonly ending: EndingReason | null
  readonly calls: number
  readonly failedCalls: number
}

/** The runs of a report that ended for one reason. */
export interface EndingRow {
  /** Null: no end is on record. */
  readonly reason: EndingReason | null
  /** Of the program; null where there is none. */
  readonly exitCode: number | null
  readonly runs: number
  readonly turns: number
  readonly tokens: number
  readonly unknownTokens: number
  readonly costUsd: number
  readonly unknownUsd: number
  readonly activeMs: number
}

/** Runs that a limit ended. */
export interface LimitRow {
  readonly reason: EndingReason
  readonly runs: number
  readonly costUsd: number
  /** Went on afterwards with the figures of the first. */
  readonly wentOn: number
  /** Gave an answer all the same, asked for at the limit. */
  readonly answered: number
  /** What the dollar budgets of these runs still allowed when the limit stopped them. */
  readonly leftUsd: number
  /** Runs that had changed something, gave no answer, and did not go on. */
  readonly lost: readonly RunName[]
  readonly lostUsd: number
}

/** A budget that runs of a report shared with others: a standing one, or that of their tenant. */
export interface BudgetRow {
  /** As people read it: `$20 a day`. */
  readonly budget: string
  readonly kind: SharedBudgetEnd['kind']
  /** Runs that it ended. */
  readonly runs: number
  readonly costUsd: number
  /** Those of them that another run goes on with. */
  readonly wentOn: number
  /** Of the last run that it ended: what all had used of it, and when it resets (ISO 8601); null where the record does not say. */
  readonly usedUsd: number | null
  readonly limitUsd: number | null
  readonly resetsAt: string | null
  /** Requests that waited for what others had reserved of it, and for how long together. */
  readonly waited: number
  readonly waitedMs: number
}

/** One run of a report, with what it cost and how many changes it made. */
export interface RunName {
  readonly session: string
  readonly run: string
  readonly costUsd: number
  readonly changes: number
}

/** The calls of one tool in the sessions of a report. */
export interface ToolRow {
  /** Null: requests whose reply asked for no tool. */
  readonly tool: string | null
  readonly calls: number
  readonly failed: number
  /** By rules, a mode or a person. */
  readonly denied: number
  /** There is no such tool, or its input was not valid. */
  readonly invalid: number
  /** Not begun, cut, or without an outcome. */
  readonly cut: number
  /** Own time of its calls, also where they ran beside others. */
  readonly ms: number
  /** Of the requests that asked for it, with what was charged at worst case. */
  readonly tokens: number
  readonly costUsd: number
  /** Charged at worst case, in addition. */
  readonly unknownUsd: number
  readonly resultCharacters: number
}

/** How runs that had goals ended with them. */
export interface GoalCounts {
  /** Runs with goals. */
  readonly runs: number
  readonly met: number
  readonly unmet: number
  /** Something changed since the last check, or nothing was checked, or the run did not end. */
  readonly unknown: number
  /** Of those that are met: nothing shows that the run made it so. */
  readonly heldFromStart: number
  /** A model judged. */
  readonly judged: number
  /** Checks came to different verdicts with nothing changed in between. */
  readonly flaky: number
  /** The agent changed test files. */
  readonly changedTests: number
  /** Answers that were sent back, and the most of one run. */
  readonly tries: number
  readonly mostTries: number
  /** Milliseconds that rounds of checks took. */
  readonly checkMs: number
}

/** The same for the runs of a day, a model or a folder. */
export interface GoalRow extends GoalCounts {
  /** `2026-11-23`, a model, a path; '' where it is not known. */
  readonly name: string
}

/** Waits for services, for one model or for one reason. */
export interface ServiceWaitRow {
  /** A model, or a status and a kind of failure such as `429 rate_limit`; '' where it is not known. */
  readonly name: string
  readonly waits: number
  /** Milliseconds by the wall clock, also where several waited at the same time. */
  readonly ms: number
  readonly longestMs: number
}

/** What runs waited for services that were over their limit or out of order, and which runs ended there. */
export interface ServiceWaitSums {
  /** Runs that waited. */
  readonly runs: number
  readonly waits: number
  /** Milliseconds by the wall clock, those of each run at the same time once. They are in no active time. */
  readonly ms: number
  readonly longest: (RunName & { readonly ms: number }) | null
  readonly ends: { readonly [outcome in ServiceWaitEnd]: number }
  readonly byModel: readonly ServiceWaitRow[]
  readonly byCause: readonly ServiceWaitRow[]
  /** Runs without an end that wait, and until when at the latest (ISO 8601). */
  readonly waiting: readonly (RunName & { readonly until: string })[]
  /** Runs that ended because a service refused and said when it takes requests again; `retryAt`: the latest of these moments, ISO 8601 in UTC. */
  readonly ended: {
    readonly runs: number
    readonly costUsd: number
    /** Those of them that another run goes on with. */
    readonly wentOn: number
    readonly retryAt: string | null
  }
}

/** What would have become of the runs with one limit. */
export interface LimitTried {
  readonly limits: OtherLimits
  /** Runs that it stops earlier. */
  readonly stops: number
  /** Those of these that it may have stopped still earlier. Where there are some, what is saved is the least, and what is lost the most. */
  readonly atTheLatest: number
  /** Runs that it may have stopped earlier, or had go another way: what they save and lose is not known. */
  readonly unknown: number
  readonly savedUsd: number
  readonly savedUnknownUsd: number
  readonly savedTokens: number
  readonly savedMs: number
  /** Runs whose answer there would not be. */
  readonly lostAnswers: number
  /** Calls that may have changed something and would not have been made. */
  readonly lostChanges: number
}

/** A session that used far more of something than most. */
export interface Outlier {
  readonly session: string
  readonly what: 'costUsd' | 'tokens' | 'turns' | 'activeMs'
  readonly value: number
  /** In the middle of all sessions. */
  readonly median: number
}

/** The figures of many sessions. */
export interface Report {
  /** Which sessions, in words: `of this folder`. */
  readonly of: string
  /** Runs count that began in this time; null for no bound. */
  readonly since: string | null
  readonly until: string | null
  readonly madeAt: string
  /** By which days are told. */
  readonly timeZone: string
  readonly sessions: number
  readonly programs: { readonly [program in SessionKind]: number }
  readonly totals: Spent
  /** What came after runs: suggestions, summaries, notes. It is in the totals. */
  readonly afterRuns: {
    readonly stages: number
    readonly tokens: number
    readonly unknownTokens: number
    readonly costUsd: number
    readonly unknownUsd: number
  }
  readonly byDay: readonly SpentRow[]
  readonly byModel: readonly ModelRow[]
  readonly byFolder: readonly SpentRow[]
  readonly byProgram: readonly SpentRow[]
  /** The dearest first. */
  readonly bySession: readonly SessionSpent[]
  readonly endings: readonly EndingRow[]
  readonly limits: readonly LimitRow[]
  /** Budgets that ended a run, or that a request waited for. */
  readonly budgets: readonly BudgetRow[]
  /** Of runs that had goals. A run counts by the model that it asked last. */
  readonly goals: GoalCounts & {
    readonly byDay: readonly GoalRow[]
    readonly byModel: readonly GoalRow[]
    readonly byFolder: readonly GoalRow[]
  }
  readonly tried: readonly LimitTried[]
  readonly tools: readonly ToolRow[]
  readonly time: { readonly [phase in Phase]: number }
  /** Beside the active time: what runs waited for services. */
  readonly serviceWaits: ServiceWaitSums
  /** Pauses at a limit: runs that paused, how often and how long (milliseconds by the wall clock), how many pauses ended with a raised limit, and runs that pause now. */
  readonly limitPauses: {
    readonly runs: number
    readonly pauses: number
    readonly ms: number
    readonly raised: number
    readonly open: readonly RunName[]
  }
  readonly service: {
    /** Requests that took more than one attempt. */
    readonly retried: number
    /** Attempts of which nobody told what they came to: they broke, were cut, or are under way. */
    readonly untold: number
    /** Those of them whose reply is there: the service reported no usage. */
    readonly unreported: number
    readonly failures: readonly {
      readonly kind: string
      readonly attempts: number
      readonly unknownUsd: number
      readonly costUsd: number
    }[]
  }
  readonly cache: {
    readonly input: number
    readonly read: number
    readonly written: number
    readonly share: number | null
  }
  readonly compactions: {
    readonly count: number
    readonly requests: number
    readonly tokens: number
    readonly unknownTokens: number
    readonly costUsd: number
    readonly unknownUsd: number
  }
  readonly open: readonly (RunName & { readonly unknownUsd: number; readonly heldBy: number | null })[]
  readonly outliers: readonly Outlier[]
  /** Models without a price: what they cost is in no figure. */
  readonly unpriced: readonly string[]
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sentences about what was read of other programs. */
  readonly notes: readonly string[]
}
