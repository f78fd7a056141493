import { messageOf } from '../values/errors.ts'
import { systemClock } from '../values/system-clock.ts'

/** A violation of the contract. */
export interface StepEngineProblem {
  /** The check that failed. */
  readonly check: string
  /** What is wrong, in a sentence. */
  readonly problem: string
}

/** Reports a problem, in a sentence. */
export type Report = (problem: string) => void

/** The checks of the object that `make` returns, which is created anew for each check. */
export type Checks<Checked> = {
  readonly [check: string]: (make: () => Checked | Promise<Checked>, report: Report) => Promise<void>
}

/** Runs the checks one after another, each with this time limit in milliseconds. Returns the problems. */
export async function runChecks<Checked>(
  checks: Checks<Checked>,
  make: () => Checked | Promise<Checked>,
  longestCheckMs: number,
): Promise<readonly StepEngineProblem[]> {
  const problems: StepEngineProblem[] = []
  for (const [check, runCheck] of Object.entries(checks)) {
    const report: Report = (problem) => void problems.push({ check, problem })
    let cancel = (): void => {}
    const late = new Promise<void>((resolve) => {
      cancel = systemClock.after(longestCheckMs, () => {
        report(`It did not end within ${longestCheckMs / 1000} s.`)
        resolve()
      })
    })
    // The checks run one after another, because each may use a service that counts its calls.
    await Promise.race([runCheck(make, report).catch((error: unknown) => report(messageOf(error))), late])
    cancel()
  }
  return problems
}
