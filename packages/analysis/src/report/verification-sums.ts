import type { VerificationFigures } from '../account/verification.ts'
import type { VerificationCounts } from './report-model.ts'

/** Counts runs that changed something, and whether they ended with their last change checked. */
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
