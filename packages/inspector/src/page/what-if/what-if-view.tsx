import { useSignal } from '@preact/signals'
import { type OtherLimits, type Trajectory, whatIfPriced } from '@halting/analysis'
import { Fragment, type JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { verdictText } from '@halting/analysis/words'
import type { RunView, SessionView } from '@halting/analysis/view'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { Bars } from './bars.tsx'
import { CommandLine } from './command-line.tsx'
import { LimitRow } from './limit-row.tsx'
import { commandLine, keptSavedLost, limitNames, limitNamesOf, limitWords, usedOf, usedText } from './limits.ts'
import { heightWords, limitStops, turnBars } from './turn-bars.ts'
import { pictureOfWhatIf } from './what-if-picture.ts'

/** What-if for one run: replays it in the page, without a model, as `halting what-if` does. */
export function WhatIfView({ view, run }: { readonly view: SessionView; readonly run: RunView }): JSX.Element {
  const { trajectory, unpriced } = run
  const limits = useSignal<OtherLimits>({})
  const chosen = limits.value
  const answer = useMemo(() => whatIfPriced(trajectory, chosen, unpriced), [trajectory, chosen, unpriced])
  const bars = useMemo(() => turnBars(trajectory, answer), [trajectory, answer])
  const stops = useMemo(() => limitStops(trajectory, chosen, unpriced), [trajectory, chosen, unpriced])
  const isAsked = Object.keys(chosen).length > 0
  const verdict = isAsked ? verdictText(answer, unpriced) : 'Set a limit to see its effect.'
  const figures = keptSavedLost(answer)
  const alone =
    stops.length < 2 ? [] : stops.map((stop) => `${stop.label} alone: ${verdictText(stop.answer, unpriced)}`)
  const heights = heightWords(trajectory)
  const command = commandLine(view.shellArguments, chosen)
  return (
    <div class="what-if">
      <Limits trajectory={trajectory} chosen={chosen} onChoose={(next) => (limits.value = next)} />
      <section aria-label="What would have happened">
        <h2>What would have happened</h2>
        <p class="what-if-verdict" role="status">
          {verdict}
        </p>
        <Figures figures={figures} />
        {answer.isAtTheLatest ? <p class="soft">{latestText}</p> : null}
        <Bars bars={bars} stops={stops} label={`${verdict} ${heights}`} />
        <p class="soft">{heights}</p>
        {alone.length === 0 ? null : (
          <ul>
            {alone.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
        <PictureButtons
          name="what other limits do"
          pictureOf={() =>
            pictureOfWhatIf({
              tried: [...triedTexts(trajectory, chosen), ...(chosen.noProgress === true ? [`${guardText}.`] : [])],
              verdict,
              figures,
              notes: [...(answer.isAtTheLatest ? [latestText] : []), ...alone],
              bars,
              stops,
              heights,
              command,
            })
          }
        />
        <CommandLine line={command} />
      </section>
    </div>
  )
}

interface LimitsProps {
  readonly trajectory: Trajectory
  readonly chosen: OtherLimits
  readonly onChoose: (limits: OtherLimits) => void
}

/** The limits that can be tried, and the guard. */
function Limits({ trajectory, chosen, onChoose }: LimitsProps): JSX.Element {
  const used = useMemo(() => usedOf(trajectory), [trajectory])
  // A limit that is undefined is not tried.
  const choose = (next: OtherLimits): void =>
    onChoose(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)))
  return (
    <section aria-label="Limits to try">
      {limitNamesOf(trajectory).map((name) => {
        const value = chosen[name]
        return (
          <LimitRow
            key={name}
            name={name}
            used={used[name]}
            had={trajectory.limits[name] ?? null}
            chosen={typeof value === 'number' ? value : undefined}
            onChoose={(next) => choose({ ...chosen, ...({ [name]: next } satisfies LimitChoices) })}
          />
        )
      })}
      <label class="what-if-guard">
        <input
          type="checkbox"
          checked={chosen.noProgress === true}
          onChange={({ currentTarget: { checked } }) => {
            const { noProgress: _, ...rest } = chosen
            choose(checked ? { ...rest, noProgress: true } : rest)
          }}
        />{' '}
        {guardText}
      </label>
    </section>
  )
}

/** What the run would have kept, saved and lost. */
function Figures({ figures }: { readonly figures: ReturnType<typeof keptSavedLost> }): JSX.Element | null {
  if (figures.length === 0) return null
  return (
    <dl class="what-if-figures numbers">
      {figures.map(([name, text]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd class={name === 'Kept' ? undefined : name === 'Lost' && text !== 'nothing' ? 'bad' : 'good'}>{text}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

/** The value that was tried for each limit, and what the run used and had. */
function triedTexts(trajectory: Trajectory, chosen: OtherLimits): readonly string[] {
  const used = usedOf(trajectory)
  return limitNames.flatMap((name) => {
    const value = chosen[name]
    const { label, format } = limitWords[name]
    if (typeof value !== 'number') return []
    return [`${label} ${format(value)}: ${usedText(name, used[name], trajectory.limits[name] ?? null).toLowerCase()}.`]
  })
}

const guardText = 'With the guard that stops a run whose turns repeat without progress'

const latestText =
  'The record of an earlier version does not contain what its requests reserve, so the run might have stopped earlier. Savings are lower bounds, and losses are upper bounds.'

/** The limits that the page shows; undefined for one that is not tried. */
type LimitChoices = { readonly [name: string]: number | undefined }
