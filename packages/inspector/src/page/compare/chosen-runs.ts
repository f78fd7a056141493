/** Which run of either session is compared; undefined: all of them. Runs count from 1. */
export type ChosenRuns = readonly [number | undefined, number | undefined]

/** `runs=2,` is the second run of the first session, and all of the other. Where either has no such run, all are meant. */
export function chosenRuns(query: string | undefined, runs: readonly [number, number]): ChosenRuns {
  const [first = '', second = ''] = (new URLSearchParams(query).get('runs') ?? '').split(',')
  return [runOf(first, runs[0]), runOf(second, runs[1])]
}

/** The query of an address; '' where all runs are compared. */
export function queryOfRuns([first, second]: ChosenRuns): string {
  return first === undefined && second === undefined ? '' : `runs=${first ?? ''},${second ?? ''}`
}

function runOf(text: string, runs: number): number | undefined {
  const run = Number(text)
  return Number.isInteger(run) && run >= 1 && run <= runs ? run : undefined
}
