import { useSignal } from '@preact/signals'
import type { OtherLimits } from '@halting/core/steps'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { whatIfPriced } from '../../changing-calls.ts'
import { spentText, verdictText } from '../../what-if-words.ts'
import type { RunView, SessionView } from '../../view/types.ts'
import { colorOf } from '../common/colors.ts'
import { PictureButtons } from '../common/export-picture.tsx'
import { Bars } from './bars.tsx'
import { CommandLine } from './command-line.tsx'
import { LimitRow } from './limit-row.tsx'
import { commandLine, limitNames, lostText, usedOf } from './limits.ts'
import { heightWords, svgOfBars, turnBars } from './turn-bars.ts'

/** What other limits would have done with one run: it is run again in the page, without a model, as `halting what-if` does. */
export function WhatIfView({ view, run }: { readonly view: SessionView; readonly run: RunView }): JSX.Element {
  const { trajectory, unpriced } = run
  const limits = useSignal<OtherLimits>({})
  const used = useMemo(() => usedOf(trajectory), [trajectory])
  const chosen = limits.value
  const answer = useMemo(() => whatIfPriced(trajectory, chosen, unpriced), [trajectory, chosen, unpriced])
  const bars = useMemo(() => turnBars(trajectory, answer), [trajectory, answer])
  const isAsked = Object.keys(chosen).length > 0
  const verdict = isAsked ? verdictText(answer, unpriced) : 'Choose a limit: the answer comes at once.'
  const choose = (next: OtherLimits): void => {
    // What is left out stays as it was.
    limits.value = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined))
  }
  return (
    <div class="what-if">
      <section aria-label="Limits to try">
        {limitNames.map((name) => {
          const value = chosen[name]
          return (
            <LimitRow
              key={name}
              name={name}
              used={used[name]}
              had={trajectory.limits[name]}
              chosen={typeof value === 'number' ? value : undefined}
              onChoose={(next) => choose({ ...chosen, ...({ [name]: next } satisfies OtherLimitsGiven) })}
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
          With the guard against going in circles
        </label>
      </section>
      <section aria-label="What would have been">
        <h2>What would have been</h2>
        <p class="what-if-verdict" role="status">
          {verdict}
        </p>
        {answer.verdict === 'stops' ? (
          <dl class="what-if-figures numbers">
            <dt>Kept</dt>
            <dd>{spentText(answer.kept)}</dd>
            <dt>Saved</dt>
            <dd class="good">{spentText(answer.saved)}</dd>
            <dt>Lost</dt>
            <dd class={lostText(answer.lost) === 'nothing' ? 'good' : 'bad'}>{lostText(answer.lost)}</dd>
          </dl>
        ) : null}
        {answer.isAtTheLatest ? (
          <p class="soft">
            Dollars and tokens are reserved before a request, at worst case, and what would have been reserved is not on
            record: it might have stopped earlier.
          </p>
        ) : null}
        <Bars bars={bars} label={`${verdict} ${heightWords(trajectory)}`} />
        <p class="soft">{heightWords(trajectory)}</p>
        <div class="plot-bar">
          <PictureButtons name="what other limits do" svgOf={() => svgOfBars('What if', verdict, bars, colorOf)} />
        </div>
        <CommandLine line={commandLine(view.row.path ?? view.row.sessionId, chosen)} />
      </section>
    </div>
  )
}

/** A limit as the page holds it: undefined for one that is taken back. */
type OtherLimitsGiven = { readonly [name: string]: number | undefined }
