import { useSignal } from '@preact/signals'
import { calibrateTrajectories, type Calibration, type GradedTrajectory } from '@halting/analysis'
import {
  calibratedRows,
  calibrationCommand,
  calibrationTexts,
  calibrationTitle,
  groupName,
  guessWarning,
  hasLimit,
  solvedText,
  visible,
} from '@halting/analysis/words'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Busy } from '../common/notes.tsx'
import { CommandLine } from './command-line.tsx'

/** The shares of solved runs to choose from, in percent. */
const shares = [1, 2, 5, 10] as const

type Group = Calibration['groups'][number]

interface CalibratedProps {
  readonly runs: readonly GradedTrajectory[]
  /** Receives what is shown, for the picture of the view. */
  readonly onShow: (calibration: Calibration) => void
}

/** Limits that lose at most a chosen share of the solved runs, for each model in each repository, or why there are none. */
export function Calibrated({ runs, onShow }: CalibratedProps): JSX.Element {
  const percent = useSignal(2)
  const shown = useSignal<Calibration | null>(null)
  const mayLose = percent.value / 100
  useEffect(() => {
    shown.value = null
    // The page says first that it is busy.
    const timer = setTimeout(() => {
      const found = calibrateTrajectories(runs, { mayLose })
      shown.value = found
      onShow(found)
    })
    return () => clearTimeout(timer)
  }, [runs, mayLose])
  const calibration = shown.value
  return (
    <section class="calibrated" aria-label="Calibrated limits">
      <h2>{calibrationTitle({ mayLose })}</h2>
      <p>
        <label>
          Solved runs that a limit may lose{' '}
          <select
            value={String(percent.value)}
            onChange={({ currentTarget: { value } }) =>
              (percent.value = shares.find((each) => String(each) === value) ?? percent.value)
            }
          >
            {shares.map((each) => (
              <option key={each} value={String(each)}>
                {each} %
              </option>
            ))}
          </select>
        </label>
      </p>
      {calibration === null ? <Busy>Calibrating limits …</Busy> : <Groups calibration={calibration} />}
    </section>
  )
}

/** More groups than these are named in a sentence. */
const mostGroups = 20

function Groups({ calibration }: { readonly calibration: Calibration }): JSX.Element {
  const limited = calibration.groups.filter(hasLimit)
  const others = calibrationTexts({ ...calibration, groups: calibration.groups.filter((group) => !hasLimit(group)) })
  return (
    <>
      {limited.slice(0, mostGroups).map((group) => (
        <GroupLimits key={groupName(group)} group={group} />
      ))}
      <ul>
        {others.map((text) => (
          <li key={text}>{visible(text)}</li>
        ))}
      </ul>
      <CommandLine line={limited.length === 0 ? null : calibrationCommand(calibration)} />
    </>
  )
}

function GroupLimits({ group }: { readonly group: Group }): JSX.Element {
  const warning = guessWarning(group)
  return (
    <div role="region" tabIndex={0} aria-label={visible(groupName(group))}>
      <h3>{visible(groupName(group))}</h3>
      <p class="soft">{solvedText(group)}.</p>
      {warning === '' ? null : <p class="soft">{warning}</p>}
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col">At most</th>
            <th scope="col">Lost</th>
            <th scope="col">To expect</th>
            <th scope="col">Saves</th>
          </tr>
        </thead>
        <tbody>
          {calibratedRows(group).map(({ label, limit, lost, toExpect, saves }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{limit === '' ? 'none' : limit}</td>
              <td>{lost}</td>
              <td>{toExpect}</td>
              <td>{saves}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
