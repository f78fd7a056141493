/** Whether a run was good, and who graded it. JSON. */
export interface RunGrade {
  /** Whether the run did its task. */
  readonly isGood: boolean
  /**
   * `person`: a person graded it (`halting grade`). `goal`: programs checked its goals. `guess`: it completed without any other grade, which is a
   * weak sign: most failures of strong models are wrong answers that look finished.
   */
  readonly by: 'person' | 'goal' | 'guess'
}

/** What a run used of each figure that a limit can count. */
export interface RunUse {
  /** US dollars; null when one of its models has no price. */
  readonly usd: number | null
  /** Input (including cached) and output tokens of all requests, including those of subagents. */
  readonly tokens: number
  /** Active milliseconds. */
  readonly activeMs: number
  /** Turns that count for a limit. */
  readonly turns: number
}

/** An ended run, as input for the calibration of limits. JSON. */
export interface GradedRun {
  /** Id of the session. */
  readonly sessionId: string
  /** The model that the main loop used most. */
  readonly model: string
  /** The repository that it worked in, or its folder outside of a repository. */
  readonly repository: string
  /** What it used. */
  readonly use: RunUse
  /** The grade; null when it cannot be known. */
  readonly grade: RunGrade | null
}
