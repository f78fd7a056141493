/** How a run came out, and who says so. JSON. */
export interface RunGrade {
  /** It did what it was to do. */
  readonly isGood: boolean
  /**
   * `person`: somebody graded it (`halting grade`). `goal`: programs checked its goals. `guess`: it completed, and nobody said otherwise: a weak sign, since
   * most failures of strong models are wrong answers handed in as done.
   */
  readonly by: 'person' | 'goal' | 'guess'
}

/** What a run used, of all that a limit may count. */
export interface RunUse {
  /** US dollars; null where a model of it has no price. */
  readonly usd: number | null
  /** Input, cached too, and output of all requests, with those of subagents. */
  readonly tokens: number
  /** Active milliseconds. */
  readonly activeMs: number
  /** Turns that count against a limit. */
  readonly turns: number
}

/** A run that is over, as limits are calibrated on it. JSON. */
export interface GradedRun {
  /** Id of the session. */
  readonly sessionId: string
  /** The model that its main loop asked most. */
  readonly model: string
  /** The repository that it worked in, or its folder where that is none. */
  readonly repository: string
  /** What it used. */
  readonly use: RunUse
  /** How it came out; null where nobody can say. */
  readonly grade: RunGrade | null
}
