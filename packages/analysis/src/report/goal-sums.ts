import type { GoalFigures } from '../account/goal.ts'
import type { Breakdown, GoalCounts, GoalRow, Report } from './report-model.ts'

type Sum = { -readonly [count in keyof GoalCounts]: GoalCounts[count] }

const nothing: GoalCounts = Object.freeze({
  runs: 0,
  met: 0,
  unmet: 0,
  unknown: 0,
  heldFromStart: 0,
  judged: 0,
  flaky: 0,
  changedTests: 0,
  tries: 0,
  mostTries: 0,
  checkMs: 0,
})

function addTo(sum: Sum, { met, heldFromStart, judged, flaky, changedTests, tries, rounds }: GoalFigures): void {
  sum.runs++
  if (met === 'unknown') sum.unknown++
  else if (met) sum.met++
  else sum.unmet++
  if (heldFromStart === true) sum.heldFromStart++
  if (judged === true) sum.judged++
  if (flaky) sum.flaky++
  if (changedTests.length > 0) sum.changedTests++
  sum.tries += tries
  sum.mostTries = Math.max(sum.mostTries, tries)
  sum.checkMs += rounds.ms
}

/** How runs ended with their goals: all of them, and by day, model and folder. Runs without goals are in none of it. */
export class GoalSums {
  readonly #all: Sum = { ...nothing }
  readonly #by: { readonly [by in Breakdown]: Map<string, Sum> } = {
    day: new Map(),
    model: new Map(),
    folder: new Map(),
  }

  /** `place`: the day, the folder, and the model that the run asked last. */
  add(goal: GoalFigures | undefined, place: { readonly [by in Breakdown]: string }): void {
    if (goal === undefined) return
    addTo(this.#all, goal)
    for (const by of ['day', 'model', 'folder'] as const) {
      const sum = this.#by[by].get(place[by]) ?? { ...nothing }
      this.#by[by].set(place[by], sum)
      addTo(sum, goal)
    }
  }

  get told(): Report['goals'] {
    const rows = (by: Breakdown): readonly GoalRow[] => [...this.#by[by]].map(([name, counts]) => ({ name, ...counts }))
    const most = (by: Breakdown): readonly GoalRow[] =>
      rows(by).toSorted((a, b) => b.runs - a.runs || a.name.localeCompare(b.name))
    return {
      ...this.#all,
      byDay: rows('day').toSorted((a, b) => a.name.localeCompare(b.name)),
      byModel: most('model'),
      byFolder: most('folder'),
    }
  }
}
