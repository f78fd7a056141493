import { bareRule, partsOf, analysisProblem } from './command-verdict.ts'
import { doubtAbout, ruleForCommand } from './command-rules.ts'
import { analyseShell } from '../shell/analysis.ts'
import type { Confinement } from '../sandbox/confinement.ts'
import { canConfineEdits, lineProblem } from './edit-confinement.ts'
import type { RuleBook, RuleDecision } from './rule-book.ts'
import { runsAnything } from './runs-anything.ts'
import { opaqueParts } from './opaque-commands.ts'
import { filesUnknownHere } from './permission-texts.ts'
import { byBypassMode, byRule, noRuleForPart, runsInSandbox, runsInWorkspace } from './command-texts.ts'

/** One command or redirect of a line, and what would happen to it alone. */
export interface ExplainedPart {
  /** The command or redirect, as it is written. */
  readonly part: string
  /** What would happen to it. */
  readonly behavior: RuleDecision['behavior']
  /** The rule, the mode or the reason that decides. */
  readonly because: string
  /** The rule that would allow this part, if a rule can. */
  readonly wouldAllow?: string
  /** How the allow rule in `because` lets any program run, if it does; see `runsAnything`. */
  readonly runsAnything?: string
}

/** The decision about a line, and its confinement if it runs. */
export interface DecidedLine {
  readonly decision: RuleDecision
  readonly confinement: Confinement | undefined
}

/** The parts of a line, if the whole line was decided as given. If the line cannot be split, the only part is the line itself, with the reason. */
export function explainedParts(command: string, decided: DecidedLine, book: RuleBook): readonly ExplainedPart[] {
  const { behavior } = decided.decision
  const isHeld = behavior === 'allow' && book.sandbox?.holds(command) === true
  const parts = partsByRules(command, book)
  const confined = canConfineEdits(book) ? confinedParts(command, parts, decided, book) : parts
  return confined.map(({ wouldAllow, ...part }) => {
    if (isHeld && part.behavior === 'ask') return { ...part, behavior: 'allow', because: runsInSandbox }
    return wouldAllow === undefined || book.hasFixedAllow ? part : { ...part, wouldAllow, ...ruleFreedom(wouldAllow) }
  })
}

// Spec R-EASK-6.
/** Like `partsByRules`, for a mode that confines commands without a rule to the workspace: which parts of the line run, and which need approval anyway. */
function confinedParts(
  command: string,
  parts: readonly ExplainedPart[],
  { decision, confinement }: DecidedLine,
  book: RuleBook,
): readonly ExplainedPart[] {
  // A line is confined as a whole, including parts that a rule would let run unconfined.
  if (decision.behavior === 'allow')
    return confinement?.kind === 'edit'
      ? parts.map(({ part }) => ({ part, behavior: 'allow', because: runsInWorkspace }))
      : parts
  if (decision.behavior === 'deny') return parts
  const each = parts.map((one): ExplainedPart => {
    const { part, behavior } = one
    const problem = lineProblem(part, book)
    if (behavior !== 'ask' || isOfAskRule(part, book)) return one
    return problem === undefined ? { part, behavior: 'allow', because: runsInWorkspace } : { ...one, because: problem }
  })
  if (each.some(({ behavior }) => behavior !== 'allow')) return each
  // Each part may run alone, but the parts may not run together.
  const problem = lineProblem(command, book)
  return problem === undefined ? each : [...each, { part: command, behavior: 'ask', because: problem }]
}

function isOfAskRule(part: string, book: RuleBook): boolean {
  return (
    ruleForCommand(book.ask, part, book) !== undefined ||
    doubtAbout(part, { ...book, deny: book.deny.filter(({ spec }) => spec.kind !== 'path') }) !== undefined
  )
}

function ruleFreedom(rule: string): Pick<ExplainedPart, 'runsAnything'> {
  const found = runsAnything(rule)
  return found === undefined ? {} : { runsAnything: found }
}

function partsByRules(command: string, book: RuleBook): readonly ExplainedPart[] {
  const whole = analysisProblem(analyseShell(command), book)
  if (whole !== undefined && bareRule(book) === undefined)
    return [
      {
        part: command,
        behavior: 'ask',
        because: whole,
        ...(doubtAbout(command, book) === undefined && { wouldAllow: 'Bash' }),
      },
    ]
  const seen = new Set<string>()
  return partsOf(command, book)
    .map((part): ExplainedPart => {
      const text = part.part
      const denied = ruleForCommand(book.deny, text, book)
      if (denied !== undefined) return { part: text, behavior: 'deny', because: byRule(denied.source) }
      const asked = ruleForCommand(book.ask, text, book)
      if (asked !== undefined) return { part: text, behavior: 'ask', because: byRule(asked.source) }
      const doubt = doubtAbout(text, book)
      if (doubt !== undefined) return { part: text, behavior: 'ask', because: doubt }
      const bare = bareRule(book)
      if (part.isRule === true) {
        const rule = part.allowedBy ?? ''
        return { part: text, behavior: 'allow', because: byRule(rule), ...ruleFreedom(rule) }
      }
      const unjudged = book.mode === 'bypassPermissions' ? opaqueParts(text, book)[0] : undefined
      if (unjudged !== undefined) {
        const because = filesUnknownHere(unjudged.why)
        const { wouldAllow } = unjudged
        return { part: text, behavior: 'ask', because, ...(wouldAllow !== undefined && { wouldAllow }) }
      }
      if (book.mode === 'bypassPermissions') return { part: text, behavior: 'allow', because: byBypassMode }
      if (part.allowedBy !== undefined) return { part: text, behavior: 'allow', because: part.allowedBy }
      if (bare !== undefined) return { part: text, behavior: 'allow', because: byRule(bare), ...ruleFreedom(bare) }
      const rule = part.wouldAllow
      return {
        part: text,
        behavior: 'ask',
        because: part.why ?? noRuleForPart,
        ...(rule !== undefined && { wouldAllow: rule }),
      }
    })
    .filter(({ part, because }) => !seen.has(`${part}\n${because}`) && seen.add(`${part}\n${because}`))
}
