import type { JSX } from 'preact'
import { visible } from '@halting/analysis/words'
import type { RunView } from '@halting/analysis/view'
import { endingColor } from '../common/colors.ts'
import type { PictureBar } from '../picture/bars.ts'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import {
  exitCodeOf,
  goalLines,
  gradeLines,
  headline,
  lastChangeLines,
  limitBars,
  timeBars,
  totalsText,
  whyTitle,
  pictureOfEnding,
} from './ending-figures.ts'

/** Why a run ended and where everything went: its limits and time as bars, and the text of `halting why`. */
export function Ending({ run }: { readonly run: RunView }): JSX.Element {
  const limits = limitBars(run)
  return (
    <section
      class="run-ending"
      id="ending"
      aria-labelledby="ending-title"
      style={{ borderLeftColor: `var(--${endingColor(exitCodeOf(run))})` }}
    >
      <h2 id="ending-title">{headline(run)}</h2>
      <p class="numbers">{totalsText(run)}</p>
      <Facts title="Goal" facts={goalLines(run)} />
      <Facts title="Last change" facts={lastChangeLines(run)} />
      <Facts title="Grade" facts={gradeLines(run)} />
      <PictureButtons name="ending" pictureOf={() => pictureOfEnding(run)} />
      <div class="ending-bars">
        <div>
          <h3>Limits</h3>
          {limits.length === 0 ? <p class="soft">None are recorded.</p> : null}
          {limits.map((bar) => (
            <Bar key={bar.label} {...bar} />
          ))}
        </div>
        <div>
          <h3>Time</h3>
          {timeBars(run).map((bar) => (
            <Bar key={bar.label} {...bar} />
          ))}
        </div>
      </div>
      <h3>{whyTitle}</h3>
      <pre class="why">{visible(run.why)}</pre>
    </section>
  )
}

function Facts({ title, facts }: { readonly title: string; readonly facts: readonly string[] }): JSX.Element | null {
  if (facts.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <ul class="run-goals">
        {facts.map((text, index) => (
          // The facts of a record do not change their order.
          <li key={index}>{text}</li>
        ))}
      </ul>
    </>
  )
}

function Bar({ label, share, value, color }: PictureBar): JSX.Element {
  const full = share === null ? 0 : Math.min(1, Math.max(0, share))
  return (
    <div class="bar-row">
      <span>{label}</span>
      {share === null ? (
        <span />
      ) : (
        <span
          class="meter"
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
