import type { GoalFigures } from '../account/goal.ts'
import type { Breakdown, GoalCounts, GoalRow, Report, VerificationCounts } from './report-model.ts'
import type { VerificationFigures } from '../account/verification.ts'

type GoalSum = { -readonly [count in keyof GoalCounts]: GoalCounts[count] }

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
  maxTries: 0,
  checkMs: 0,
})

function addTo(sum: GoalSum, { met, heldFromStart, judged, flaky, changedTests, tries, rounds }: GoalFigures): void {
  sum.runs++
  if (met === 'unknown') sum.unknown++
  else if (met) sum.met++
  else sum.unmet++
  if (heldFromStart === true) sum.heldFromStart++
  if (judged === true) sum.judged++
  if (flaky) sum.flaky++
  if (changedTests.length > 0) sum.changedTests++
  sum.tries += tries
  sum.maxTries = Math.max(sum.maxTries, tries)
  sum.checkMs += rounds.ms
}

/** Sums up the goals of runs: in total, and by day, model and folder. Runs without goals are not counted. */
export class GoalSums {
  readonly #all: GoalSum = { ...nothing }
  readonly #by: { readonly [by in Breakdown]: Map<string, GoalSum> } = {
    day: new Map(),
    model: new Map(),
    folder: new Map(),
  }

  /** `place`: the day, the folder, and the model of the last request. */
  add(goal: GoalFigures | undefined, place: { readonly [by in Breakdown]: string }): void {
    if (goal === undefined) return
    addTo(this.#all, goal)
    for (const by of ['day', 'model', 'folder'] as const) {
      const sum = this.#by[by].get(place[by]) ?? { ...nothing }
      this.#by[by].set(place[by], sum)
      addTo(sum, goal)
    }
  }

  get sums(): Report['goals'] {
    const rows = (by: Breakdown): readonly GoalRow[] => [...this.#by[by]].map(([name, counts]) => ({ name, ...counts }))
    const maxRunsFirst = (by: Breakdown): readonly GoalRow[] =>
      rows(by).toSorted((a, b) => b.runs - a.runs || a.name.localeCompare(b.name))
    return {
      ...this.#all,
      byDay: rows('day').toSorted((a, b) => a.name.localeCompare(b.name)),
      byModel: maxRunsFirst('model'),
      byFolder: maxRunsFirst('folder'),
    }
  }
}

/** Counts runs that changed files, and whether their last change was checked. */
export class VerificationSums {
  #counts: VerificationCounts = { changed: 0, unchecked: 0, asked: 0, checkedWhenAsked: 0, keptAnswer: 0 }

  add(figures: VerificationFigures | undefined): void {
    if (figures === undefined || figures.verified === 'nothing changed') return
    const { verified, wasAsked, keptAnswer } = figures
    const { changed, unchecked, asked, checkedWhenAsked, keptAnswer: kept } = this.#counts
    this.#counts = {
      changed: changed + 1,
      unchecked: unchecked + (verified ? 0 : 1),
      asked: asked + (wasAsked ? 1 : 0),
      checkedWhenAsked: checkedWhenAsked + (wasAsked && verified ? 1 : 0),
      keptAnswer: kept + (keptAnswer ? 1 : 0),
    }
  }

  get counts(): VerificationCounts {
    return this.#counts
  }
}
