// Spec R-END-2.
/** The category of an ending: why the run ended. `EndingReason` says where it ended. */
export type StopCategory =
  | 'error'
  | 'stop_requested'
  | 'user_requested'
  | 'steps_limit'
  | 'token_limit'
  | 'cost_limit'
  | 'time_limit'
  | 'retry_limit'
  | 'no_progress'
  | 'finish_reason'
  | 'completed'
  | 'unknown'

// Spec R-STOP-2.
/** Lower is more urgent. */
const priorities = {
  error: 0,
  stop_requested: 1,
  user_requested: 2,
  steps_limit: 2,
  token_limit: 3,
  cost_limit: 3,
  time_limit: 4,
  retry_limit: 5,
  no_progress: 5,
  finish_reason: 6,
  completed: 8,
  unknown: 9,
} as const satisfies Record<StopCategory, number>

interface StopReasons {
  readonly ErrorForbade: 'error'
  readonly StopRequested: 'stop_requested'
  readonly UserRequested: 'user_requested'
  readonly StepsLimitReached: 'steps_limit'
  readonly TokenLimitReached: 'token_limit'
  readonly CostLimitReached: 'cost_limit'
  readonly TimeLimitReached: 'time_limit'
  readonly RetryLimitReached: 'retry_limit'
  readonly NoProgress: 'no_progress'
  readonly FinishReasonReceived: 'finish_reason'
  readonly Completed: 'completed'
  readonly Unknown: 'unknown'
  /** Every reason, most urgent first. */
  readonly all: readonly StopCategory[]
  /** 0 (most urgent) to 9. */
  priority(reason: StopCategory): number
  /** -1, 0 or 1: the order of two reasons by urgency, for sorting. */
  compare(a: StopCategory, b: StopCategory): -1 | 0 | 1
  /** False for a natural end (`completed`, `finish_reason`), true for every other reason. */
  wasForceStopped(reason: StopCategory): boolean
  /** Reads a reason from stored data. An unknown one becomes `unknown`; it never throws. */
  parse(value: unknown): StopCategory
}

export const StopCategory: StopReasons = Object.freeze<StopReasons>({
  ErrorForbade: 'error',
  StopRequested: 'stop_requested',
  UserRequested: 'user_requested',
  StepsLimitReached: 'steps_limit',
  TokenLimitReached: 'token_limit',
  CostLimitReached: 'cost_limit',
  TimeLimitReached: 'time_limit',
  RetryLimitReached: 'retry_limit',
  NoProgress: 'no_progress',
  FinishReasonReceived: 'finish_reason',
  Completed: 'completed',
  Unknown: 'unknown',
  // The keys are exactly those of the union: `satisfies` above guarantees it.
  all: Object.freeze(Object.keys(priorities) as StopCategory[]),
  priority: (reason) => priorities[reason],
  compare: (a, b) => {
    const difference = priorities[a] - priorities[b]
    return difference < 0 ? -1 : difference > 0 ? 1 : 0
  },
  wasForceStopped: (reason) => reason !== 'completed' && reason !== 'finish_reason',
  // A key of the table is a StopCategory, by the same `satisfies`.
  parse: (value) =>
    typeof value === 'string' && Object.hasOwn(priorities, value) ? (value as StopCategory) : 'unknown',
})
