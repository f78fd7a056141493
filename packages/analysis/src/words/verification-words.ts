import { headOf } from '@halting/core/adapters'
import type { VerificationFigures } from '../account/verification.ts'
import { counted, many } from './figures.ts'

// Whether the last change of a run was checked, in words, for the terminal, exports and the page.

/** A command may have any length. */
const maxCommandLength = 200

/** The first sentence of `verificationFacts`; '' when nothing changed. */
export function verificationVerdict({ verified, changedLines, uncheckedLines }: VerificationFigures): string {
  if (verified === 'nothing changed') return ''
  const changed = many(changedLines, 'changed line')
  if (!verified) {
    const part = uncheckedLines < changedLines ? `${counted(uncheckedLines)} of ${changed}` : changed
    return `Not checked: no check has passed since the last change (${part}).`
  }
  return uncheckedLines > 0
    ? `Checked by the goals (${changed}).`
    : `Checked: a check passed after the last change (${changed}).`
}

/** All facts about the verification of the last change, a sentence each; empty when nothing changed. */
export function verificationFacts(figures: VerificationFigures): readonly string[] {
  const { verified } = figures
  if (verified === 'nothing changed') return []
  return [verificationVerdict(figures), checkFact(figures), ...askedFacts(figures)].filter((text) => text !== '')
}

function checkFact({ verified, lastCheck, hasPassed, uncheckedLines }: VerificationFigures): string {
  if (lastCheck === null) return verified === true ? '' : 'No check ran.'
  const last = `\`${headOf(lastCheck, maxCommandLength)}\``
  if (verified === true && uncheckedLines === 0) return `The last check was ${last}.`
  return hasPassed
    ? `A check passed before that; the last one that ran was ${last}.`
    : `No check passed; the last one that ran was ${last}.`
}

function askedFacts({ verified, wasAsked, keptAnswer }: VerificationFigures): readonly string[] {
  if (!wasAsked) return verified === true ? [] : ['The model was not asked to verify it.']
  if (keptAnswer) return ['The model was asked to verify it and called no tool: its answer before that was kept.']
  return ['The model was asked to verify it, and continued.']
}
