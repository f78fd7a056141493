import type { Calibration } from '../calibration/calibrate-limits.ts'
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
  /** Runs. */
  readonly runs: number
  /** Turns. */
  readonly turns: number
  /** Attempts at model requests. */
  readonly requests: number
  /** Input and output tokens, with those charged at worst case. */
  readonly tokens: number
  /** The part of the tokens that was charged at worst case. */
  readonly unknownTokens: number
  /** US dollars that services reported. */
  readonly costUsd: number
  /** US dollars charged at worst case, in addition. */
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
  /** Id of the model. */
  readonly model: string
  /** Attempts at requests. */
  readonly requests: number
  /** Attempts that failed. */
  readonly failed: number
  /** Input and output tokens, with those charged at worst case. */
  readonly tokens: number
  /** The part of the tokens that was charged at worst case. */
  readonly unknownTokens: number
  /** Tokens that were sent: new, read from the cache, written to it; and what came back. */
  readonly input: number
  /** Tokens read from the cache. */
  readonly cacheRead: number
  /** Tokens written to the cache. */
  readonly cacheWrite: number
  /** Output tokens. */
  readonly output: number
  /** US dollars that services reported. */
  readonly costUsd: number
  /** US dollars charged at worst case, in addition. */
  readonly unknownUsd: number
  /** Of its requests, also where they ran beside others. */
  readonly ms: number
  /** Searches of the web that the service billed; absent where there were none. */
  readonly searches?: number
}

/** One session of a report. */
export interface SessionSpent extends Spent {
  /** Id of the session. */
  readonly session: string
  /** Which program recorded it. */
  readonly program: SessionKind
  /** Path of the file. */
  readonly file: string
  /** The folder that it worked in. */
  readonly folder: string
  /** What it was called, or the first that was asked. */
  readonly title: string
  /** The first of its runs that count here. */
  readonly beganAt: string | null
  /** Why its last run ended; null for one that did not. */
  readonly ending: EndingReason | null
  /** Calls of tools. */
  readonly calls: number
  /** Calls that failed. */
  readonly failedCalls: number
}

/** The runs of a report that ended for one reason. */
export interface EndingRow {
  /** Null: no end is on record. */
  readonly reason: EndingReason | null
  /** Of the program; null where there is none. */
  readonly exitCode: number | null
  /** Runs. */
  readonly runs: number
  /** Turns. */
  readonly turns: number
  /** Input and output tokens, with those charged at worst case. */
  readonly tokens: number
  /** The part of the tokens that was charged at worst case. */
  readonly unknownTokens: number
  /** US dollars that services reported. */
  readonly costUsd: number
  /** US dollars charged at worst case, in addition. */
  readonly unknownUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
}

/** Runs that a limit ended. */
export interface LimitRow {
  /** The ending. */
  readonly reason: EndingReason
  /** Runs that it ended. */
  readonly runs: number
  /** US dollars that services reported. */
  readonly costUsd: number
  /** Went on afterwards with the figures of the first. */
  readonly wentOn: number
  /** Gave an answer all the same, asked for at the limit. */
  readonly answered: number
  /** What the dollar budgets of these runs still allowed when the limit stopped them. */
  readonly leftUsd: number
  /** Runs that had changed something, gave no answer, and did not go on. */
  readonly lost: readonly RunName[]
  /** US dollars that these runs cost. */
  readonly lostUsd: number
}

/** A budget that runs of a report shared with others: a standing one, or that of their tenant. */
export interface BudgetRow {
  /** As people read it: `$20 a day`. */
  readonly budget: string
  /** Whether it is a standing budget, or the lease of a tenant. */
  readonly kind: SharedBudgetEnd['kind']
  /** Runs that it ended. */
  readonly runs: number
  /** US dollars of the runs that it ended. */
  readonly costUsd: number
  /** Those of them that another run goes on with. */
  readonly wentOn: number
  /** Of the last run that it ended: what all had used of it, and when it resets (ISO 8601); null where the record does not say. */
  readonly usedUsd: number | null
  /** The limit of the period, in US dollars; null where the record does not say. */
  readonly limitUsd: number | null
  /** When the next period begins, in ISO 8601; null where the record does not say. */
  readonly resetsAt: string | null
  /** Requests that waited for what others had reserved of it, and for how long together. */
  readonly waited: number
  /** Milliseconds, of all these requests together. */
  readonly waitedMs: number
}

/** One run of a report, with what it cost and how many changes it made. */
export interface RunName {
  /** Id of the session. */
  readonly session: string
  /** Id of the run. */
  readonly run: string
  /** US dollars that services reported. */
  readonly costUsd: number
  /** Calls that may have changed something. */
  readonly changes: number
}

/** The calls of one tool in the sessions of a report. */
export interface ToolRow {
  /** Null: requests whose reply asked for no tool. */
  readonly tool: string | null
  /** Calls of the tool. */
  readonly calls: number
  /** Calls that failed. */
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
  /** US dollars that services reported. */
  readonly costUsd: number
  /** Charged at worst case, in addition. */
  readonly unknownUsd: number
  /** Characters that its results put into the conversation. */
  readonly resultCharacters: number
}

/** How runs that had goals ended with them. */
export interface GoalCounts {
  /** Runs with goals. */
  readonly runs: number
  /** Runs whose goals were met. */
  readonly met: number
  /** Runs whose goals were not met. */
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
  /** The most answers of one run that were sent back. */
  readonly mostTries: number
  /** Milliseconds that rounds of checks took. */
  readonly checkMs: number
}

/** Of runs that ended and changed something: whether a check passed after their last change. Runs in which nobody looked at that count nowhere. */
export interface VerificationCounts {
  /** Runs that changed something. */
  readonly changed: number
  /** Those of them that ended with their last change unchecked. */
  readonly unchecked: number
  /** Runs whose model was asked to verify its last change. */
  readonly asked: number
  /** Those of them that ended with a check that passed. */
  readonly checkedWhenAsked: number
  /** Those of them whose model called no tool: the answer before that was kept. */
  readonly keptAnswer: number
}

/** How runs that had goals ended with them, for the runs of a day, a model or a folder. */
export interface GoalRow extends GoalCounts {
  /** `2026-11-23`, a model, a path; '' where it is not known. */
  readonly name: string
}

/** Waits for services, for one model or for one reason. */
export interface ServiceWaitRow {
  /** A model, or a status and a kind of failure such as `429 rate_limit`; '' where it is not known. */
  readonly name: string
  /** Waits that are over. */
  readonly waits: number
  /** Milliseconds by the wall clock, also where several waited at the same time. */
  readonly ms: number
  /** Milliseconds of the longest wait. */
  readonly longestMs: number
}

/** What runs waited for services that were over their limit or out of order, and which runs ended there. */
export interface ServiceWaitSums {
  /** Runs that waited. */
  readonly runs: number
  /** Waits that are over. */
  readonly waits: number
  /** Milliseconds by the wall clock, those of each run at the same time once. They are in no active time. */
  readonly ms: number
  /** The longest wait, and its run; null for none. */
  readonly longest:
    | (RunName & {
        /** Milliseconds of the wait. */
        readonly ms: number
      })
    | null
  /** How many waits ended in which way. */
  readonly ends: { readonly [outcome in ServiceWaitEnd]: number }
  /** By the model that was waited for. */
  readonly byModel: readonly ServiceWaitRow[]
  /** By what the service answered. */
  readonly byCause: readonly ServiceWaitRow[]
  /** Runs without an end that wait, and until when at the latest (ISO 8601). */
  readonly waiting: readonly (RunName & {
    /** Until when it waits at the latest: ISO 8601 in UTC. */
    readonly until: string
  })[]
  /** Runs that ended because a service refused and said when it takes requests again; `retryAt`: the latest of these moments, ISO 8601 in UTC. */
  readonly ended: {
    /** Runs. */
    readonly runs: number
    /** US dollars that services reported. */
    readonly costUsd: number
    /** Those of them that another run goes on with. */
    readonly wentOn: number
    /** Null where there is no such run. */
    readonly retryAt: string | null
  }
}

/** What would have become of the runs with one limit. */
export interface LimitTried {
  /** The limit. */
  readonly limits: OtherLimits
  /** Runs that it stops earlier. */
  readonly stops: number
  /** Those of these that it may have stopped still earlier. Where there are some, what is saved is the least, and what is lost the most. */
  readonly atTheLatest: number
  /** Runs that it may have stopped earlier, or had go another way: what they save and lose is not known. */
  readonly unknown: number
  /** US dollars that services reported and that would not have been spent. */
  readonly savedUsd: number
  /** The same of US dollars that were charged at worst case. */
  readonly savedUnknownUsd: number
  /** Tokens that would not have been used. */
  readonly savedTokens: number
  /** Active milliseconds that would not have been used. */
  readonly savedMs: number
  /** Runs whose answer there would not be. */
  readonly lostAnswers: number
  /** Calls that may have changed something and would not have been made. */
  readonly lostChanges: number
}

/** A session that used far more of something than most. */
export interface Outlier {
  /** Id of the session. */
  readonly session: string
  /** What it used far more of. */
  readonly what: 'costUsd' | 'tokens' | 'turns' | 'activeMs'
  /** How much it used. */
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
  /** The moment after the last; null for no bound. */
  readonly until: string | null
  /** When the report was made: ISO 8601 in UTC. */
  readonly madeAt: string
  /** By which days are told. */
  readonly timeZone: string
  /** Sessions with runs that count. */
  readonly sessions: number
  /** How many of these sessions each program recorded. */
  readonly programs: { readonly [program in SessionKind]: number }
  /** Sums over all runs, with what came after them. */
  readonly totals: Spent
  /** What came after runs: suggestions, summaries, notes. It is in the totals. */
  readonly afterRuns: {
    /** Stages. */
    readonly stages: number
    /** Input and output tokens. */
    readonly tokens: number
    /** The part of the tokens that was charged at worst case. */
    readonly unknownTokens: number
    /** US dollars that services reported. */
    readonly costUsd: number
    /** US dollars charged at worst case, in addition. */
    readonly unknownUsd: number
  }
  /** By the day on which the run began. */
  readonly byDay: readonly SpentRow[]
  /** By model. */
  readonly byModel: readonly ModelRow[]
  /** By working directory. */
  readonly byFolder: readonly SpentRow[]
  /** By the program that recorded it. */
  readonly byProgram: readonly SpentRow[]
  /** The dearest first. */
  readonly bySession: readonly SessionSpent[]
  /** By why runs ended. */
  readonly endings: readonly EndingRow[]
  /** The limits that ended runs. */
  readonly limits: readonly LimitRow[]
  /** Budgets that ended a run, or that a request waited for. */
  readonly budgets: readonly BudgetRow[]
  /** Of runs that had goals. A run counts by the model that it asked last. */
  readonly goals: GoalCounts & {
    /** By the day on which the run began. */
    readonly byDay: readonly GoalRow[]
    /** By model. */
    readonly byModel: readonly GoalRow[]
    /** By working directory. */
    readonly byFolder: readonly GoalRow[]
  }
  /** Whether runs that changed something were checked after their last change. */
  readonly verification: VerificationCounts
  /** Limits that would have lost at most 2 % of the solved runs, by model and repository, with their intervals, or why there are none. */
  readonly calibration: Calibration
  /** What each of several limits would have saved. */
  readonly tried: readonly LimitTried[]
  /** By tool. */
  readonly tools: readonly ToolRow[]
  /** Active milliseconds, by phase. */
  readonly time: { readonly [phase in Phase]: number }
  /** Beside the active time: what runs waited for services. */
  readonly serviceWaits: ServiceWaitSums
  /** Pauses at a limit: runs that paused, how often and how long (milliseconds by the wall clock), how many pauses ended with a raised limit, and runs that pause now. */
  readonly limitPauses: {
    /** Runs that paused. */
    readonly runs: number
    /** Pauses that are over. */
    readonly pauses: number
    /** Milliseconds by the wall clock. */
    readonly ms: number
    /** Pauses that ended with a raised limit. */
    readonly raised: number
    /** Runs that pause now. */
    readonly open: readonly RunName[]
  }
  /** How services answered. */
  readonly service: {
    /** Requests that took more than one attempt. */
    readonly retried: number
    /** Attempts of which nobody told what they came to: they broke, were cut, or are under way. */
    readonly untold: number
    /** Those of them whose reply is there: the service reported no usage. */
    readonly unreported: number
    /** Failures of attempts, by kind. */
    readonly failures: readonly {
      /** Kind of the failure. */
      readonly kind: string
      /** Attempts that failed so. */
      readonly attempts: number
      /** US dollars charged at worst case. */
      readonly unknownUsd: number
      /** US dollars that services reported. */
      readonly costUsd: number
    }[]
  }
  /** Input tokens, by how the prompt cache served them. */
  readonly cache: {
    /** Tokens that were not cached. */
    readonly input: number
    /** Tokens read from the cache. */
    readonly read: number
    /** Tokens written to the cache. */
    readonly written: number
    /** Share of all input that was read from the cache, from 0 to 1; null without any input. */
    readonly share: number | null
  }
  /** Compactions of conversations. */
  readonly compactions: {
    /** How many there were. */
    readonly count: number
    /** Requests that they took. */
    readonly requests: number
    /** Input and output tokens. */
    readonly tokens: number
    /** The part of the tokens that was charged at worst case. */
    readonly unknownTokens: number
    /** US dollars that services reported. */
    readonly costUsd: number
    /** US dollars charged at worst case, in addition. */
    readonly unknownUsd: number
  }
  /** Runs without an end on record. */
  readonly open: readonly (RunName & {
    /** US dollars charged at worst case. */
    readonly unknownUsd: number
    /** The process that writes the session now; null for none. */
    readonly heldBy: number | null
  })[]
  /** Sessions that used far more of something than most. */
  readonly outliers: readonly Outlier[]
  /** Models without a price: what they cost is in no figure. */
  readonly unpriced: readonly string[]
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sentences about what was read of other programs. */
  readonly notes: readonly string[]
}
