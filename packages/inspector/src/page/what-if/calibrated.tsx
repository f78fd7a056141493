import { useSignal } from '@preact/signals'
import { calibrateTrajectories, type Calibration, type GradedTrajectory } from '@halting/analysis'
import {
  calibratedRows,
  calibrationCommand,
  calibrationTexts,
  calibrationTitle,
  groupName,
  hasLimit,
  visible,
} from '@halting/analysis/words'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Busy } from '../common/notes.tsx'
import { Select } from './select.tsx'
import { CommandLine } from './command-line.tsx'

/** Selectable shares of solved runs, in percent. */
const shares = [1, 2, 5, 10] as const

interface CalibratedProps {
  readonly runs: readonly GradedTrajectory[]
  /** Receives the calibration, for the picture of the view. */
  readonly onShow: (calibration: Calibration) => void
}

/** Limits that lose at most a selected share of the solved runs, for each model and repository, or why there are none. */
export function Calibrated({ runs, onShow }: CalibratedProps): JSX.Element {
  const percent = useSignal(2)
  const result = useSignal<Calibration | null>(null)
  const mayLose = percent.value / 100
  useEffect(() => {
    result.value = null
    // Deferred, so that the page first shows that it is busy.
    const timer = setTimeout(() => {
      const found = calibrateTrajectories(runs, { mayLose })
      result.value = found
      onShow(found)
    })
    return () => clearTimeout(timer)
  }, [runs, mayLose])
  const calibration = result.value
  return (
    <section class="calibrated" aria-label="Calibrated limits">
      <h2>{calibrationTitle({ mayLose })}</h2>
      <Select
        label="Solved runs that a limit may lose"
        value={`${percent.value}`}
        options={shares.map((each) => [`${each}`, `${each} %`])}
        onChoose={(value) => (percent.value = Number(value))}
      />
      {calibration === null ? <Busy>Calibrating …</Busy> : <Groups calibration={calibration} />}
    </section>
  )
}

/** Maximum number of tables; the limits of more groups are only described in sentences. */
const maxTables = 20

function Groups({ calibration }: { readonly calibration: Calibration }): JSX.Element {
  const limited = calibration.groups.filter(hasLimit)
  return (
    <>
      {limited.slice(0, maxTables).map((group) => (
        <div key={groupName(group)}>
          <h3>{visible(groupName(group))}</h3>
          <table class="numbers">
            <Row cells={['', 'at most', 'lost', 'to expect', 'saves']} />
            {calibratedRows(group).map(({ label, limit, lost, toExpect, saves }) => (
              <Row key={label} cells={[label, limit || 'none', lost, toExpect, saves]} />
            ))}
          </table>
        </div>
      ))}
      <ul>
        {calibrationTexts(calibration).map((text) => (
          <li key={text}>{visible(text)}</li>
        ))}
      </ul>
      <CommandLine line={limited.length === 0 ? null : calibrationCommand(calibration)} />
    </>
  )
}

function Row({ cells: [name, ...others] }: { readonly cells: readonly string[] }): JSX.Element {
  return (
    <tr>
      <th>{name}</th>
      {others.map((cell) => (
        <td key={cell}>{cell}</td>
      ))}
    </tr>
  )
}
