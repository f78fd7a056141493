import { endings } from '@halting/core'
import type { LimitFigures } from '@halting/core/steps'
import type { JSX } from 'preact'
import { counted, elapsed, limitLabels, many, money, moneyAtMost } from '../../figures.ts'
import { visible } from '../../visible.ts'
import type { RunView } from '../../view/types.ts'
import { endingColor, phaseColors } from '../common/colors.ts'
import { costInWords } from '../sessions/figure-text.ts'

/** The exit code of a run's ending; null for one that did not end, or that nobody was left to read. */
export function exitCodeOf({ account: { ending } }: RunView): number | null {
  return ending === null ? null : (endings[ending.reason]?.exitCode ?? null)
}

/** Why a run ended, and where everything went: the words of `halting why`, and its limits as bars. */
export function Ending({ run }: { readonly run: RunView }): JSX.Element {
  const { account } = run
  const { totals, limits, phases, carried } = account
  const whole = totals.activeMs - carried.activeMs
  return (
    <section
      class="run-ending"
      id="ending"
      aria-labelledby="ending-title"
      style={{ borderLeftColor: `var(--${endingColor(exitCodeOf(run))})` }}
    >
      <h2 id="ending-title">{headline(run)}</h2>
      <p class="numbers">
        {many(totals.turns, 'turn')}, {many(totals.requests, 'request')}, {counted(totals.tokens)} tokens,{' '}
        {costInWords(totals.costUsd, run.unpriced)}
        {totals.committedUsd > totals.costUsd ? `, up to ${moneyAtMost(totals.committedUsd)}` : ''},{' '}
        {elapsed(totals.activeMs)}
      </p>
      <div class="ending-bars">
        <div>
          <h3>Limits</h3>
          {limits.length === 0 ? <p class="soft">None is on record.</p> : null}
          {limits.map((limit) => (
            <Limit key={limit.limit} figures={limit} />
          ))}
        </div>
        <div>
          <h3>Time</h3>
          {phases.map(({ phase, ms }) =>
            ms === 0 ? null : (
              <Bar
                key={phase}
                label={phase}
                share={whole === 0 ? 0 : ms / whole}
                value={`${elapsed(ms)}${whole === 0 ? '' : `, ${Math.round((100 * ms) / whole)} %`}`}
                color={phaseColors[phase]}
              />
            ),
          )}
        </div>
      </div>
      <h3>As halting why tells it</h3>
      <pre class="why">{visible(run.why)}</pre>
    </section>
  )
}

/** The reason of the ending, and what is said with it. */
export function headline({ account: { ending } }: RunView): string {
  if (ending === null) return 'No end is on record'
  const { message } = ending.signal
  return visible(message === '' ? ending.reason : `${ending.reason}: ${message}`)
}

const units = {
  turns: counted,
  tokens: counted,
  repeats: counted,
  usd: money,
  ms: elapsed,
} satisfies Record<LimitFigures['unit'], (value: number) => string>

function Limit({ figures: { limit, unit, used, max, isReached } }: { readonly figures: LimitFigures }): JSX.Element {
  const shown = units[unit]
  if (max === null)
    return <Bar label={limitLabels[limit]} share={null} value={`${shown(used)}, no limit`} color="soft" />
  const value = `${shown(used)} of ${shown(max)}${isReached ? ', reached' : ''}`
  return (
    <Bar
      label={limitLabels[limit]}
      share={max === 0 ? 1 : used / max}
      value={value}
      color={isReached ? 'bad' : 'accent'}
    />
  )
}

interface BarProps {
  readonly label: string
  /** How full, from 0 to 1; null for no bar. */
  readonly share: number | null
  readonly value: string
  readonly color: string
}

function Bar({ label, share, value, color }: BarProps): JSX.Element {
  const full = share === null ? 0 : Math.min(1, Math.max(0, share))
  return (
    <div class="bar-row">
      <span>{label}</span>
      {share === null ? (
        <span />
      ) : (
        <span
          class="bar"
          role="meter"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(100 * full)}
          aria-valuetext={value}
        >
          <span style={{ width: `${100 * full}%`, background: `var(--${color})` }} />
        </span>
      )}
      <span class="numbers">{value}</span>
    </div>
  )
}
