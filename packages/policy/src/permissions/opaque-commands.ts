import { analyseShell } from '../shell/analysis.ts'
import { effectsOfCommand, isReadOnlyAnalysis, setsHarmlessly } from '../shell/read-only.ts'
import { sourceOf } from '../shell/words.ts'
import { programChoiceProblem } from './program-choice.ts'
import { bareRule, changesOf, gitEffectProblem, ruleAllowing, ruleNaming, analysisProblem } from './command-verdict.ts'
import { whereaboutsOf } from './places.ts'
import type { RuleBook } from './rule-book.ts'
import { setsVariable } from './command-texts.ts'

/** A part of a command line that may use unknown files. */
export interface OpaquePart {
  readonly part: string
  readonly why: string
  /** The rule that would vouch for this part; undefined if none can be written. */
  readonly wouldAllow?: string
}

/**
 * The parts of a line to which deny rules for files cannot be applied, as unknown programs may read and write any file. An allow rule vouches for
 * the parts that it covers, and the kernel for those in a sandbox. Empty without deny rules for files.
 */
export function opaqueParts(command: string, { deny, ...others }: RuleBook): readonly OpaquePart[] {
  const book: RuleBook = { ...others, deny: deny.filter(({ isWatched }) => isWatched !== true) }
  if (!book.deny.some(({ spec }) => spec.kind === 'path')) return []
  if (book.sandbox?.holds(command) === true || bareRule(book) !== undefined) return []
  const analysis = analyseShell(command)
  const whole = analysisProblem(analysis, book)
  if (whole !== undefined) return [{ part: command, why: whole, wouldAllow: 'Bash' }]
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const place = {
    book,
    whereabouts,
    isHardened: isReadOnlyAnalysis(analysis),
    changes: changesOf(analysis, whereabouts),
    repositories: new Map<string, string | undefined>(),
  }
  return analysis.commands.flatMap((simple): readonly OpaquePart[] => {
    if (simple.words.length === 0 || ruleAllowing(simple, book) !== undefined) return []
    const why = setsHarmlessly(simple)
      ? effectsOfCommand(simple).flatMap((effect) => {
          if (effect.kind === 'unknown' || effect.kind === 'unseen') return [effect.why]
          const problem =
            effect.kind === 'git'
              ? gitEffectProblem(effect, place)
              : effect.kind === 'chosen'
                ? programChoiceProblem(effect, whereabouts, place.changes !== 'nothing', book)
                : effect.kind === 'hardened' && !place.isHardened
                  ? effect.why
                  : undefined
          return problem === undefined ? [] : [problem]
        })[0]
      : setsVariable
    if (why === undefined) return []
    const rule = ruleNaming(simple)
    const part = sourceOf([...simple.assignments, ...simple.words])
    return [{ part, why, ...(rule !== undefined && { wouldAllow: rule }) }]
  })
}

/** The rules that would vouch for all of the parts; empty if one of them cannot be written. */
export function rulesForOpaque(parts: readonly OpaquePart[]): readonly string[] {
  const rules = parts.map(({ wouldAllow }) => wouldAllow)
  return rules.includes(undefined) ? [] : [...new Set(rules.flatMap((rule) => rule ?? []))]
}
