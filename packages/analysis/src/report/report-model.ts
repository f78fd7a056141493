import type { Calibration } from '../calibration/calibrate-limits.ts'
import type { SharedBudgetEnd } from '@halting/core/adapters'
import type { SessionKind } from '../foreign/read-foreign.ts'
import type { EndingReason } from '@halting/core'
import type { OtherLimits } from '../what-if/other-limits.ts'
import type { ServiceWaitEnd } from '../account/service-waits.ts'
import type { Phase } from '../account/recorded-steps.ts'

// The report as JSON. Dollars are US dollars. Cost that was never reported is charged at worst case, and is in `unknownUsd` and `unknownTokens`, in
// addition to `costUsd` and `tokens`.

/** The keys by which a report can list totals. */
export type Breakdown = 'day' | 'model' | 'folder'

/** Totals of some runs. */
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
  /** Additional US dollars that were charged at worst case. */
  readonly unknownUsd: number
  /** Active milliseconds. */
  readonly activeMs: number
}

/** Totals of a day, a folder or a program. */
export interface SpentRow extends Spent {
  /** `2026-11-23`, a path or a program; '' if unknown. */
  readonly name: string
  /** Sessions with a run in this row. A session of two days counts in both. */
  readonly sessions: number
}

/** Requests, tokens and cost of one model in the sessions of a report. */
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
  /** Input tokens that were neither read from the cache nor written to it. */
  readonly input: number
  /** Tokens read from the cache. */
  readonly cacheRead: number
  /** Tokens written to the cache. */
  readonly cacheWrite: number
  /** Output tokens. */
  readonly output: number
  /** US dollars that services reported. */
  readonly costUsd: number
  /** Additional US dollars that were charged at worst case. */
  readonly unknownUsd: number
  /** Milliseconds of its requests; parallel requests count separately. */
  readonly ms: number
  /** Web searches that the service billed; absent for none. */
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
  /** Its working directory. */
  readonly folder: string
  /** Its title, or its first prompt. */
  readonly title: string
  /** When its first counted run began: ISO 8601 in UTC; null if unknown. */
  readonly beganAt: string | null
  /** Why its last run ended; null for one that has not ended. */
  readonly ending: EndingReason | null
  /** Tool calls. */
  readonly calls: number
  /** Calls that failed. */
  readonly failedCalls: number
}

/** The runs of a report that ended for one reason. */
export interface EndingRow {
  /** The ending; null when none is recorded. */
  readonly reason: EndingReason | null
  /** Exit code of the program; null without an ending. */
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
  /** Additional US dollars that were charged at worst case. */
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
  /** Runs that were continued by another run. */
  readonly wentOn: number
  /** Runs that gave an answer when the limit asked for one. */
  readonly answered: number
  /** US dollars that were left of these runs' own dollar budgets. */
  readonly leftUsd: number
  /** Runs that had changed something, gave no answer, and were not continued. */
  readonly lost: readonly RunName[]
  /** US dollars that these runs cost. */
  readonly lostUsd: number
}

/** A budget that runs of a report shared with others: a standing budget, or that of their tenant. */
export interface BudgetRow {
  /** Display name: `$20 a day`. */
  readonly budget: string
  /** Whether it is a standing budget, or the lease of a tenant. */
  readonly kind: SharedBudgetEnd['kind']
  /** Runs that it ended. */
  readonly runs: number
  /** US dollars of the runs that it ended. */
  readonly costUsd: number
  /** Runs it ended that another run continued. */
  readonly wentOn: number
  /** US dollars that had been used of it when it last ended a run; null when the record does not say. */
  readonly usedUsd: number | null
  /** The limit of the period, in US dollars; null when the record does not say. */
  readonly limitUsd: number | null
  /** When the next period begins, in ISO 8601; null when the record does not say. */
  readonly resetsAt: string | null
  /** Requests that waited for money reserved by others. */
  readonly waited: number
  /** Milliseconds of all these waits together. */
  readonly waitedMs: number
}

/** One run of a report, with its cost and its number of changes. */
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

/** Calls of one tool in the sessions of a report. */
export interface ToolRow {
  /** The tool; null for requests whose reply called no tool. */
  readonly tool: string | null
  /** Calls of the tool. */
  readonly calls: number
  /** Calls that failed. */
  readonly failed: number
  /** Calls denied by rules, a mode or a person. */
  readonly denied: number
  /** Calls of unknown tools, or with invalid input. */
  readonly invalid: number
  /** Calls that were not started, were interrupted, or have no result. */
  readonly cut: number
  /** Milliseconds of its calls; parallel calls count separately. */
  readonly ms: number
  /** Tokens of the requests that called it, including those charged at worst case. */
  readonly tokens: number
  /** US dollars that services reported. */
  readonly costUsd: number
  /** Additional US dollars that were charged at worst case. */
  readonly unknownUsd: number
  /** Characters that its results added to the conversation. */
  readonly resultCharacters: number
}

/** Goals of runs, and whether they were met. */
export interface GoalCounts {
  /** Runs with goals. */
  readonly runs: number
  /** Runs whose goals were met. */
  readonly met: number
  /** Runs whose goals were not met. */
  readonly unmet: number
  /** Runs whose result is unknown: something changed after the last check, nothing was checked, or the run has not ended. */
  readonly unknown: number
  /** Runs whose goals were met from the start, so that there is no evidence that the run achieved them. */
  readonly heldFromStart: number
  /** Runs with a goal that a model judged. */
  readonly judged: number
  /** Runs in which checks gave different results although nothing had changed in between. */
  readonly flaky: number
  /** Runs in which the agent changed test files. */
  readonly changedTests: number
  /** Answers that were sent back. */
  readonly tries: number
  /** The largest number of answers sent back in one run. */
  readonly maxTries: number
  /** Milliseconds of all rounds of checks. */
  readonly checkMs: number
}

/** Ended runs that changed files, and whether a check passed after the last change. Runs that did not track this are not counted. */
export interface VerificationCounts {
  /** Runs that changed files. */
  readonly changed: number
  /** Runs that ended with their last change unchecked. */
  readonly unchecked: number
  /** Runs whose model was asked to verify its last change. */
  readonly asked: number
  /** Runs that were asked to verify, and ended with a passed check. */
  readonly checkedWhenAsked: number
  /** Runs that were asked to verify, and whose model called no tool: the earlier answer was kept. */
  readonly keptAnswer: number
}

/** Goals of the runs of a day, a model or a folder, and whether they were met. */
export interface GoalRow extends GoalCounts {
  /** `2026-11-23`, a model or a path; '' if unknown. */
  readonly name: string
}

/** Waits for services, by model or by cause. */
export interface ServiceWaitRow {
  /** A model, or a status and kind of failure such as `429 rate_limit`; '' if unknown. */
  readonly name: string
  /** Waits that have ended. */
  readonly waits: number
  /** Milliseconds by the wall clock; overlapping waits count separately. */
  readonly ms: number
  /** Milliseconds of the longest wait. */
  readonly longestMs: number
}

/** Waits for services that were rate-limited or unavailable, and runs that ended because of them. */
export interface ServiceWaitSums {
  /** Runs that waited. */
  readonly runs: number
  /** Waits that have ended. */
  readonly waits: number
  /** Milliseconds by the wall clock; overlapping waits of one run count once. Not part of active time. */
  readonly ms: number
  /** The longest wait and its run; null for none. */
  readonly longest:
    | (RunName & {
        /** Milliseconds of the wait. */
        readonly ms: number
      })
    | null
  /** Number of waits by what ended them. */
  readonly ends: { readonly [outcome in ServiceWaitEnd]: number }
  /** Waits by model. */
  readonly byModel: readonly ServiceWaitRow[]
  /** Waits by the answer of the service. */
  readonly byCause: readonly ServiceWaitRow[]
  /** Runs that are waiting now. */
  readonly waiting: readonly (RunName & {
    /** Deadline of the wait: ISO 8601 in UTC. */
    readonly until: string
  })[]
  /** Runs that ended because a service refused a request and named a time to retry. */
  readonly ended: {
    /** Runs. */
    readonly runs: number
    /** US dollars that services reported. */
    readonly costUsd: number
    /** Runs that another run continued. */
    readonly wentOn: number
    /** The latest time to retry, ISO 8601 in UTC; null without such a run. */
    readonly retryAt: string | null
  }
}

/** The effect of one limit on the runs. */
export interface LimitTried {
  /** The limit. */
  readonly limits: OtherLimits
  /** Runs that it would have stopped earlier. */
  readonly stops: number
  /** Number of these runs that it might have stopped even earlier. If there are any, savings are lower bounds and losses are upper bounds. */
  readonly atTheLatest: number
  /** Runs on which the effect of the limit is unknown: their savings and losses are not included. */
  readonly unknown: number
  /** Reported US dollars that would have been saved. */
  readonly savedUsd: number
  /** US dollars charged at worst case that would have been saved. */
  readonly savedUnknownUsd: number
  /** Tokens that would have been saved. */
  readonly savedTokens: number
  /** Active milliseconds that would have been saved. */
  readonly savedMs: number
  /** Runs that would have lost their answer. */
  readonly lostAnswers: number
  /** Calls that may have changed something and would not have been made. */
  readonly lostChanges: number
}

/** A session that used much more of a resource than most sessions. */
export interface Outlier {
  /** Id of the session. */
  readonly session: string
  /** The figure that is unusually high. */
  readonly what: 'costUsd' | 'tokens' | 'turns' | 'activeMs'
  /** Its value. */
  readonly value: number
  /** The median of all sessions. */
  readonly median: number
}

/** Figures of many sessions. */
export interface Report {
  /** Description of the sessions: `of this folder`. */
  readonly of: string
  /** Start of the period, in ISO 8601: runs that began earlier do not count. Null for no bound. */
  readonly since: string | null
  /** End of the period, which is not part of it, in ISO 8601; null for no bound. */
  readonly until: string | null
  /** When the report was made: ISO 8601 in UTC. */
  readonly madeAt: string
  /** Time zone of the days. */
  readonly timeZone: string
  /** Sessions with counted runs. */
  readonly sessions: number
  /** How many of these sessions each program recorded. */
  readonly programs: { readonly [program in SessionKind]: number }
  /** Totals of all runs and of the stages after them. */
  readonly totals: Spent
  /** Stages after runs, such as suggestions, summaries and notes. Included in the totals. */
  readonly afterRuns: {
    /** Stages. */
    readonly stages: number
    /** Input and output tokens. */
    readonly tokens: number
    /** The part of the tokens that was charged at worst case. */
    readonly unknownTokens: number
    /** US dollars that services reported. */
    readonly costUsd: number
    /** Additional US dollars that were charged at worst case. */
    readonly unknownUsd: number
  }
  /** Totals by the day on which a run began. */
  readonly byDay: readonly SpentRow[]
  /** Totals by model. */
  readonly byModel: readonly ModelRow[]
  /** Totals by working directory. */
  readonly byFolder: readonly SpentRow[]
  /** Totals by the program that recorded the session. */
  readonly byProgram: readonly SpentRow[]
  /** Sessions, the most expensive first. */
  readonly bySession: readonly SessionSpent[]
  /** Totals by ending. */
  readonly endings: readonly EndingRow[]
  /** The limits that ended runs. */
  readonly limits: readonly LimitRow[]
  /** Budgets that ended a run, or that a request had to wait for. */
  readonly budgets: readonly BudgetRow[]
  /** Goals of runs. A run counts for the model of its last request. */
  readonly goals: GoalCounts & {
    /** Goals by the day on which the run began. */
    readonly byDay: readonly GoalRow[]
    /** Goals by model. */
    readonly byModel: readonly GoalRow[]
    /** Goals by working directory. */
    readonly byFolder: readonly GoalRow[]
  }
  /** Whether runs that changed files were checked after their last change. */
  readonly verification: VerificationCounts
  /** Limits that would have lost at most 2 % of the solved runs, by model and repository, with their intervals; or why there are none. */
  readonly calibration: Calibration
  /** Savings and losses of several limits. */
  readonly tried: readonly LimitTried[]
  /** Calls by tool. */
  readonly tools: readonly ToolRow[]
  /** Active milliseconds, by phase. */
  readonly time: { readonly [phase in Phase]: number }
  /** Waits for services, which are not part of the active time. */
  readonly serviceWaits: ServiceWaitSums
  /** Pauses at a limit. */
  readonly limitPauses: {
    /** Runs that paused. */
    readonly runs: number
    /** Pauses that have ended. */
    readonly pauses: number
    /** Milliseconds by the wall clock. */
    readonly ms: number
    /** Pauses that ended with a raised limit. */
    readonly raised: number
    /** Runs that are paused now. */
    readonly open: readonly RunName[]
  }
  /** Failures and retries of model requests. */
  readonly service: {
    /** Requests that took more than one attempt. */
    readonly retried: number
    /** Attempts whose usage was never reported: they failed, were interrupted, or are running. */
    readonly untold: number
    /** Attempts with a reply but without reported usage. */
    readonly unreported: number
    /** Failures of attempts, by kind. */
    readonly failures: readonly {
      /** Kind of the failure. */
      readonly kind: string
      /** Failed attempts. */
      readonly attempts: number
      /** US dollars charged at worst case. */
      readonly unknownUsd: number
      /** US dollars that services reported. */
      readonly costUsd: number
    }[]
  }
  /** Input tokens and the prompt cache. */
  readonly cache: {
    /** All input tokens. */
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
    /** Number of compactions. */
    readonly count: number
    /** Requests made for them. */
    readonly requests: number
    /** Input and output tokens. */
    readonly tokens: number
    /** The part of the tokens that was charged at worst case. */
    readonly unknownTokens: number
    /** US dollars that services reported. */
    readonly costUsd: number
    /** Additional US dollars that were charged at worst case. */
    readonly unknownUsd: number
  }
  /** Runs without a recorded ending. */
  readonly open: readonly (RunName & {
    /** US dollars charged at worst case. */
    readonly unknownUsd: number
    /** The process that is writing to the session; null for none. */
    readonly heldBy: number | null
  })[]
  /** Sessions with an unusually high figure. */
  readonly outliers: readonly Outlier[]
  /** Models without a price: their cost is not included. */
  readonly unpriced: readonly string[]
  /** Files that could not be read, and why. */
  readonly skipped: readonly string[]
  /** Sentences about sessions of other programs. */
  readonly notes: readonly string[]
}
